"""What a scope follows."""
