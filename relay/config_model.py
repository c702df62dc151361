"""access.json as the relay keeps it: frozen models, and who somebody is in a room.

Pure reading of what was loaded: times are milliseconds, memory is bytes, folders are absolute. No secret stands here,
only the names of the environment variables that hold them. It never reads a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator

from relay.config_fields import (
    Address,
    Amount,
    Count,
    DiscordId,
    EnvName,
    Folder,
    Length,
    LongText,
    Name,
    One,
    OneLine,
    RoomId,
    Rule,
    Size,
    SurfaceWord,
    Who,
)

MINUTE = 60_000
HOUR = 60 * MINUTE
GIB = 1 << 30

Busy = Literal["steer", "queue", "interrupt"]
Preset = Literal["strict", "ask-per-edit", "auto", "bypass"]
Role = Literal["owner", "human", "peer", "webhook", "stranger"]


class Part(BaseModel):
    """A part of access.json: never changed after loading, and without keys that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DiscordSurface(Part):
    """Discord, as a bot."""

    token_env: EnvName = "RELAY_DISCORD_TOKEN"
    """The environment variable that holds the bot's token."""


class WebSurface(Part):
    """The local page, on 127.0.0.1."""

    port: Annotated[int, Count(0, 65_535)] = 8700
    """The port of the page; 0 takes any free one."""


class Surfaces(Part):
    """Where people talk with the relay."""

    discord: DiscordSurface | None = None
    """Discord. Left out: not used."""
    web: WebSurface = WebSurface()
    """The local page, which is always there."""


class Person(Part):
    """A person, by the ids that surfaces know them by."""

    discord: DiscordId | None = None
    """Their user id on Discord."""
    web: OneLine | None = None
    """Their id on the local page, where a script speaks for them. Left out: their name."""
    role: Literal["human"] = "human"
    """What they are to the rooms that list them."""

    def ids(self) -> dict[str, str]:
        """Surface → id, of those that are given."""
        return _ids(self.discord, self.web)


class Peer(Part):
    """Another bot that may address ours."""

    discord: DiscordId | None = None
    """Its user id on Discord."""
    web: OneLine | None = None
    """Its id on the local page, where a script speaks for it. Left out: its name."""

    def ids(self) -> dict[str, str]:
        """Surface → id, of those that are given."""
        return _ids(self.discord, self.web)


class Agent(Part):
    """An agent: what runs it, and how."""

    runtime: OneLine
    """What runs the agent. So far there is `scripted`, which answers by rules and needs no key."""
    model: OneLine | None = None
    """The model, in the runtime's own words. null: the runtime's choice."""
    effort: OneLine | None = None
    """How hard the model thinks, in the runtime's own words. null: the runtime's choice."""
    role: LongText = ""
    """What the agent is told about its part, before anything else."""
    env: tuple[EnvName, ...] = ()
    """Names of the environment variables that the agent's process may see."""


class Tier(Part):
    """A tightening of a room's profile, by who asked. It never loosens."""

    preset: Preset | None = None
    """The preset to tighten to. null: the profile's."""
    deny: tuple[Rule, ...] = ()
    """Rules for what is denied as well."""
    ask: tuple[Rule, ...] = ()
    """Rules for what is asked about as well."""
    allow: tuple[Rule, ...] = ()
    """Rules for what needs no question, as far as the profile allows it too."""
    net: Literal["host", "none"] | None = None
    """`none` takes the network away. null: the profile's."""


class Tiers(Part):
    """Who asked → how the profile is tightened."""

    human: Tier = Tier()
    """For people of the room."""
    peer: Tier = Tier()
    """For peer bots and webhooks."""
    notebook: Tier = Tier()
    """For requests from notebooks, on top of `human`."""


class Profile(Part):
    """What an agent may do in a room: deny, then ask, then allow; what no rule names is asked about."""

    preset: Preset = "ask-per-edit"
    """The set of rules to start from."""
    deny: tuple[Rule, ...] = ()
    """Rules for what is denied."""
    ask: tuple[Rule, ...] = ()
    """Rules for what is asked about."""
    allow: tuple[Rule, ...] = ()
    """Rules for what needs no question."""
    net: Literal["host", "none"] = "host"
    """The network of what the agent starts: the machine's, or none."""
    tiers: Tiers = Tiers()
    """Tightenings by who asked."""


