"""`relay send`: a message to the running relay from a script, over its loopback port, and the reply if that is wanted.

Every try bears the same idempotency key, so that a lost answer or a restart of the relay sends nothing twice.
"""

from __future__ import annotations

import argparse
import http.client
import re
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson

from relay import app
from relay.config import env_of
from relay.errors import ConfigError, Exit, RelayError, UsageError
from relay.surfaces.web import doorplate
from watch_supervisor.spec import SpecError, parse_duration

MOST_BYTES = 1_000_000
ASK_WAIT_S = 50
CALL_LIMIT_S = 90.0
TRIES = 5
PAUSE_S = 1.0
_KEY = re.compile(r"[!-~]{1,100}")


class _Away(RelayError):
    """The relay can't be reached just now; it may be on its way back."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How the running relay is found, each time anew: after a restart its port and token may be others."""

    state: Path
    env: Mapping[str, str]

    def ask(self, method: str, path: str, key: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """The status and the answer. Raises `_Away`, `RelayError`, `ConfigError`."""
        plate = doorplate.read(self.state)
        token = plate.token or self.env.get(plate.token_env, "").strip()
        if not token:
            raise ConfigError(
                f"the relay wants the token that {plate.token_env} holds, and it is not set here.",
                "Set it, or name the folder of its .env with --config FILE.",
            )
        connection = http.client.HTTPConnection("127.0.0.1", plate.port, timeout=CALL_LIMIT_S)
        try:
            headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
            data = None
            if body is not None:
                data = orjson.dumps(body)
                headers["Content-Type"] = "application/json"
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            found: object = orjson.loads(answer.read(16 * MOST_BYTES))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _Away(
                f"the relay did not answer ({type(error).__name__}).",
                "Send it again with the same --key; it is taken once.",
            ) from error
        finally:
            connection.close()
        return answer.status, dict(found) if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownArgumentType]

    def ask_again(self, path: str, key: str) -> tuple[int, dict[str, Any]]:
        """What was sent stands, whatever became of the relay: one that isn't there is on its way back."""
        try:
            return self.ask("GET", path, key)
        except doorplate.NotRunning as error:
            raise _Away(str(error), error.advice) from error


def run(arguments: argparse.Namespace) -> int:
    """`relay send`; the exit code. Raises `RelayError`."""
    key = arguments.key if arguments.key is not None else secrets.token_hex(16)
    if not _KEY.fullmatch(key):
        raise UsageError("--key takes 1 to 100 visible ASCII characters.")
    try:
        patience = parse_duration(arguments.timeout) / 1000
    except SpecError as error:
        raise UsageError(f"--timeout: {error}") from error
    text = _text(arguments.text)
    way = _way(arguments)
    body = {
        "text": text,
        "to": arguments.to,
        "name": arguments.name,
        "mode": "post" if arguments.post else "prompt",
    }
    deadline = time.monotonic() + (patience if arguments.wait else TRIES * PAUSE_S)
    told = _until_answered(
        lambda: way.ask("POST", "/v1/send", key, body), deadline, time.monotonic, time.sleep
    )
    if arguments.wait:
        while told["state"] in ("waiting", "running") and (left := deadline - time.monotonic()) > 0:
            asked = urlencode({"key": key, "wait": min(ASK_WAIT_S, int(left) + 1)})
            told |= _until_answered(
                partial(way.ask_again, f"/v1/send?{asked}", key), deadline, time.monotonic, time.sleep
            )
    return _tell(told, key, waited=arguments.wait, as_json=arguments.json)


def _text(given: str | None) -> str:
    if given is None or given == "-":
        if sys.stdin.isatty() and given is None:
            raise UsageError(
                "there is nothing to send.", "Give a text, or pipe one in; see relay send --help."
            )
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
        text = data.decode("utf-8", errors="replace")
    else:
        text = given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        data = text.encode()
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"the text has more than {MOST_BYTES:,} bytes.",
            "Put it into a file in the workspace and name that.",
        )
    if not text.strip():
        raise UsageError("there is nothing to send: the text is empty.")
    return text


def _way(arguments: argparse.Namespace) -> _Way:
    options = app.Options(config=arguments.config, state=arguments.state)
    folder = arguments.config.parent if arguments.config is not None else Path.cwd()
    env, said = env_of(folder, options.env)
    if said is not None:
        print(f"relay: {said}", file=sys.stderr)
    state = options.state if options.state is not None else app.settled_state(options)
    return _Way(state, env)


def _until_answered(
    ask: Callable[[], tuple[int, dict[str, Any]]],
    deadline: float,
    now: Callable[[], float],
    sleep: Callable[[float], object],
) -> dict[str, Any]:
    """What the relay answers; asked again while it is away, until the deadline. Raises `RelayError`."""
    while True:
        try:
            status, told = ask()
        except _Away:
            if now() + PAUSE_S > deadline:
                raise
        else:
            if status < 300:
                return told
            error = RelayError(
                str(told.get("error", f"the relay answered {status}.")), str(told.get("advice", ""))
            )
            if status != 503 or now() + PAUSE_S > deadline:
                raise error
        sleep(PAUSE_S)


def _tell(told: dict[str, Any], key: str, *, waited: bool, as_json: bool) -> int:
    state, status = str(told.get("state", "")), str(told.get("status", ""))
    good = state == "done" and status in ("completed", "posted", "command")
    if as_json:
        print(orjson.dumps(told).decode())
    elif not waited:
        print(f"{'sent before' if told.get('repeated') else 'sent'} to {told.get('to')}, key {key}")
    elif good:
        for text in told.get("texts", ()):
            print(text)
    else:
        for text in told.get("texts", ()):
            print(text)
        print(f"relay: {_why(state, status, str(told.get('reason', '')), key)}", file=sys.stderr)
    return Exit.FINE if good or not waited else Exit.FAILED


def _why(state: str, status: str, reason: str, key: str) -> str:
    because = f": {reason.rstrip('.')}" if reason else ""
    if state in ("waiting", "running"):
        return (
            f"the time is over, and it is {state} still; it goes on. "
            f"The same command with --key {key} waits for it again."
        )
    if state == "dropped":
        return f"no turn was made of it{because}."
    return f"the turn ended as {status}{because}."
