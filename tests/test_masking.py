"""No secret reaches a log or a chat: by shape, by value, in every place of a log line."""

import io
import json
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from relay.masking import LONGEST_FIELD, JsonFormatter, Masker, configure


def made(*parts: str) -> str:
    """Joined here, so that no file of ours holds a text that a secret scanner would stop at."""
    return "".join(parts)


ABC = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ0bC2dE4fG6hJ8k"
SECRETS = {
    "discord": made("MTk4NjIyNDgzNDcxOTI1MjQ4", ".Cl2FMQ.", "ZnCjm1XVW7vRze4b7Cq4se7kKWs4567x"),
    "github": made("ghp", "_", ABC[:36]),
    "github fine": made("github", "_pat_", ABC, "_", ABC),
    "gitlab": made("glpat", "-", ABC[:20]),
    "slack": made("xox", "b-123456789012-", ABC[:24]),
    "openai": made("sk", "-", ABC),
    "openai project": made("sk", "-proj-", ABC, "_", ABC),
    "anthropic": made("sk", "-ant-api03-", ABC, "-", ABC),
    "aws": made("AKIA", "IOSFODNN7EXAMPL3"),
    "google": made("AIza", ABC[:35]),
    "hugging face": made("hf", "_", ABC[:34]),
    "stripe": made("sk", "_live_", ABC[:24]),
    "telegram": made("123456789", ":", ABC[:35]),
    "jwt": made("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0In0.", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"),
    "private key": made("-----BEGIN RSA PRIV", "ATE KEY-----\nMIIEow\nabc/+=\n-----END RSA PRIV", "ATE KEY-----"),
}  # fmt: skip

# (text, what must be gone, what must stay)
FORMS = [
    (made("https://discord.com/api/webhooks/123456789012345678/", ABC, "_x-y"), ABC, "webhooks/123456789012345678/"),
    (made("https://ptb.discordapp.com/api/v10/webhooks/1234/", ABC, "?wait=1"), ABC, "?wait=1"),
    (made("https:\\/\\/discord.com\\/api\\/webhooks\\/1234\\/", ABC), ABC, "1234"),
    (made("https%3A%2F%2Fdiscord.com%2Fapi%2Fwebhooks%2F1234%2F", ABC), ABC, "1234"),
    (made("https://hooks.slack.com/services/", "T00/B00/", ABC), ABC, "hooks.slack.com"),
    ("Authorization: Bearer abcdef", "abcdef", "Authorization"),
    ("Authorization: Bot xyzzyq next", "xyzzyq", "next"),
    ("curl -H 'Authorization: Basic dXNlcjpwYXNz' https://x.org", "dXNlcjpwYXNz", "https://x.org"),
    ("{'authorization': 'hunter2hunter2'}", "hunter2", "authorization"),
    ("[(b'authorization', b'Bearer abcdefgh')]", "abcdefgh", "authorization"),
    ('Authorization: Digest username="u", response="abcdef12"', "abcdef12", "Authorization"),
    ("Cookie: session=abc; other=def", "abc", "Cookie"),
    ("sent Bearer abc.def-ghi", "abc.def-ghi", "sent"),
    ("https://h.org/?token=abc&page=2", "abc", "&page=2"),
    ("http://127.0.0.1:8888/lab?token=0a1b2c3d4e5f", "0a1b2c3d4e5f", "/lab?token="),
    ("next=%3Ftoken%3Dabc123def%26x", "abc123def", "next="),
    ("password: hunter", "hunter", "password"),
    ("password=x1", "x1", "password="),
    ("Password = correcthorse", "correcthorse", "Password"),
    ("DB_PASSWORD=s3cr3t\nHOME=/root", "s3cr3t", "HOME=/root"),
    ("export DISCORD_BOT_TOKEN=abc.def", "abc.def", "export"),
    ('{"api_key": "abcdef", "page": 2}', "abcdef", '"page": 2'),
    ('{"apiKey":"abc\\"def\\\\ghi","page":2}', "def", '"page":2'),
    ('{\\"client_secret\\": \\"abcdef\\", \\"page\\": 2}', "abcdef", "page"),
    ("{'token': 'abcdef', 'page': 2}", "abcdef", "'page': 2"),
    ("{'password': b'abcdef', 'page': 2}", "abcdef", "'page': 2"),
    ("{'token': 123456}", "123456", "token"),
    ("Config(token='abcdef', page=2)", "abcdef", "page=2"),
    ("Config(password=SecretText('abcdef'))", "abcdef", "Config"),
    ("f(api_key=abcdef)", "abcdef", ")"),
    ("X-Api-Key: abc123def", "abc123def", "X-Api-Key"),
    ("aws_secret_access_key = abcd/efgh+ijkl", "abcd/efgh+ijkl", "aws_secret_access_key"),
    ("postgres://relay:hunter2@db:5432/x", "hunter2", "@db:5432/x"),
    ("password='never closed", "never closed", "password"),
    ("line\\npassword=abc\\nnext", "abc", "\\nnext"),
]  # fmt: skip

BENIGN = [
    "commit 5a965681c0ffee00112233445566778899aabbcc by Ann",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "turn 123e4567-e89b-12d3-a456-426614174000 ended",
    "The token is missing; ask for a new token, then paste the token here.",
    "Invalid token: unexpected end of input",
    "max_tokens=4096 tokens: 12 tokenizer=fast",
    "token = load_token()",
    "Forgot your password? The secret of a good password is its length.",
    "token: None, password=None, api_key: null",
    "The bearer of this letter, and bearer authentication, and Bearer token. Authorization: Bearer token",
    "Authorization: required",
    "risk-assessment-and-management-of-the-plan, task-force-of-twenty-five-people",
    "tests.test_the_longest_module_name_here.inside.another_long_function_name_of_ours",
    "http://127.0.0.1:8765/rooms and user@host:/path",
    "https://discord.com/channels/123/456",
    "PWD=/home/ann key: value keyboard=us",
    "2026-01-01T00:00:00.000Z 10:20:30 relay.ledger",
    "",
]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "text", ["{}", "see {} here", '"{}"', "{!r}", "x\\n{}\\n", "a={};", "\x1b[31m{}\x1b[0m", "({})", "\n{}\n", "https://h/{}"]
)  # fmt: skip
def test_a_secret_is_masked_by_its_shape(secret: str, text: str) -> None:
    masked = Masker().mask(text.format(secret))
    assert secret not in masked
    assert secret[-12:] not in masked
    assert "[masked]" in masked


