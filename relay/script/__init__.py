"""Scripts: people who speak from a file, so that the whole relay can be seen at work without a browser."""
