"""How many messages a minute one person may address to the agent in a room."""
