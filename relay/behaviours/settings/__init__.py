"""What people choose for a scope."""
