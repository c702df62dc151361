"""Children: what is run, who runs it, and how all of it ends."""
