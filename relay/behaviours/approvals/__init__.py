"""Cards that ask for leave, and their one decision."""
