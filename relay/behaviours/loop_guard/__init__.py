"""Bots and webhooks don't talk with the agent without end."""
