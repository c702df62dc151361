"""An agent without a model: it does what the lines of a message say, so everything can be tried without a key."""
