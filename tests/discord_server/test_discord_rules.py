"""The world behind the tests' Discord, without a network: ids, permissions, limits, and rules of speech."""

import pytest
from fakes.discord import components, guilds, mentions, permissions, posting, reacting, reading
from fakes.discord.clock import Clock, Snowflakes, made_at
from fakes.discord.errors import ApiError
from fakes.discord.gateway_faults import GatewayFaults
from fakes.discord.model import App, Channel, Guild, Kind, User
from fakes.discord.ratelimits import RateLimits
from fakes.discord.session import Session
from fakes.discord.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def owner(world: World) -> User:
    return world.new_user("owner")


@pytest.fixture
def guild(world: World, owner: User) -> Guild:
    return guilds.make(world, "Workshop", owner)


@pytest.fixture
def room(world: World, guild: Guild) -> Channel:
    return guilds.add_channel(world, guild, Kind.TEXT, "build")


@pytest.fixture
def ada(world: World, guild: Guild) -> User:
    return guilds.add_member(world, guild, world.new_user("ada")).user


def test_ids_grow_and_hold_their_time() -> None:
    clock = Clock()
    ids = Snowflakes(clock)
    made = [ids.next() for _ in range(10_000)]
    assert made == sorted(set(made))
    clock.advance(3600)
    assert made_at(ids.next()) - made_at(made[-1]) == pytest.approx(3600, abs=5)
    with pytest.raises(ValueError):
        clock.advance(-1)


def test_a_members_overwrite_beats_its_roles(world: World, guild: Guild, room: Channel, ada: User) -> None:
    quiet = guilds.add_role(world, guild, "quiet")
    guilds.set_roles(world, guild, ada, {quiet.id})
    guilds.overwrite(world, room, quiet, deny=permissions.SEND_MESSAGES)
    with pytest.raises(ApiError) as refused:
        posting.post(world, ada, room, posting.Draft("hi"))
    assert refused.value.code == 50013
    guilds.overwrite(world, room, ada, allow=permissions.SEND_MESSAGES)
    posting.post(world, ada, room, posting.Draft("hi"))


def test_everyone_is_pinged_only_by_who_may(
    world: World, guild: Guild, room: Channel, ada: User, owner: User
) -> None:
    posting.post(world, ada, room, posting.Draft("@everyone look"))
    assert world.pings == []
    said = posting.post(world, owner, room, posting.Draft("@everyone look"))
    assert world.pings == [(ada.id, room.id, said.id)]
    posting.post(world, owner, room, posting.Draft("@everyone look", allowed={"parse": []}))
    posting.post(world, owner, room, posting.Draft("@everyone look", flags=1 << 12))
    assert len(world.pings) == 1
    assert mentions.named(world, ada, room, f"<@{owner.id}>", {"users": [str(owner.id)]}, None).users == [
        owner
    ]


def test_white_space_at_the_ends_is_cut_off(world: World, room: Channel, ada: User) -> None:
    assert posting.post(world, ada, room, posting.Draft("\n  indented\n")).content == "indented"


def test_a_rule_of_the_guild_holds_back(world: World, guild: Guild, room: Channel, ada: User) -> None:
    guild.blocked_words.add("secret")
    with pytest.raises(ApiError) as refused:
        posting.post(world, ada, room, posting.Draft("a secret"))
    assert (refused.value.code, room.messages) == (200000, {})


def test_a_reply_to_what_is_gone_is_refused_unless_that_is_fine(
    world: World, room: Channel, ada: User
) -> None:
    gone = posting.post(world, ada, room, posting.Draft("one"))
    posting.delete(world, ada, room, gone)
    with pytest.raises(ApiError) as refused:
        posting.post(world, ada, room, posting.Draft("two", reference={"message_id": str(gone.id)}))
    assert refused.value.code == 50035
    fine = {"message_id": str(gone.id), "fail_if_not_exists": False}
    assert posting.post(world, ada, room, posting.Draft("two", reference=fine)).reference is None


def test_twenty_kinds_of_reactions_and_only_emoji(world: World, room: Channel, ada: User) -> None:
    said = posting.post(world, ada, room, posting.Draft("vote"))
    for number in range(20):
        reacting.add(world, ada, room, said, chr(0x1F600 + number))
    for emoji, code in (("👍", 30010), ("thumbsup", 10014)):
        with pytest.raises(ApiError) as refused:
            reacting.add(world, ada, room, said, emoji)
        assert refused.value.code == code


