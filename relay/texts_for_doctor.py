"""What `relay doctor` says: what is in order, what isn't, and where that is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay.wording import inline, plural

PORTAL = "https://discord.com/developers/applications"


def still_looking(what: str) -> str:
    return f"… still looking at {what}"


def summary(todo: int) -> str:
    return f"{plural(todo, 'thing')} to do." if todo else "Nothing to do."


# -- this machine -----------------------------------------------------------------------------------------------------


def config_fine(path: str, rooms: int, agents: int) -> str:
    return f"{path}: {plural(rooms, 'room')}, {plural(agents, 'agent')}"


NO_CONFIG = "no access.json was named: one room on the local page, with the scripted agent"


def workspace_fine(count: int) -> str:
    return f"{plural(count, 'workspace')}: can be written"


def workspace_closed(room: str, folder: str) -> tuple[str, str]:
    return (
        f"room {inline(room)}: its workspace {inline(folder, 200)} can't be written by this user.",
        f"Run: chown -R $USER {inline(folder, 200)}, or name another folder at rooms.{inline(room)}.workspace.",
    )


def workspace_unmakeable(room: str, folder: str, why: str) -> tuple[str, str]:
    return (
        f"room {inline(room)}: its workspace {inline(folder, 200)} isn't there and can't be made ({inline(why)}).",
        f"Make it, or name another folder at rooms.{inline(room)}.workspace.",
    )


def state_new(folder: str) -> str:
    return f"state folder {folder}: not there yet; the first start makes it"


def state_fine(folder: str, running: int | None) -> str:
    used = f"; a relay runs on it (pid {running})" if running else ""
    return f"state folder {folder}{used}"


def state_closed(folder: str, why: str) -> tuple[str, str]:
    return (
        f"the state folder {folder} can't be used ({inline(why)}).",
        "Let the relay's user write to it, or name another folder with --state DIR.",
    )


def state_open(folder: str, mode: int) -> tuple[str, str]:
    return (
        f"the state folder {folder} has mode {mode:04o}: others on this machine can read all that was said.",
        f"Run: chmod 700 {folder}",
    )


def room_on_disk(folder: str, mib: int) -> str:
    return f"disk of {folder}: {mib} MiB free"


def disk_low(folder: str, mib: int, least: int) -> tuple[str, str]:
    return (
        f"the disk that holds {folder} has {mib} MiB left, and the relay wants {least}.",
        "Free some space. When the disk is full the relay takes nothing in, and goes on by itself once there is room.",
    )


def no_files_left(folder: str) -> tuple[str, str]:
    return (
        f"the disk that holds {folder} can't take more files.",
        "Remove files there; it is out of inodes.",
    )


def no_answer(what: str) -> tuple[str, str]:
    return (
        f"{what}: no answer for a long time.",
        "A network drive that is away, or a disk that fails, does that.",
    )


def database_fine(what: str, looked: str) -> str:
    return f"{what}: {looked}"


LOOKED_AT_WHOLE = "in order"
LOOKED_AT_PART = (
    "in order as far as a few seconds went; all of it is checked when the relay isn't running by "
    + ("`sqlite3 FILE 'PRAGMA quick_check'`")
)


def database_broken(what: str, path: str, why: str) -> tuple[str, str]:
    return (
        f"the {what} {path} is damaged: {inline(why, 200)}.",
        "Stop the relay, keep a copy of the state folder, and restore it from a backup.",
    )


def notices_fine(instances: int, watches: int) -> str:
    return (
        f"file watches: this user may have {instances} of the kernel's notice lists, with {watches} folders"
    )


def notices_low(name: str, value: int, least: int) -> tuple[str, str]:
    return (
        f"fs.inotify.{name} is {value}: too few for the watches that access.json allows.",
        f"Run: sudo sysctl fs.inotify.{name}={least} (and write it into /etc/sysctl.d/). "
        "Without it the relay looks at files every second instead.",
    )


NO_NOTICES = (
    "the kernel gives this user no more notice lists (inotify), because other programs hold them all.",
    "Run: sudo sysctl fs.inotify.max_user_instances=512. Without it the relay looks at files every second instead.",
)


def port_taken(port: int) -> tuple[str, str]:
    return (
        f"another program listens on 127.0.0.1:{port}, where the page should be.",
        "Stop it, or name another port at surfaces.web.port (0 takes any free one).",
    )


def port_free(port: int) -> str:
    return f"page: 127.0.0.1:{port} is free"


LOOK_AT_DISCORD = "Discord was not looked at; `relay doctor --discord` does that"
NO_DISCORD = (
    "access.json names no Discord.",
    'Add "discord": {} to its surfaces, and rooms whose names begin with discord: (docs/discord.md).',
)

# -- Discord ----------------------------------------------------------------------------------------------------------


def token_missing(name: str) -> tuple[str, str]:
    return (
        f"{name} is not set, so Discord can't be asked.",
        "Put the bot's token into .env beside access.json, mode 0600, under that name "
        f"({PORTAL}, your application, Bot).",
    )


def token_refused(name: str) -> tuple[str, str]:
    return (
        "Discord refuses the bot's token.",
        f"{PORTAL}, your application, Bot, Reset Token; put the new one into .env under {name}, and start the relay "
        "again.",
    )


def token_fine(bot: str) -> str:
    return f"token: it is that of {inline(bot)}"


def token_used_here(holder: str) -> str:
    return f"token: used by the relay of this state folder ({inline(holder, 200)})"


def token_used(holder: str) -> tuple[str, str]:
    return (
        f"another relay uses this bot ({inline(holder, 200)}): two would answer everything twice.",
        "Stop that one, or make a bot of its own for this relay.",
    )


INTENT_FINE = "Message Content Intent is on"
INTENT_OFF = (
    "Message Content Intent is off, so Discord won't let the bot connect.",
    f"{PORTAL}, your application, Bot, Privileged Gateway Intents: switch on Message Content Intent, and save.",
)


def unreachable(what: str, why: str) -> tuple[str, str]:
    return (
        f"{what} can't be reached: {inline(why, 200)}",
        "Check the network, a proxy or a firewall (TCP 443 to discord.com and gateway.discord.gg), then try again.",
    )


def gateway(left: int, total: int, *, spent: bool) -> tuple[str, str]:
    if not spent:
        return f"gateway: it answers; {left} of {total} sessions of this day are left", ""
    return (
        f"the bot has {left} of {total} sessions of this day left; at none, Discord takes its token away.",
        "Find out what restarts it over and over (a service that restarts at once, a second relay), and stop that.",
    )


NO_GREETING = "it says nothing that the relay knows"
NO_DATE = "clock: Discord didn't say what time it is"


def clock_fine(seconds: float) -> str:
    return f"clock: within {abs(seconds):.0f} s of Discord's"


def clock_off(seconds: float) -> tuple[str, str]:
    way = "ahead of" if seconds > 0 else "behind"
    return (
        f"this machine's clock is {abs(seconds):.0f} s {way} Discord's: timers and late messages are judged wrongly.",
        "Switch on time synchronisation: timedatectl set-ntp true.",
    )


NO_ROOMS = (
    "access.json names no room of Discord, so the bot answers nowhere.",
    "Add one to rooms: its name is discord: and the channel's id (right-click the channel, Copy Channel ID).",
)
NO_OWNER = (
    "access.json names no owner for Discord, so nobody can allow or stop anything there.",
    'Put your id into "owner": {"discord": "…"} (right-click yourself, Copy User ID).',
)


def owner_elsewhere(id: str, servers: Sequence[str]) -> tuple[str, str]:
    named = ", ".join(inline(one) for one in servers)
    return (
        f"the owner {id} is no member of {named}.",
        "Check owner.discord in access.json: right-click yourself in Discord, Copy User ID.",
    )


def owner_fine(id: str) -> str:
    return f"owner {id}: a member of the server"


def channel_unknown(id: str, servers: Sequence[str]) -> tuple[str, str]:
    named = ", ".join(inline(one) for one in servers) or "no server at all"
    return (
        f"room discord:{id}: no channel of that id is in a server where the bot is ({named}).",
        "Right-click the channel, Copy Channel ID; or invite the bot to that channel's server (docs/discord.md, 2).",
    )


KINDS: Mapping[int, str] = {1: "somebody's direct messages", 3: "a group's messages", 4: "a category"}
ODD_KIND = "of a kind that nobody writes in"


def channel_odd(id: str, what: str) -> tuple[str, str]:
    return (
        f"room discord:{id} is {what}, and can't be a room.",
        "Name a text channel, an announcement channel or a forum in access.json.",
    )


def channel_a_thread(id: str, parent: str) -> tuple[str, str]:
    return (
        f"room discord:{id} is a thread. The threads of a room belong to it by themselves.",
        f"Name its channel in access.json: discord:{parent or '…'}.",
    )


def room_fine(id: str, name: str, server: str) -> str:
    return f"room discord:{id} (#{inline(name)} in {inline(server)}): all permissions that it needs"


def room_lacks(id: str, name: str, server: str, missing: Sequence[tuple[str, str]]) -> str:
    listed = ", ".join(f"{what} ({purpose})" for what, purpose in missing)
    return f"room discord:{id} (#{inline(name)} in {inline(server)}): the bot lacks {listed}."


def switch_on_in_role(role: str, names: Sequence[str]) -> str:
    return f"Server Settings, Roles, {inline(role)}, Permissions: switch on {', '.join(names)}."


def switch_on_in_channel(channel: str, role: str, names: Sequence[str]) -> str:
    return (
        f"Edit Channel (the wheel at #{inline(channel)}), Permissions, {inline(role)}: allow {', '.join(names)} "
        "(the channel's own rules take it away)."
    )


def room_could(id: str, name: str, missing: Sequence[tuple[str, str]]) -> str:
    listed = ", ".join(f"{what} ({purpose})" for what, purpose in missing)
    return f"room discord:{id} (#{inline(name)}): not needed, and not there: {listed}"


def commands_fine(count: int) -> str:
    return f"slash commands: Discord has all {count}"


def commands_differ(missing: Sequence[str]) -> str:
    return "slash commands: Discord does not have " + ", ".join(f"/{inline(one)}" for one in missing)


COMMANDS_COME = "The relay tells Discord when it connects; its log says what keeps it from that."
DISCORD_SLOW = (
    "Discord was not looked at to the end: it took longer than a minute.",
    "Try again later; https://discordstatus.com says whether Discord itself has trouble.",
)
