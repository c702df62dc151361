"""Stopping a running turn."""
