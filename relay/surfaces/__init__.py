"""Where people talk: the port, and one folder an adapter."""