@pytest.mark.parametrize(("text", "gone", "stays"), FORMS)
def test_a_secret_is_masked_by_what_stands_before_it(text: str, gone: str, stays: str) -> None:
    masked = Masker().mask(text)
    assert gone not in masked
    assert stays in masked
    assert Masker().mask(masked) == masked


@pytest.mark.parametrize("text", BENIGN)
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert Masker(["registered-value"]).mask(text) == text


def test_a_key_block_without_an_end_is_masked_to_the_end() -> None:
    block = SECRETS["private key"].split("-----END")[0]
    assert Masker().mask("before " + block) == "before [masked]"


def test_registered_values_are_masked_longest_first_and_short_ones_are_ignored() -> None:
    masker = Masker(["swordfish", "swordfish-two", "abc", ""])
    assert masker.mask("abc swordfish-two, swordfish.") == "abc [masked], [masked]."


def test_registered_values_that_overlap_leave_no_rest() -> None:
    assert Masker(["abcdef", "defghi"]).mask("-abcdefghi-") == "-[masked]-"


@pytest.mark.parametrize("value", ['it\'s "so" \\ deep', "two\nlines", "pä ss/wörd&", "tab\tand 'quote"])
def test_a_registered_value_is_masked_in_every_way_it_is_written(value: str) -> None:
    masker = Masker([value])
    written = [
        value, repr(value), repr({"x": value, "y": "'\""}), json.dumps([value]), json.dumps(json.dumps(value)),
        quote(value), quote(value, safe=""), repr(value.encode()), repr(value + "'\""),
    ]  # fmt: skip
    for text in written:
        assert "[masked]" in masker.mask(text), text
        assert value[:4] not in masker.mask(text).replace("\\", ""), text


