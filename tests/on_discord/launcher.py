"""Starts the real relay with a network in which Discord is the tests' one. The product has no switch for it."""

import sys
from pathlib import Path

import anyio
from fakes.discord.connector import connector

from relay import app, cli
from relay.errors import RelayError


def main() -> int:
    port, ca, config, state = sys.argv[1:]
    options = app.Options(
        config=Path(config),
        state=Path(state),
        port=0,
        connector=lambda: connector(int(port), ca),
        say=lambda line: print(line, flush=True),
    )
    try:
        anyio.run(app.run, options)
    except BaseExceptionGroup as group:
        error = cli._one_error(group)
        print(error, file=sys.stderr)
        return getattr(error, "code", 1)
    except RelayError as error:
        print(error.told(), file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
