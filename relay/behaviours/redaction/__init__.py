"""Taking texts out of the record: on request, and when they are older than `redaction.keep_days`."""
