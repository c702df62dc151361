"""What stands at the terminal as the relay starts, and what is said of access.json."""

from __future__ import annotations

NEEDS_RESTART = "another port, token or state folder is taken up when the relay is started again"


def config_mistake(mistake: str) -> str:
    return f"it has a mistake, and the last good copy stays in force: {mistake}"


def listening(url: str) -> str:
    return f"The page is open at\n\n    {url}\n\nCtrl-C stops the relay; nothing is lost."


START_AGAIN = "Free some space and start the relay again; nothing was lost."


def cannot_print(why: str) -> str:
    return f"the answer could not be written ({why}). Nothing was changed; write it elsewhere."


def no_token(name: str) -> str:
    return f"{name} is not set; put the bot's token into .env beside access.json"


def made_workspace(room: str, folder: str) -> str:
    return f"Made the workspace {folder} for {room}."


def not_started(surface: str, why: str) -> str:
    return f"{surface}: not started ({why})."
