"""Showing what waits in a lane, and taking one out."""
