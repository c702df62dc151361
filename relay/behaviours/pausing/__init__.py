"""Holding the lanes of a room, or of every room."""