class Room(Part):
    """A channel with an agent, a folder to work in, and the people and bots who may speak to it."""

    label: OneLine = ""
    """What people call the room. Left out: the channel's part of its id."""
    agent: Name
    """The agent of the room, one of `agents`."""
    workspace: Annotated[Path, Folder()]
    """The folder in which the agent works. `~` is the home folder; a relative one starts at this file's folder."""
    require_mention: StrictBool = True
    """Whether a message must mention the agent to start a turn. Left out: true on Discord, false elsewhere."""
    busy: Busy = "steer"
    """What a message does while a turn runs: join it, wait for its end, or end it."""
    profile: Profile = Profile()
    """What the agent may do here."""
    approvers: tuple[Who, ...] = ("owner",)
    """Who may approve: `owner`, or names of `people`."""
    humans: tuple[Who, ...] = ()
    """Who belongs to the room, besides the owner: names of `people`."""
    peers: tuple[Who, ...] = ()
    """Bots that may address the agent here: names of `peers`."""
    watches: tuple[dict[str, Any], ...] = ()
    """Watches that are armed as long as they stand here, each with the options of `!watch`, without dashes."""
    notebooks: tuple[OneLine, ...] = ()
    """Notebooks of the room: patterns of paths in the workspace."""
    webhooks: tuple[DiscordId, ...] = ()
    """Ids of webhooks that may start a turn."""
    wake_on_changes: StrictBool = False
    """Whether a change by somebody else wakes the agent."""


class Limits(Part):
    """Bounds for the whole relay."""

    turn_silence: Annotated[int, Length("1s", "1d")] = 10 * MINUTE
    """A turn without a sign of life for so long is ended."""
    turn_total: Annotated[int, Length("1s", "7d")] = 4 * HOUR
    """A turn that lasts so long is ended."""
    queue: Annotated[int, Count(1, 1_000)] = 20
    """How many prompts may wait in one scope."""
    agents: Annotated[int, Count(1, 64)] = 4
    """How many agents may run at once."""
    agents_memory: Annotated[int, Size("64MiB", "16TiB")] = 3 * GIB
    """How much memory the agents may use together."""
    agent_idle: Annotated[int, Length("1s", "7d")] = 15 * MINUTE
    """An agent with nothing to do for so long is put to sleep."""
    bot_turns: Annotated[int, Count(1, 50)] = 4
    """How many turns in a row bots may start, until a person speaks."""
    messages_per_minute: Annotated[int, Count(1, 600)] = 10
    """How many messages a minute one sender may address to the agent; the owner is never capped."""
    watches: Annotated[int, Count(1, 10_000)] = 200
    """How many watches may be armed at once."""
    approval: Annotated[int, Length("5s", "1d")] = 5 * MINUTE
    """How long a question for approval stays open."""
    held_watch: Annotated[int, Length("1m", "30d")] = 24 * HOUR
    """How long a watch that waits for approval stays open."""


class HourBudget(Part):
    """Turns in an hour."""

    turns_per_hour: Annotated[int, Count(1, 100_000)]
    """How many turns an hour may start that no person asked for."""


class DayBudget(Part):
    """Turns, tokens and money in a day."""

    turns: Annotated[int, Count(1, 1_000_000)] = 200
    """How many turns a day may start that no person asked for."""
    tokens: Annotated[int, Count(1, 10**12)] | None = None
    """How many tokens a day they may use. null: no limit."""
    usd: Annotated[float, Amount(0, 1_000_000)] | None = None
    """How many US dollars a day they may cost. null: no limit."""


class Budgets(Part):
    """Bounds for turns that no person asked for."""

    thread: HourBudget = HourBudget(turns_per_hour=20)
    """In one thread."""
    room: HourBudget = HourBudget(turns_per_hour=60)
    """In one room."""
    day: DayBudget = DayBudget()
    """In the whole relay."""
    watch_fires_per_hour: Annotated[int, Count(1, 100_000)] = 20
    """How often an hour one watch may fire before it falls silent."""


class Http(Part):
    """The way in for programs on this machine."""

    token_env: EnvName = "RELAY_HTTP_TOKEN"
    """The environment variable that holds the token."""


class NotebookServer(Part):
    """A Jupyter server."""

    url: Address = "auto"
    """Its address; `auto` finds the one of this machine."""
    token_env: EnvName | None = None
    """The environment variable that holds its token. null: the one that the server itself tells."""


class Notebooks(Part):
    """Where notebooks live."""

    servers: dict[Name, NotebookServer] = {"local": NotebookServer()}
    """Name → server."""


class Redaction(Part):
    """What is forgotten."""

    keep_days: Annotated[int, Count(1, 36_500)] | None = None
    """After how many days texts are taken out of the record. null: never."""


