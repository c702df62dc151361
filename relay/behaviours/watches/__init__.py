"""Armed intents that wake an agent when the world changes."""
