"""The outbox: what is owed to a surface, and that it stands there once."""
