"""The relay's own tools, as an agent sees them for the length of its session."""
