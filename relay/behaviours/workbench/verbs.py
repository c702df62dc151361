"""The verb of views that are edited in place."""

from __future__ import annotations

from typing import ClassVar, Literal

from relay.ledger.interaction import Payload


class ViewShown(Payload):
    """The view of the scope stands as that message; an empty one says that it was taken away. Its edits are no
    interactions: what it shows follows from the others."""

    VERB: ClassVar[str] = "view.shown"
    kind: Literal["workbench"] = "workbench"
    message: str
    count: int
    """Which message of the scope it is: it grows when somebody took the one before away."""
    pinned: bool = True
    why: str = ""
    """Why it isn't pinned."""
