"""What the relay was told by access.json, as a fact of the ledger: rules read it there."""
