"""A message of a running turn was edited or deleted: what becomes of the turn is asked on a card."""
