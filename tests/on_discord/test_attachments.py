"""Files that people attach on Discord: fetched from its file servers and nobody else, within bounds, or told."""

from pathlib import Path

import anyio
import pytest
from aiohttp import web
from fakes.discord import File
from town import Town, town

from relay.behaviours.attachments import concept, reconciler
from relay.surfaces.discord import files
from relay.surfaces.discord.errors import DiscordRefused
from relay.surfaces.discord.files import checked

pytestmark = pytest.mark.anyio

MIB = 1 << 20


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the machine stalls, nothing is given up but where a test says so."""
    monkeypatch.setattr(reconciler, "GIVE_UP_S", 1e9)
    monkeypatch.setattr(concept, "HOLDS_MS", 10**12)


def inbox(here: Town) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (here.folder / "work" / "inbox").glob("*")}


def send(here: Town, text: str, *attached: File) -> None:
    here.olga.say(here.room, f"<@{here.bot.id}> {text}", files=attached)


async def test_files_of_a_message_are_in_the_inbox_when_its_turn_begins(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        send(here, "look", File("../a.csv", b"a,b\n"), File("plot.png", b"\x89PNG\r\n\x1a\n\0", "image/png"))
        seen = await here.answered("You said: look")
        assert "inbox/a.csv (text, 4 bytes): a,b" in seen.text
        assert "inbox/plot.png (png, 9 bytes)" in seen.text
        assert inbox(here) == {"a.csv": b"a,b\n", "plot.png": b"\x89PNG\r\n\x1a\n\0"}


async def test_s10_a_long_paste_without_a_content_type_is_read_and_a_zip_is_taken(tmp_path: Path) -> None:
    async with town(tmp_path, require_mention=False) as here:
        here.olga.say(here.room, files=[File("message.txt", b"x" * 3_000 + b"\nsay I have read it", None)])
        await here.answered("I have read it")
        send(here, "", File("message.txt", b"x" * 3_000 + b"\nsay and this too", None))
        await here.answered("and this too")
        archive = b"PK\x03\x04" + bytes(30)
        send(here, "unpack it", File("data.zip", archive, "application/x-zip-compressed"))
        seen = await here.answered("You said: unpack it")
        assert "inbox/data.zip (zip, 34 bytes)" in seen.text
        assert inbox(here)["data.zip"] == archive


async def test_what_was_attached_while_the_relay_was_away_is_taken(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        async with here.away():
            send(here, "look", File("a.txt", b"text"))
        await here.answered("inbox/a.txt (text, 4 bytes): text")


async def test_a_credential_file_is_refused_and_nothing_of_it_is_fetched(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        asked: list[str] = []

        async def note(request: web.Request) -> None:
            asked.append(request.path)

        here.server.on_file = note
        send(here, "use it", File("id_ed25519", b"key"), File(".env", b"A=1"))
        await here.answered("I did not take `id_ed25519`: files named so hold secrets")
        await here.answered("I did not take `.env`")
        await here.answered("You said: use it")
        assert (asked, inbox(here)) == ([], {})


async def test_the_file_server_failing_for_now_is_waited_for(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        left = [503, 429]

        async def fail(request: web.Request) -> web.StreamResponse | None:
            return web.Response(status=left.pop()) if left else None

        here.server.on_file = fail
        send(here, "look", File("a.txt", b"text"))
        await here.answered("inbox/a.txt (text, 4 bytes): text")
        assert left == []


@pytest.mark.parametrize("status", [403, 302, 404])
async def test_a_file_that_is_not_given_out_is_told_to_both(tmp_path: Path, status: int) -> None:
    async with town(tmp_path) as here:

        async def refuse(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": "https://evil.example/x"})

        here.server.on_file = refuse
        send(here, "look", File("a.txt", b"text"))
        await here.answered("I did not take `a.txt`")
        await here.answered("(this file was not taken")
        assert inbox(here) == {}
        assert all(not resolver.refused for resolver in here.server.resolvers)


async def test_a_file_that_is_larger_than_it_was_said_to_be_is_left_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciler, "LARGEST", 1_000_000)
    async with town(tmp_path) as here:
        over = anyio.Event()

        async def flood(request: web.Request) -> web.StreamResponse:
            """More than there may be, and no end."""
            answer = web.StreamResponse()
            await answer.prepare(request)
            await answer.write(b"\0" * 3 * MIB)
            await over.wait()
            return answer

        here.server.on_file = flood
        send(here, "look", File("a.bin", b"\0"))
        try:
            await here.answered("I did not take `a.bin`: I could not fetch it (the file has more than 1 MB)")
        finally:
            over.set()
        here.server.on_file = None
        send(here, "and this", File("b.bin", b"\0" * 1_000_001))
        await here.answered("I did not take `b.bin`: it has 1.0 MB, and I take 1 MB")


async def test_a_compressed_answer_is_not_unpacked(tmp_path: Path) -> None:
    async with town(tmp_path) as here:

        async def bomb(request: web.Request) -> web.StreamResponse:
            assert request.headers["Accept-Encoding"] == "identity"
            assert "Authorization" not in request.headers
            return web.Response(body=b"\x1f\x8b\x08\0packed", headers={"Content-Encoding": "gzip"})

        here.server.on_file = bomb
        send(here, "look", File("a.gz", b"\0" * 10))
        await here.answered("inbox/a.gz (gz, 10 bytes)")


async def test_a_file_server_that_never_ends_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_S", 0.2)
    monkeypatch.setattr(reconciler, "GIVE_UP_S", 0.1)
    async with town(tmp_path, speed=1.0) as here:
        over = anyio.Event()

        async def hang(request: web.Request) -> web.StreamResponse:
            await over.wait()
            return web.Response(status=500)

        here.server.on_file = hang
        send(here, "look", File("a.txt", b"text"))
        try:
            await here.answered("I did not take `a.txt`: I could not fetch it")
            await here.answered("You said: look")
        finally:
            over.set()


async def test_a_message_deleted_before_its_file_was_fetched_is_told(tmp_path: Path) -> None:
    async with town(tmp_path) as here:

        async def fail(request: web.Request) -> web.StreamResponse | None:
            if here.room.seen() and here.room.seen()[0].author == "olga":
                here.olga.delete(said)
            return web.Response(status=503)

        here.server.on_file = fail
        said = here.olga.say(here.room, f"<@{here.bot.id}> look", files=[File("a.txt", b"text")])
        await here.answered("I did not take `a.txt`: it was deleted before I had it")


async def test_a_kill_while_a_file_is_fetched_brings_it_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        asked, over = anyio.Event(), anyio.Event()

        async def hang(request: web.Request) -> web.StreamResponse:
            asked.set()
            await over.wait()
            return web.Response(status=500)

        here.server.on_file = hang
        send(here, "look", File("a.txt", b"text"))
        with anyio.fail_after(60):
            await asked.wait()
        async with here.away():
            over.set()
            here.server.on_file = None
        await here.answered("inbox/a.txt (text, 4 bytes): text")
        await here.quiet()
        assert inbox(here) == {"a.txt": b"text"}
        assert len([text for text in here.ours() if "You said: look" in text]) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://cdn.discordapp.com/attachments/1/2/a.txt",
        "https://cdn.discordapp.com.evil.example/a.txt",
        "https://cdn.discordapp.com@evil.example/a.txt",
        "https://evil.example/cdn.discordapp.com/a.txt",
        "https://cdn.discordapp.com:8443/a.txt",
        "https://evil.example\\@cdn.discordapp.com/a.txt",
        "https://127.0.0.1/a.txt",
        "https://[::1/a.txt",
        "file:///etc/passwd",
        "",
    ],
)
def test_only_discord_s_own_file_servers_are_asked(url: str) -> None:
    with pytest.raises(DiscordRefused, match="does not lie with Discord"):
        checked(url)


async def test_s8_what_a_server_takes_is_looked_up_before_a_file_is_uploaded(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        work = here.folder / "work"
        work.mkdir(exist_ok=True)
        (work / "large.bin").write_bytes(bytes(11 * MIB))
        here.ask("share large.bin\nsay here it is")
        seen = await here.answered("here it is")
        assert seen.files == ()
        assert (
            "large.bin (11.0 MB) could not be shown here, and at most 10.0 MB can be shown here" in seen.text
        )
        here.guild.guild.premium_tier = 2
        async with here.away():
            pass
        here.ask("share large.bin\nsay once more")
        assert (await here.answered("once more")).files == ("large.bin",)