def test_history_is_for_who_may_read_it(world: World, room: Channel, ada: User) -> None:
    said = [posting.post(world, ada, room, posting.Draft(str(number))) for number in range(5)]
    assert [one.content for one in reading.history(world, ada, room, after=said[0].id, limit=2)] == ["2", "1"]
    assert [one.content for one in reading.history(world, ada, room, before=said[2].id)] == ["1", "0"]
    guilds.overwrite(world, room, ada, deny=permissions.READ_MESSAGE_HISTORY)
    assert reading.history(world, ada, room) == []


def test_a_bucket_for_each_channel_and_one_for_everything() -> None:
    clock = Clock()
    limits = RateLimits(clock, global_limit=4)
    limits.limit("POST", "/channels/*/messages", 1, 5.0)
    first, other, again = (limits.ask("bot", "POST", f"/channels/{one}/messages") for one in (1, 2, 1))
    assert (first.retry_after, other.retry_after) == (None, None)
    assert (again.retry_after, again.headers["X-RateLimit-Scope"]) == (pytest.approx(5, abs=1), "user")
    assert limits.ask("bot", "GET", "/users/@me").retry_after is None
    over = limits.ask("bot", "GET", "/users/@me")
    assert (over.is_global, over.headers["X-RateLimit-Global"]) == (True, "true")
    clock.advance(5)
    assert limits.ask("bot", "POST", "/channels/1/messages").retry_after is None


def test_a_session_gives_back_what_was_missed_or_says_that_it_cant(world: World) -> None:
    app = App(1, world.new_user("relay", bot=True), "token", 0)
    session = Session(app, 0)
    for number in range(5):
        session.dispatch("X", {"number": number})
    missed = session.since(3) or []
    assert [packet["s"] for packet in missed] == [4, 5]
    assert session.since(5) == []
    session.told.clear()
    assert session.since(5) == []
    assert session.since(4) is None


def test_faults_of_events_are_used_up() -> None:
    faults = GatewayFaults(Clock())
    faults.drop("A", 2)
    faults.double("B")
    assert [len(faults.deliver(name, {}).data) for name in "AAABB"] == [0, 0, 1, 2, 1]
    faults.silence()
    assert (faults.deliver("A", {}).data, faults.deliver("READY", {}, greeting=True).data) == ([], [{}])
    faults.clear()
    assert len(faults.deliver("A", {}).data) == 1


BUTTON = {"type": 2, "style": 1, "label": "Yes", "custom_id": "yes"}


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": 1, "components": []}],
        [{"type": 1, "components": [BUTTON, BUTTON]}],
        [{"type": 1, "components": [{**BUTTON, "custom_id": str(number)} for number in range(6)]}],
        [{"type": 1, "components": [{**BUTTON, "label": "x" * 81}]}],
        [{"type": 1, "components": [{**BUTTON, "custom_id": "x" * 101}]}],
        [{"type": 1, "components": [{**BUTTON, "custom_id": None}]}],
        [{"type": 1, "components": [{**BUTTON, "label": None}]}],
        [{"type": 1, "components": [{"type": 3, "custom_id": "pick", "options": [{}] * 26}]}],
        [{"type": 1, "components": [{**BUTTON, "custom_id": str(number)}]} for number in range(6)],
    ],
)
def test_cards_that_discord_refuses(world: World, room: Channel, ada: User, rows: list) -> None:
    with pytest.raises(ApiError) as refused:
        posting.post(world, ada, room, posting.Draft("May I?", components=rows))
    assert (refused.value.code, room.messages) == (50035, {})


def test_what_can_be_pressed_is_found_by_id_and_by_label() -> None:
    off = {**BUTTON, "custom_id": "no", "label": "No", "disabled": True}
    rows = [{"type": 1, "components": [BUTTON, off]}]
    components.check(rows)
    assert components.labels(rows) == ["Yes"]
    assert components.clickable(rows, "yes") == components.labelled(rows, "Yes") == BUTTON
    assert components.clickable(rows, "no") is components.labelled(rows, "No") is None


def test_the_realistic_limits() -> None:
    limits = RateLimits(Clock())
    limits.realistic()
    sent = [limits.ask("bot", "POST", "/channels/1/messages").retry_after for _ in range(6)]
    assert [one is None for one in sent] == [True] * 5 + [False]
    put, off = (
        limits.ask("bot", method, "/channels/1/messages/2/reactions/x/@me").retry_after
        for method in ("PUT", "DELETE")
    )
    assert put is None
    assert off is not None, "both are one bucket"