VALUES = st.lists(st.text(alphabet="ab[]masked█\\n'\"é1", min_size=6, max_size=12), min_size=1, max_size=4)


@given(VALUES, st.data())
@example(["masked"], None)
@example(["[masked]", "██████"], None)
def test_a_registered_value_is_never_left(values: list[str], data: st.DataObject | None) -> None:
    pieces = [
        *values,
        *(v[:4] for v in values),
        *(v[4:] for v in values),
        "x",
        "[masked]",
        "a[mask",
        "█",
        "password=",
    ]
    chosen = pieces if data is None else data.draw(st.lists(st.sampled_from(pieces), max_size=12))
    masked = Masker(values).mask("".join(chosen))
    assert not [value for value in values if value in masked]


def line_of(record: logging.LogRecord, *values: str) -> dict[str, Any]:
    written = JsonFormatter(Masker(values)).format(record)
    assert "\n" not in written
    assert written.isascii()
    return json.loads(written)


def record_of(message: object, *args: object, **extra: object) -> logging.LogRecord:
    return logging.getLogger("relay.test").makeRecord(
        "relay.test", logging.INFO, __file__, 1, message, args, None, extra=extra  # type: ignore[arg-type]
    )  # fmt: skip


def texts(line: object) -> Iterator[str]:
    if isinstance(line, dict):
        for name, content in line.items():  # pyright: ignore[reportUnknownVariableType]
            yield str(name)  # pyright: ignore[reportUnknownArgumentType]
            yield from texts(content)
    else:
        yield str(line)


@given(st.text(min_size=6, max_size=20), st.text(max_size=10))
def test_a_registered_value_is_in_no_field_of_a_log_line(value: str, around: str) -> None:
    assume(
        not any(value in own for own in ("message", "exception", "logger", "relay.test", "field", "extra_"))
    )
    text = around + value + around
    record = record_of("%s and %r", text, {text: [text]}, field=text, other={"x": text}, **{"k" + value: 1})
    try:
        raise ValueError(text)
    except ValueError:
        record.exc_info = sys.exc_info()
    assert not [each for each in texts(line_of(record, value)) if value in each]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_is_masked_in_message_arguments_exception_and_fields(secret: str) -> None:
    record = record_of(f"{secret} %s %r", secret, {"x": secret}, field=secret, held=[secret])
    try:
        try:
            raise KeyError(secret)
        except KeyError as error:
            raise RuntimeError(f"with {secret}") from error
    except RuntimeError:
        record.exc_info = sys.exc_info()
    record.stack_info = f"Stack {secret}"
    written = JsonFormatter(Masker()).format(record)
    line = json.loads(written)
    assert secret[-12:] not in "".join(texts(line))
    assert secret[-12:] not in written
    assert line["exception"].count("[masked]") >= 2


def test_a_field_named_like_a_secret_is_masked_whatever_it_holds() -> None:
    line = line_of(record_of("x", api_key="abc", password=12345678, bot_token=["a"], token=None, tokens=5))
    assert (line["api_key"], line["password"], line["bot_token"]) == ("[masked]",) * 3
    assert (line["token"], line["tokens"]) == (None, 5)


def test_a_line_has_its_time_level_logger_message_and_fields() -> None:
    record = record_of(
        "Two %d", 2, room="web:1", number=1.5, yes=True, nothing=None, odd=float("nan"), message2="m"
    )
    record.created = 1_767_225_600.1234
    assert line_of(record) == {
        "at": "2026-01-01T00:00:00.123Z",
        "level": "INFO",
        "logger": "relay.test",
        "message": "Two 2",
        "room": "web:1",
        "number": 1.5,
        "yes": True,
        "nothing": None,
        "odd": "nan",
        "message2": "m",
    }


def test_a_field_cannot_replace_one_of_ours() -> None:
    line = line_of(record_of("true", level="DEBUG", at="never", logger="root", exception="none"))
    assert (line["level"], line["logger"], line["message"]) == ("INFO", "relay.test", "true")
    assert (line["extra_level"], line["extra_at"], line["extra_logger"]) == ("DEBUG", "never", "root")


