"""Discord, as a bot, through discord.py.

`connection.py` keeps the gateway up, `client.py` hears it, `inbox.py` brings what was heard to the relay, `api.py` asks
and posts, `surface.py` makes it a surface. No other folder knows that there is a Discord, but for access.json.
"""
