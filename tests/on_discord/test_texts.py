"""How texts stand in Discord and how its JSON is read: for every input, the limit is kept and nothing raises."""

from typing import Any

import aiohttp
import discord
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relay.surfaces.discord import cards, raw, writing
from relay.surfaces.discord.errors import CODES, DiscordRefused, refused
from relay.surfaces.discord.status import status_text
from relay.surfaces.discord.toggles import Toggles
from relay.surfaces.surface import Choice, LiveView, SeenPost

TEXTS = st.text(
    st.sampled_from(["a", " ", "\n", "`", "~", "😀", "é", "@"]) | st.characters(),
    max_size=300,
).flatmap(lambda text: st.integers(1, 40).map(lambda times: text * times))
IDS = st.lists(st.integers(1, 10**19).map(str), max_size=30)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("id", "channel_id", "author", "member", "mentions", "content", "type", "timestamp", "webhook_id")
MORE = ("message_reference", "attachments", "emoji", "parent_id", "name", "guild_id", "nick", "bot")


@given(TEXTS, IDS)
def test_what_is_shown_is_within_the_limit_and_calls_only_those_it_may(text: str, calls: list[str]) -> None:
    content, allowed, whole_in_file = writing.shown(text, calls)
    assert writing.units(content) <= 2_000
    assert allowed["parse"] == []
    assert set(allowed["users"]) <= set(calls)
    assert whole_in_file == (writing.units(text) > 2_000)
    assert whole_in_file or content.startswith(text)
    assert all(f"<@{who}>" in content for who in allowed["users"])


@example("x" * 5_000, ["1"])
@given(TEXTS, IDS)
def test_a_message_of_ours_is_known_again_by_its_text(text: str, calls: list[str]) -> None:
    content, _, whole_in_file = writing.shown(text, calls)
    files = (writing.whole_name(text),) if whole_in_file else ()
    assert writing.same(SeenPost("1", content.strip(), None, 0, files), text)
    assert not writing.same(SeenPost("1", f"x{content.strip()}", None, 0), text)


@given(TEXTS)
def test_a_shortened_text_keeps_its_beginning_and_its_last_line(text: str) -> None:
    short = writing.shortened(text)
    assert writing.units(short) <= 2_000
    if writing.units(text) <= 2_000:
        assert short == text


def test_a_card_that_is_too_long_still_shows_how_it_ended() -> None:
    short = writing.shortened(f"🔐 **run**\n```\n{'x' * 5_000}\n```\nin `/w`\n✅ Allowed by Olga")
    assert short.endswith("✅ Allowed by Olga")
    assert short.count("```") == 2


@given(st.fixed_dictionaries({}, optional=dict.fromkeys((*FIELDS, *MORE), ANYTHING)), st.text(max_size=5))
def test_whatever_a_server_says_reading_it_never_raises(data: dict[str, Any], us: str) -> None:
    event = raw.message(data, us, "1")
    assert event is None or (event.message.isdigit() and event.person.id)
    raw.own(data, us)
    raw.place(data)
    raw.emoji(data)
    raw.person(data, data)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<@7> !status", "!status"),
        ("<@!7>, fix it", "fix it"),
        ("  <@7><@7> hi", "hi"),
        ("<@7>", "<@7>"),
        ("hi <@7>", "hi <@7>"),
        ("<@8> hi", "<@8> hi"),
    ],
)
def test_the_mention_at_the_beginning_is_no_part_of_what_is_said(content: str, text: str) -> None:
    assert raw.said_to(content, "7") == text


@given(st.text(max_size=3_000), st.text(max_size=300), st.integers(0, 99))
def test_a_status_is_within_the_limit_whatever_the_turn_says(text: str, doing: str, waiting: int) -> None:
    assert writing.units(status_text(LiveView("t", text, doing, 0, waiting))) <= 2_000


def test_a_button_s_id_tells_the_card_and_the_choice() -> None:
    rows = cards.rows(
        "a" * 64, [Choice("allow", "Yes"), Choice("x" * 40, "too long"), Choice("deny", "n" * 90)]
    )
    buttons = [button for row in rows for button in row["components"]]
    assert [cards.meant(button["custom_id"]) for button in buttons] == [
        ("a" * 64, "allow"),
        ("a" * 64, "deny"),
    ]
    assert all(len(button["custom_id"]) <= 100 and len(button["label"]) <= 80 for button in buttons)
    assert [cards.meant(other) for other in ("", "relay", "relay:x", "other:a:b", "relay::b")] == [None] * 5


class Answer:
    """What discord.py's errors hold of an answer."""

    reason = "no"

    def __init__(self, status: int, **headers: str) -> None:
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def error(status: int, body: object, **headers: str) -> DiscordRefused:
    return refused(discord.HTTPException(Answer(status, **headers), body))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_of_the_table_has_its_kind_and_words(code: int) -> None:
    told = error(400, {"code": code, "message": "not read"})
    assert (told.kind, told.number) == (CODES[code][0], code)
    assert CODES[code][1] in str(told)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "permanent"),
        (404, "permanent"),
        (401, "fatal"),
        (408, "transient"),
        (500, "transient"),
        (503, "transient"),
    ],
)
def test_a_code_that_nobody_knows_counts_by_its_status(status: int, kind: str) -> None:
    assert error(status, {"code": 987_654, "message": "?"}, Via="1.1 google").kind == kind


def test_what_comes_from_in_front_of_discord_passes_and_what_discord_says_does_not() -> None:
    page = "<!DOCTYPE html><html><body>cloudflare</body></html>"
    assert error(403, page).kind == "transient"
    assert error(429, page).retry_after_ms == 60_000
    assert error(429, page, Retry_After="3").retry_after_ms == 3_000
    assert error(403, {"code": 0, "message": "no"}, Via="1.1 google").kind == "permanent"
    assert error(413, page).number == 40005


LOST = [ConnectionResetError(104, "reset"), aiohttp.ServerDisconnectedError(), TimeoutError(), KeyError("id")]


@pytest.mark.parametrize("lost", LOST)
def test_what_the_network_breaks_is_tried_again(lost: Exception) -> None:
    assert refused(lost).kind == "transient"


def test_the_same_reaction_told_twice_has_one_number_and_a_new_one_another() -> None:
    toggles = Toggles(1_000)
    first = toggles.told("m", "p", "🔁", is_set=True)
    assert toggles.told("m", "p", "🔁", is_set=True) == first
    back = toggles.told("m", "p", "🔁", is_set=False)
    again = toggles.told("m", "p", "🔁", is_set=True)
    assert len({first, back, again}) == 3
    assert toggles.found("m", "p", "🔁") == again
    assert toggles.found("m", "p", "✅") == toggles.found("m", "p", "✅") == 0
    assert Toggles(2_000).told("m", "p", "🔁", is_set=True) != first
