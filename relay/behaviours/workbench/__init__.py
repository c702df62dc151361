"""One message a scope that says what goes on there, pinned where people can find it."""
