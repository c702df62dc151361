"""Discord for the tests: REST v10 and the gateway over TLS on this machine, used by the real discord.py.

    async with DiscordServer() as server:
        bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[bot])
        room, ada = guild.text_channel("build"), guild.person("ada")

        client = discord.Client(intents=..., connector=server.connector(), guild_ready_timeout=0.1)
        ...                                     # client.start(bot.token) in a task, until it is ready

        asked = ada.say(room, "what broke?")    # people act …
        await server.until(lambda: len(room.texts("relay")) == 1)
        assert room.seen()[-1].text == "nothing" # … and what they see is what a test asserts
        assert ada.pings == []

The client keeps the library's own addresses: `server.connector()` resolves Discord's names, and no others, to this
machine and trusts the test CA. It is a factory, since a client that is closed closes its connector. In another process,
`fakes.discord.connector.connector(port, ca)` does the same with `server.port` and `server.ca`.

Where things are
    server.bot, guild, person       who there is; see `places`, `people`, `seen`, `attempt`
    server.until                    waits until something is to be seen, and shows all channels if it never is
    server.clock.advance(seconds)   nonces, tokens, sessions, limits and ids go by this clock
    server.faults                   REST: answer, refuse, cloudflare, too_many, cut, slow, hold, reshape
    server.gateway.faults           events: drop, double, swap, late, reshape; silence, refuse_resumes …
    server.gateway                  online, heard; cut, close, reconnect, invalidate, forget_sessions, raw
    server.outage()                 all of Discord is away inside the block
    server.limits                   buckets, `realistic()`, and `invalid`: refusals that would get an address banned
    server.rest.calls               every request, for the few promises about requests (how many, how often)
    server.world.rules              what Discord may change one day: lengths, memories, ceilings
    oddities                        how other servers' answers look, for `faults.reshape`

What it leaves out: voice, presence, polls, stickers, invites, emoji of a guild, audit logs, sharding beyond one,
threads that archive themselves after a quiet time, slow mode (order it by `faults.refuse(…, 20016)`), and the wait of
5 s between two IDENTIFYs. Text is counted in UTF-16 units (never fewer than Discord counts), and, as on Discord, white
space at both ends of a message is cut off.

Never put a conftest.py or a test into `tests/fakes/`: pytest would put that folder first on the path, and this package
would hide the library of the same name.
"""

from fakes.discord.attempt import Attempt
from fakes.discord.people import File, Person
from fakes.discord.places import Community, Place
from fakes.discord.seen import Seen
from fakes.discord.server import DiscordServer

__all__ = ["Attempt", "Community", "DiscordServer", "File", "Person", "Place", "Seen"]
