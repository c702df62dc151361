"""The `relay` command. Modules that take long to import are imported by the command that needs them."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from relay import __version__, texts_of_the_start
from relay.errors import Exit, RelayError, StoreUnavailable

SEND_EPILOG = """\
exit codes:
  0  sent; with --wait: the turn completed, or the text was posted
  1  not sent, or the turn did not complete, or the time was over; what it was stands on the error output
  2  the command line was off
  3  the token or the configuration can't be used

examples:
  relay send --to web:main "the nightly build is red: look why"
  git log -1 | relay send --to web:main --as ci --key "build-$BUILD_ID" --wait
"""


def parser() -> argparse.ArgumentParser:
    """The command line. `relay COMMAND --help` explains each."""
    top = argparse.ArgumentParser(prog="relay", description="A relay between people and coding agents.")
    top.add_argument("--version", action="version", version=f"relay {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start the relay (Ctrl-C stops it)")
    up.add_argument(
        "--config", type=Path, metavar="FILE", help="access.json; without it: one room, the scripted agent"
    )
    up.add_argument("--state", type=Path, metavar="DIR", help="where the ledger lies")
    up.add_argument("--port", type=int, help="port of the local page (0: any free one)")
    up.add_argument(
        "--script", type=Path, metavar="FILE", help="play a script, print the transcript, and end"
    )
    up.add_argument(
        "--log", choices=["debug", "info", "warning", "error"], default="warning", help="what is logged"
    )
    up.add_argument("--control", type=int, help=argparse.SUPPRESS)
    send = commands.add_parser(
        "send",
        help="send a message to the running relay, from a script",
        description="Starts a turn in a room or thread of the running relay, as the owner, or posts a text there.",
        epilog=SEND_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    send.add_argument(
        "text", nargs="?", metavar="TEXT", help="what to send; `-` or nothing: read from the input"
    )
    send.add_argument(
        "--to",
        default="",
        metavar="ROOM",
        help="a room, its label, or a thread; needed when there are several rooms",
    )
    send.add_argument(
        "--as", dest="name", default="script", metavar="NAME", help="what people see of the sender"
    )
    send.add_argument(
        "--key", metavar="KEY", help="sent again with the same key, it is done once (default: a new one)"
    )
    send.add_argument("--post", action="store_true", help="post the text; no agent reads it")
    send.add_argument("--wait", action="store_true", help="wait for the end of the turn, and print the reply")
    send.add_argument(
        "--timeout",
        default="30m",
        metavar="TIME",
        help="how long --wait waits (default 30m); the turn goes on after it",
    )
    send.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    send.add_argument("--state", type=Path, metavar="DIR")
    send.add_argument("--config", type=Path, metavar="FILE")
    log = commands.add_parser("log", help="list what happened, newest last")
    log.add_argument("--state", type=Path, metavar="DIR")
    log.add_argument("--config", type=Path, metavar="FILE")
    log.add_argument("--scope", help="only this scope, such as web:main")
    log.add_argument("--verb", help="only verbs that begin so, such as turn. or watch.fired")
    log.add_argument("--since", metavar="WHEN", help="only after: 10m, 2h (ago), or 2026-12-01T09:30")
    log.add_argument("--until", metavar="WHEN", help="only before")
    log.add_argument("-n", "--lines", type=int, default=50, help="at most so many (default 50)")
    log.add_argument("--json", action="store_true", help="one JSON object a line, payloads included")
    why = commands.add_parser("why", help="tell what led to an interaction or a message")
    why.add_argument(
        "id", metavar="ID", help="the first letters of an id (4 or more), or a message such as web:m17"
    )
    why.add_argument("--state", type=Path, metavar="DIR")
    why.add_argument("--config", type=Path, metavar="FILE")
    redact = commands.add_parser("redact", help="take a text out of everything that is kept, for good")
    redact.add_argument(
        "id", metavar="ID", help="a message such as web:m17, or the first letters of an id (4 or more)"
    )
    redact.add_argument("--why", default="", metavar="TEXT", help="is kept beside who did it and when")
    verify = commands.add_parser("verify", help="check the ledger: ids, causes, texts, files")
    for command in (redact, verify):
        command.add_argument("--state", type=Path, metavar="DIR")
        command.add_argument("--config", type=Path, metavar="FILE")
    doctor = commands.add_parser(
        "doctor", help="look what is missing, and say how to mend it; changes nothing"
    )
    doctor.add_argument(
        "--discord", action="store_true", help="look at the bot, its rooms and permissions too"
    )
    doctor.add_argument("--config", type=Path, metavar="FILE")
    doctor.add_argument("--state", type=Path, metavar="DIR")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code. Every error is told as a sentence with advice, without a trace."""
    arguments = parser().parse_args(argv)
    try:
        if sys.platform == "win32":
            raise RelayError("the relay does not run on Windows.", "Run it in WSL.")
        if arguments.command == "up":
            return _up(arguments)
        if arguments.command in ("redact", "send", "verify"):
            # By its name: each takes long to import, and none needs another.
            return importlib.import_module(f"relay.{arguments.command}").run(arguments)
        if arguments.command == "doctor":
            from relay import app, doctor
            from relay.masking import Masker, configure

            configure(sys.stderr, logging.ERROR, Masker())
            options = app.Options(config=arguments.config, state=arguments.state, say=_say)
            return doctor.run(options, discord=arguments.discord)
        from relay import history

        code = history.run(arguments)
        sys.stdout.flush()
        return code
    except RelayError as error:
        print(f"relay: {error.told()}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return Exit.FINE
    except BrokenPipeError:
        _print_no_more()
        return Exit.FINE
    except OSError as error:
        if not _stdout_is_stuck():
            raise
        _print_no_more()
        print(f"relay: {texts_of_the_start.cannot_print(error.strerror or str(error))}", file=sys.stderr)
        return Exit.FAILED


def _stdout_is_stuck() -> bool:
    """What could not be printed is still in its buffer: trying again tells whether that was the error."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _print_no_more() -> None:
    """Else Python would try again at its end, and tell that with a trace."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _up(arguments: argparse.Namespace) -> int:
    if arguments.script is not None:
        from relay.script import play

        return play.run(arguments)
    import anyio

    from relay import app
    from relay.masking import Masker, configure

    configure(sys.stderr, getattr(logging, arguments.log.upper()), Masker())
    options = app.Options(config=arguments.config, state=arguments.state, port=arguments.port, say=_say)
    try:
        if arguments.control is not None:
            from relay.script import control

            anyio.run(control.serve, options, arguments.control)
        else:
            anyio.run(app.run, options)
    except BaseExceptionGroup as group:
        raise _at_the_end(_one_error(group)) from group
    except StoreUnavailable as error:
        raise _at_the_end(error) from error
    return Exit.FINE


def _say(line: str) -> None:
    print(line, flush=True)


def _at_the_end(error: BaseException) -> BaseException:
    """While the relay runs it waits for space; what ends it is a start, and then "it goes on by itself" is not so."""
    if isinstance(error, StoreUnavailable) and error.full:
        return StoreUnavailable(str(error), texts_of_the_start.START_AGAIN)
    return error


def _one_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of several errors at once, the one to tell: a `RelayError` if there is one."""
    found: list[BaseException] = []
    stack: list[BaseException] = [group]
    while stack:
        error = stack.pop()
        if isinstance(error, BaseExceptionGroup):
            stack.extend(error.exceptions)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        else:
            found.append(error)
    return next((e for e in found if isinstance(e, RelayError)), group)
