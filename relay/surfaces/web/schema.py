"""The tables of the page's chat. It never holds what the relay decided: that stands in the ledger.

A message's number is its position too: it grows over all places, so it grows in each. `undelivered` keeps what people
did until the relay has it, so a click or a reaction outlives a crash as a message does.
"""

from __future__ import annotations

MIGRATIONS = (
    """
    CREATE TABLE thread(
        number INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, title TEXT NOT NULL,
        opened_by TEXT NOT NULL, opened_at INTEGER NOT NULL, nonce TEXT UNIQUE
    ) STRICT;
    CREATE INDEX thread_of_room ON thread(room, number);
    CREATE TABLE message(
        number INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL, ours INTEGER NOT NULL,
        person TEXT NOT NULL, name TEXT NOT NULL, bot INTEGER NOT NULL, owner INTEGER NOT NULL,
        text TEXT NOT NULL, reply_to INTEGER, mentions_us INTEGER NOT NULL, ping TEXT NOT NULL, files TEXT NOT NULL,
        card TEXT NOT NULL, choices TEXT NOT NULL, card_open INTEGER NOT NULL, chosen TEXT NOT NULL,
        sent_at INTEGER NOT NULL, edited_at INTEGER, nonce TEXT UNIQUE
    ) STRICT;
    CREATE INDEX message_of_place ON message(place, number);
    CREATE TABLE reaction(
        number INTEGER PRIMARY KEY, message INTEGER NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL,
        emoji TEXT NOT NULL, is_set INTEGER NOT NULL, count INTEGER NOT NULL, UNIQUE(message, person, emoji)
    ) STRICT;
    CREATE TABLE undelivered(number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, body TEXT NOT NULL) STRICT;
    """,
    # The ledger's epoch in which this file was last used: 0 for a new file, NULL for one from before this was kept.
    # Counts of reactions go on from `least_count`, since the ledger knows each change of one by its count.
    """
    CREATE TABLE ledger(
        one INTEGER PRIMARY KEY CHECK(one = 1), epoch INTEGER, least_count INTEGER NOT NULL
    ) STRICT;
    INSERT INTO ledger SELECT 1, CASE WHEN EXISTS(SELECT 1 FROM message) THEN NULL ELSE 0 END, 0;
    """,
    "ALTER TABLE message ADD COLUMN deleted_at INTEGER;",
    # A file that a person brought; its bytes lie beside the chat under its id. NULL: it hangs on no message yet.
    """
    CREATE TABLE upload(
        id TEXT PRIMARY KEY, name TEXT NOT NULL, size INTEGER NOT NULL, message INTEGER, made_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX upload_of_message ON upload(message);
    """,
)
