"""Lanes of prompts, and the turns that take them."""
