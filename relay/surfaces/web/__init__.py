"""The local page: a chat of its own on 127.0.0.1, for which no account and no token of anyone else is needed.

`chat.py` keeps what was said, `surface.py` makes it a surface, `server.py` serves it to the browser, and `static/` is
the page.
"""
