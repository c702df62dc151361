"""Secrets are masked on every way out: by their shape, and by the exact values that the relay was started with.

`Masker` is pure. The log's handler and formatter use it, so that no secret reaches a log, from the first line on; what
is posted goes through the same `mask`, before it is cut into chunks. It never decides what is a person's business to
see, finds no secret that looks like plain words (register its value), and changes nothing where it finds none.

All patterns are run by `re` and take linear time: what may repeat without bound is possessive, and begins behind
something that it can't hold itself.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TextIO, cast
from urllib.parse import quote, quote_plus

SHORTEST_VALUE = 6
"""Registered values with fewer characters are ignored: masking them would eat ordinary text."""

LONGEST_FIELD = 16 * 1024
"""The most characters of one field in a log line; the field `cut` says how many are missing."""

_MARK = "[masked]"
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\[[0-9]m)|(?<=\[[0-9][0-9]m))"
_SLASH = r"(?:/|\\/|%2[Ff])"

_SHAPES = (
    # Discord bot and user tokens; webhook addresses keep their id and lose their token
    _START + r"(?P<mixed>[A-Za-z0-9_-]{22,30}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}+)",
    r"mfa\.[A-Za-z0-9_-]{60,}+",
    rf"(?i:discord(?:app)?\.com{_SLASH}api{_SLASH}(?:v[0-9]{{1,3}}{_SLASH})?webhooks){_SLASH}[0-9]{{1,25}}{_SLASH}"
    r"(?P<webhook>[A-Za-z0-9_-]++)",
    rf"(?i:hooks\.slack\.com){_SLASH}(?:services|workflows|triggers){_SLASH}(?P<slack>[A-Za-z0-9_/%\\-]++)",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])",
    r"gh[opsur]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+",
    r"gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[A-Za-z0-9_.-]{20,}+",
    r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+|xapp-[0-9]-[A-Za-z0-9-]{10,}+",
    _START + r"(?P<digits>(?:sk|gsk|xai|pplx|r8|tvly|fw|dop_v1|shpat|sq0csp)[-_][A-Za-z0-9_-]{20,}+)",
    r"[prs]k_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{20,}+",
    r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}+|GOCSPX-[A-Za-z0-9_-]{20,}+",
    r"hf_[A-Za-z0-9]{30,}+|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}+|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}+",
    _START + r"[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    _START + r"eyJ[A-Za-z0-9_-]{5,}+\.[A-Za-z0-9_-]{5,}+(?:\.[A-Za-z0-9_-]*+){1,4}",
    r"://[^\s/@:\"']{0,256}:(?P<url>[^\s/@\"']{1,256})@",
)  # fmt: skip

_PEOPLE = r"pass(?:word|phrase|code)|passwd|secret(?:[_-]?(?:access)?[_-]?(?:key|token))?|credentials?|private[_-]?key"
_MACHINE = r"token|api[_-]?key|access[_-]?key(?:[_-]?id)?|auth[_-]?key|x-amz-(?:signature|credential)"
_QUOTE = r"\\{0,7}[\"']"
_NAMED = re.compile(
    rf"(?:(?P<people>{_PEOPLE})|{_MACHINE})(?:{_QUOTE})?(?P<sep>[ \t]{{0,4}}(?:=>|:=|[:=]|%3[ad])[ \t]{{0,4}})"
    r"(?:(?:[a-z_.]{0,40}[\[(])?[bruf]{0,2}(?:"
    r"\"(?P<double>(?:[^\"\\\n]|\\.)++)|'(?P<single>(?:[^'\\\n]|\\.)++)"
    r"|\\{1,7}[\"'](?P<escaped>(?:(?!\\{1,7}[\"'])[^\n\"'])++))"
    r"|(?P<bare>(?:[^\s\"'&;,<>\\]|\\(?![nrt\"'\\]))++))",
    re.IGNORECASE | re.ASCII,
)
_NAME = re.compile(rf"(?:{_PEOPLE}|{_MACHINE}|authorization|cookie)\Z", re.IGNORECASE | re.ASCII)
_HEADER = re.compile(
    rf"authorization(?:{_QUOTE})?[ \t]{{0,4}}[:=,][ \t]{{0,4}}(?:b?{_QUOTE})?"
    r"(?P<auth>(?:digest|aws4-hmac-sha256)[ \t][^\r\n]*+"
    r"|(?P<scheme>(?:bearer|basic|bot|token|apikey|negotiate|key)(?:[ \t]|%20|\+){1,4})?"
    r"(?P<word>(?:[^\s\"'\\,;&]|\\(?![nrt\"'\\]))++))"
    rf"|(?:set-)?cookie(?:{_QUOTE})?[ \t]{{0,4}}[:,][ \t]{{0,4}}(?:b?{_QUOTE})?"
    r"(?P<cookie>[a-z0-9_.-]{1,64}=[^\r\n\"']*+)"
    r"|(?P<bearer>bearer)(?:[ \t]|%20|\+){1,8}(?P<held>[a-z0-9._~+/=%|-]{6,}+)",
    re.IGNORECASE | re.ASCII,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PROSE_AFTER_SCHEME = re.compile(r"(?:access|auth\w*|credentials?|headers?|scheme|tokens?)\.?", re.IGNORECASE)
_NOTHING = frozenset(["none", "null", "true", "false", "str", "string", "undefined", "***", "..."])
_DIGIT = re.compile(r"[0-9]")
# What these groups must hold besides their shape, since plain words can have it too.
_NOT_PROSE = {"mixed": re.compile(r"[0-9].*[A-Z]|[A-Z].*[0-9]"), "digits": _DIGIT}


class Masker:
    """Masks secrets in texts. `values` are secrets known by value, such as the bot's token."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms: set[str] = set()
        for value in values:
            if len(value) >= SHORTEST_VALUE:
                forms.update(_written(value))
        self._values = sorted(forms, key=lambda each: (-len(each), each))
        self._mark = _mark_for(self._values)
        self._shapes = tuple(re.compile(each) for each in _SHAPES)

    def mask(self, text: str) -> str:
        """`text` with every secret replaced. Takes time in proportion to the text, and to the number of values."""
        done = (self._mark, self._mark.removesuffix("]"))
        spans = sorted(span for span in self._spans(text) if text[slice(*span)] not in done)
        parts: list[str] = []
        position = 0
        for start, end in spans:
            if start >= position:
                parts += [text[position:start], self._mark]
            position = max(position, end)
        return "".join([*parts, text[position:]])

    def names_a_secret(self, name: str) -> bool:
        """Whether a field of this name holds a secret, such as `api_key`."""
        return _NAME.search(name) is not None

    def field(self, name: str, content: object) -> object:
        """`content` of a named field, fit for JSON: numbers and None as they are, the rest as masked text."""
        if content is None or isinstance(content, bool):
            return content
        text = content if isinstance(content, str) else _shown(content)
        if self.names_a_secret(name):
            return self._mark
        masked = self.mask(_whole(text))
        if isinstance(content, (int, float)) and masked == text and _DIGIT.match(text[-1]):
            return content
        return masked

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for value in self._values:
            at = text.find(value)
            while at >= 0:
                yield at, at + len(value)
                at = text.find(value, at + len(value))
        yield from _key_spans(text)
        for shape in self._shapes:
            for found in shape.finditer(text):
                group = found.lastgroup or 0
                if group not in _NOT_PROSE or _NOT_PROSE[group].search(found[group]):
                    yield found.span(group)
        for found in _HEADER.finditer(text):
            yield from _header_span(found)
        for found in _NAMED.finditer(text):
            yield from _named_span(found)


