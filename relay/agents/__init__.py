"""The port to a coding agent, and its adapters."""
