"""Where each scope is posted."""