class Access(Part):
    """The whole of access.json."""

    version: One
    """The form of this file: 1."""
    state: Annotated[Path, Folder()] | None = None
    """The folder of the record. Left out: `relay` in $XDG_STATE_HOME, which is ~/.local/state if unset."""
    surfaces: Surfaces = Surfaces()
    """Where people talk with the relay."""
    owner: dict[SurfaceWord, OneLine] = {}
    """Surface → the owner's id there. The local page's person is the owner anyway."""
    people: dict[Name, Person] = {}
    """Name → person."""
    peers: dict[Name, Peer] = {}
    """Name → another bot."""
    agents: dict[Name, Agent] = {}
    """Name → agent."""
    rooms: dict[RoomId, Room] = Field(min_length=1)
    """Room → what holds there: `web:main`, `discord:` with a channel's number, or `dm:` for the owner's DMs."""
    limits: Limits = Limits()
    """Bounds for the whole relay."""
    budgets: Budgets = Budgets()
    """Bounds for turns that no person asked for."""
    http: Http = Http()
    """The way in for programs on this machine."""
    notebooks: Notebooks = Notebooks()
    """Where notebooks live."""
    redaction: Redaction = Redaction()
    """What is forgotten."""

    @field_validator("rooms")
    @classmethod
    def _by_place(cls, rooms: dict[str, Room]) -> dict[str, Room]:
        """Fill what a room leaves to the place it is in."""
        filled: dict[str, Room] = {}
        for room_id, room in rooms.items():
            surface, _, channel = room_id.partition(":")
            more: dict[str, object] = {}
            if not room.label:
                more["label"] = channel or surface
            if "require_mention" not in room.model_fields_set:
                more["require_mention"] = surface == "discord"
            filled[room_id] = room.model_copy(update=more) if more else room
        return filled

    def room(self, room_id: str) -> Room | None:
        """The room of that id (`web:main`), or None."""
        return self.rooms.get(room_id)


DIRECT_ROOM = "dm:"
"""The room of the owner's direct messages."""


def with_direct_room(access: Access) -> Access:
    """The config with a room for the owner's direct messages, where there can be some and the file names none: the
    agent and the workspace of the first room on Discord, with the preset `strict`."""
    if DIRECT_ROOM in access.rooms or access.surfaces.discord is None or "discord" not in access.owner:
        return access
    like = next((room for name, room in access.rooms.items() if name.startswith("discord:")), None)
    like = like or next(iter(access.rooms.values()))
    direct = Room(
        label="direct messages",
        agent=like.agent,
        workspace=like.workspace,
        require_mention=False,
        profile=Profile(preset="strict"),
    )
    return access.model_copy(update={"rooms": {**access.rooms, DIRECT_ROOM: direct}})


def state_folder(access: Access, env: Mapping[str, str], home: Path) -> Path:
    """The folder of the record: the config's, or `relay` in the user's folder for state."""
    if access.state is not None:
        return access.state
    base = env.get("XDG_STATE_HOME", "")
    # The XDG rules say that a relative path there counts as unset.
    return (Path(base) if base.startswith("/") else home / ".local" / "state") / "relay"


def role_of(access: Access, room_id: str, surface: str, person_id: str, *, bot: bool, owner: bool) -> Role:
    """Who somebody is in a room, by the table of roles.

    `owner` is the surface's own word that this is the page's person. `bot` is the surface's word as well: what a
    bot or a webhook says is never taken as a person's. In the room `dm:` the owner stands alone. On the page's
    surface a script's people may be meant by the names that they have in access.json.
    """
    room = access.room(room_id)
    if not bot and (owner or (person_id and access.owner.get(surface) == person_id)):
        return "owner"
    if room is None or room_id == DIRECT_ROOM or not person_id:
        return "stranger"
    if _named(access.peers, surface, person_id) in room.peers:
        return "peer"
    if surface == "discord" and person_id in room.webhooks:
        return "webhook"
    if not bot and _named(access.people, surface, person_id) in room.humans:
        return "human"
    return "stranger"


def _named(known: Mapping[str, Person] | Mapping[str, Peer], surface: str, person_id: str) -> str | None:
    for name, one in known.items():
        if one.ids().get(surface) == person_id:
            return name
    meant = known.get(person_id) if surface == "web" else None
    return person_id if meant is not None and meant.web is None else None


def _ids(discord: str | None, web: str | None) -> dict[str, str]:
    given = (("discord", discord), ("web", web))
    return {surface: known for surface, known in given if known is not None}