class Broken(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")


@pytest.mark.parametrize(
    ("message", "args"),
    [("%d apples", ("three",)), ("%s %s", ("one",)), ("none", ("one",)),
     ("%(x)s", ({"y": 1},)), ("%", (1,)), (Broken(), ())],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_said_in_the_line(message: object, args: tuple[object, ...]) -> None:
    assert "don't fit" in line_of(record_of(message, *args))["message"]


def test_arguments_that_do_not_fit_are_masked_too() -> None:
    assert "swordfish" not in str(line_of(record_of("%d", "swordfish"), "swordfish"))


def test_an_exception_that_cannot_be_shown_still_gives_a_line() -> None:
    record = record_of("%s %r", Broken(), Broken(), field=Broken(), many=[Broken()])
    try:
        raise Broken
    except Broken:
        record.exc_info = sys.exc_info()
    line = line_of(record)
    assert "Broken" in line["exception"]
    assert line["field"] == "<Broken: its repr raised RuntimeError>"


def test_lone_surrogates_give_a_line_that_any_stream_takes() -> None:
    assert line_of(record_of("a\ud800b", field="\udfff"))["message"] == "a\ufffdb"


def test_a_long_field_is_cut_after_masking_and_says_so() -> None:
    text = "x" * (LONGEST_FIELD - 4) + "swordfish" + "y" * 100
    line = line_of(record_of(text), "swordfish")
    assert line["message"] == "x" * (LONGEST_FIELD - 4) + "[mas"
    assert line["cut"] == 104
    assert "cut" not in line_of(record_of("short"))


HOSTILE = [
    "eyJ", "eyJaaaaa.", "a", "token", "token=", "password: ", '"', "\\", "\\\\\"", "://a:", "https://", "sk-", "ghp_",
    "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "Bearer ",
    "authorization,", "cookie: a=", "aaaaaaaaaaaaaaaaaaaaaaaa.bbbbbb.", "xoxb-",
    "%3D", "secret'", "api_key=\"", "swordfis", "swordfish", "[masked]", "password=SecretText(",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_is_masked_in_time_in_proportion_to_it(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    begun = time.process_time()
    Masker(["swordfish"]).mask(text)
    assert time.process_time() - begun < 5, "a pattern whose time grows with the square takes minutes here"


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logging.captureWarnings(False)
    logger.handlers[:] = handlers
    logger.setLevel(level)


def test_everything_that_is_logged_is_one_masked_line(root: logging.Logger) -> None:
    stream = io.StringIO()
    plain = io.StringIO()
    root.addHandler(logging.StreamHandler(plain))
    configure(stream, "INFO", Masker(["swordfish"]))
    logging.getLogger("any.library").info("first\nsecond %s", "swordfish")
    logging.getLogger("any.library").debug("not shown")
    warnings.warn("a warning with swordfish", stacklevel=1)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["logger"] for line in lines] == ["any.library", "py.warnings"]
    assert lines[0]["message"] == "first\nsecond [masked]"
    assert "swordfish" not in stream.getvalue() + plain.getvalue()


def test_configuring_again_writes_each_line_once(root: logging.Logger) -> None:
    streams = io.StringIO(), io.StringIO()
    for stream in streams:
        configure(stream, logging.INFO, Masker())
    root.info("once")
    assert [stream.getvalue().count("once") for stream in streams] == [0, 1]


def test_a_level_that_is_none_is_refused_and_changes_nothing(root: logging.Logger) -> None:
    before = root.handlers[:], root.level
    with pytest.raises(ValueError, match="LOUD"):
        configure(io.StringIO(), "LOUD", Masker())
    assert (root.handlers, root.level) == before


def test_a_line_that_cannot_be_written_is_not_shown_unmasked(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    configure(stream, "INFO", Masker(["swordfish"]))
    stream.close()
    root.info("swordfish %s", "swordfish")
    assert capsys.readouterr().err == "A log line couldn't be written (ValueError).\n"