def _mark_for(values: list[str]) -> str:
    """What stands for a secret: a mark that can't make up a registered value with the text around it."""
    if not any("[" in value or "]" in value or value in _MARK for value in values):
        return _MARK
    used = set("".join(values))
    return next(chr(code) for code in range(0x2588, 0xD800) if chr(code) not in used) * 6


def _written(value: str) -> set[str]:
    """The ways in which a value is written in logs: as it is, in JSON, in a repr, in an address."""
    inner = json.dumps(value)[1:-1]
    forms = {
        value,
        inner,
        json.dumps(inner)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        repr(value + "'\"")[1:-4],
    }
    whole = _whole(value)
    forms.add(repr(whole.encode())[2:-1])
    forms |= {whole, quote(whole), quote(whole, safe=""), quote_plus(whole)}
    return {form for form in forms if len(form) >= SHORTEST_VALUE}


def _key_spans(text: str) -> Iterator[tuple[int, int]]:
    """Private key blocks; one without an end reaches to the end of the text."""
    at = 0
    while begin := _KEY_BEGIN.search(text, at):
        end = _KEY_END.search(text, begin.end())
        at = end.end() if end else len(text)
        yield begin.start(), at


def _header_span(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    if found["cookie"]:
        yield found.span("cookie")
        return
    word: str = found["held"] or found["word"] or ""
    sure = found["scheme"] or (found["bearer"] and not found["bearer"].islower())
    if word and (_PROSE_AFTER_SCHEME.fullmatch(word) or (not sure and _is_prose(word))):
        return
    yield found.span("held" if found["bearer"] else "auth")


def _named_span(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    bare: str | None = found["bare"]
    if bare is None:
        group = next(name for name in ("double", "single", "escaped") if found[name])
        yield found.span(group)
        return
    kept = bare.rstrip(")]}")
    if not kept or kept in ("{", "[", "(") or kept.lower() in _NOTHING:
        return
    tight = found["sep"] == "=" or found["sep"].startswith("%")
    # Machines make tokens and keys: a plain word after "token:" is prose or code. A person's password may be one.
    if found["people"] or tight or not _is_prose(kept):
        yield found.start("bare"), found.start("bare") + len(kept)


def _is_prose(word: str) -> bool:
    return len(word) < 20 and not _DIGIT.search(word)


def _whole(text: str) -> str:
    """`text` with lone surrogates replaced, so that any stream can take it."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _shown(content: object) -> str:
    """`repr`, or what is left to say of an object whose `repr` fails."""
    try:
        return repr(content)
    except Exception as error:
        return f"<{type(content).__name__}: its repr raised {type(error).__name__}>"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: at, level, logger, message; exception and stack if any; then the extra fields.

    It never raises: what can't be formatted is said in the line.
    """

    def __init__(self, masker: Masker) -> None:
        super().__init__()
        self._masker = masker
        self._standard = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}

    def format(self, record: logging.LogRecord) -> str:
        """The line, without a line end."""
        fields = {"message": _message(record)}
        if record.exc_info and record.exc_info[1] is not None:
            fields["exception"] = _traceback(record.exc_info[1])
        elif record.exc_text:
            fields["exception"] = record.exc_text
        if record.stack_info:
            fields["stack"] = record.stack_info
        line: dict[str, object] = {
            "at": _iso(record.created),
            "level": record.levelname,
            "logger": self._masker.mask(_whole(record.name)),
            **{name: self._masker.mask(_whole(text)) for name, text in fields.items()},
        }
        for name, content in vars(record).items():
            if name not in self._standard:
                key = self._masker.mask(_whole(str(name)))
                line[key if key not in line else f"extra_{key}"] = self._masker.field(name, content)
        cut = 0
        for name, content in line.items():
            if isinstance(content, str) and len(content) > LONGEST_FIELD:
                line[name] = content[:LONGEST_FIELD]
                cut += len(content) - LONGEST_FIELD
        if cut:
            line["cut"] = cut
        return json.dumps(line)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:
        template = record.msg if isinstance(record.msg, str) else _shown(record.msg)
        arguments = cast(object, record.args)
        return f"{template} (its arguments don't fit, {type(error).__name__}: {_shown(arguments)})"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error)).rstrip("\n")
    except Exception as failed:
        return f"{type(error).__name__} (its traceback can't be shown: {type(failed).__name__})"


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to the stream. A line that can't be written is not shown anywhere else, where nothing would mask it."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        kind = sys.exc_info()[0]
        try:
            sys.stderr.write(f"A log line couldn't be written ({kind.__name__ if kind else 'unknown'}).\n")
        except (OSError, ValueError, AttributeError):
            return  # no standard error either: nobody is left to tell


def configure(stream: TextIO, level: int | str, masker: Masker) -> None:
    """Make the root logger write masked JSON lines to `stream`, and nothing else, from `level` up.

    Handlers that the root logger had are taken off, since they would write unmasked. Raises ValueError for a level that
    logging doesn't know.
    """
    handler = _Handler(stream)
    handler.setFormatter(JsonFormatter(masker))
    root = logging.getLogger()
    root.setLevel(level)
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    logging.captureWarnings(True)
