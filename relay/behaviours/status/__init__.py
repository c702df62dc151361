"""`!status`, `!why` and `!help`."""
