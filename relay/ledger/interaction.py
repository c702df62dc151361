"""One record of the ledger, and the draft that becomes one.

Identity is a key, never content: two drafts with one key are one fact, whatever their text. The id is the sha256 of
the canonical form of what was recorded (verb, key, actor, role, scope, causes, payload version, salted digest of the
payload), so the chain still verifies when a payload is redacted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

import orjson
from pydantic import BaseModel, ConfigDict, PlainSerializer, ValidationError

from relay.errors import BadInteraction
from relay.ledger.canonical import canonical, sha256

GONE_SALT = b"redacted payload"
"""Stands in the place of the salt of a payload whose texts were taken out: what is left is not what the digest is of,
and without the salt what was there can't be guessed back."""

MAX_PAYLOAD = 64 * 1024
"""Bytes of a canonical payload; what is larger is a blob, referenced by digest."""

_ID = re.compile(r"[0-9a-f]{64}\Z")

P = TypeVar("P", bound="Payload")


class Payload(BaseModel):
    """Base of every verb's payload: frozen, strict about unknown fields, versioned."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    VERB: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    TEXTS: ClassVar[Mapping[str, Any]] = {}
    """The fields that redaction empties → what then stands there. No fold may keep what stands in them for longer than
    the work lasts that they belong to."""

    @classmethod
    def emptied(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        """A body without its texts: the same body when it has none. It must still be read by the model. Pure."""
        return {name: cls.TEXTS.get(name, value) for name, value in body.items()}

    def blobs(self) -> tuple[str, ...]:
        """Digests of the blobs that hold a text of this payload; another payload with the same text names the same."""
        return ()

    @classmethod
    def upcast(cls, version: int, body: dict[str, Any]) -> dict[str, Any]:
        """An older body in today's form. Pure; the model that changes overrides it."""
        if version != cls.VERSION:
            raise BadInteraction(f"{cls.VERB}: version {version} is not known to this relay")
        return body


Position = Annotated[int, PlainSerializer(str, return_type=str)]
"""Where something stands in a surface's order. A surface's ids may be past 2^53, so it stands in a record as text."""


def key_of(verb: str, parts: Iterable[str | int]) -> str:
    """The idempotency key: the verb, then its parts; no two lists of parts give one key."""
    return "/".join([verb, *(str(part).replace("%", "%25").replace("/", "%2F") for part in parts)])


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody wants recorded. `outside` are ids by which the world knows it (a message id, a card)."""

    payload: Payload
    key: str
    actor: str
    role: str
    scope: str
    caused_by: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        payload: Payload,
        *parts: str | int,
        actor: str,
        role: str = "system",
        scope: str = "",
        caused_by: Iterable[str] = (),
        outside: Iterable[str] = (),
    ) -> Self:
        """A draft whose key is the payload's verb and these parts."""
        return cls(
            payload,
            key_of(payload.VERB, parts),
            actor,
            role,
            scope,
            tuple(caused_by),
            tuple(o for o in outside if o),
        )


class Interaction:
    """A record as the store gives it back. Immutable by convention; the payload is parsed once, on first use."""

    __slots__ = (
        "_parsed",
        "actor",
        "at",
        "caused_by",
        "digest",
        "id",
        "key",
        "outside",
        "raw",
        "role",
        "salt",
        "scope",
        "seq",
        "verb",
        "version",
    )

    def __init__(
        self,
        *,
        seq: int,
        id: str,
        key: str,
        verb: str,
        actor: str,
        role: str,
        scope: str,
        caused_by: tuple[str, ...],
        version: int,
        digest: bytes,
        at: int,
        salt: bytes | None,
        raw: bytes | None,
        outside: tuple[str, ...] = (),
    ) -> None:
        self.seq = seq
        self.id = id
        self.key = key
        self.verb = verb
        self.actor = actor
        self.role = role
        self.scope = scope
        self.caused_by = caused_by
        self.version = version
        self.digest = digest
        self.at = at
        self.salt = salt
        self.raw = raw
        self.outside = outside
        self._parsed: Payload | None = None

    def __repr__(self) -> str:
        return f"<{self.seq} {self.verb} {self.id[:10]} {self.scope}>"

    @property
    def redacted(self) -> bool:
        """True when the texts were taken out, or the whole payload; the record itself stays."""
        return self.raw is None or self.salt == GONE_SALT

    @property
    def body(self) -> Mapping[str, Any]:
        """The decoded payload as it was written; what is left of it when it was redacted."""
        return cast("Mapping[str, Any]", orjson.loads(self.raw)) if self.raw is not None else {}

    def read(self, model: type[P]) -> P:
        """The payload as `model`, of a redacted one without its texts. Raises `BadInteraction` when nothing of it is
        left, when it is another verb's, or malformed."""
        if isinstance(self._parsed, model):
            return self._parsed
        if self.raw is None:
            raise BadInteraction(f"{self.verb} {self.id[:10]} was redacted")
        if self.verb != model.VERB:
            raise BadInteraction(f"{self.verb} {self.id[:10]} is no {model.VERB}")
        try:
            if self.version == model.VERSION:
                parsed = model.model_validate_json(self.raw)
            else:
                parsed = model.model_validate(model.upcast(self.version, dict(self.body)))
        except ValidationError as error:
            raise BadInteraction(
                f"{self.verb} {self.id[:10]} can't be read: {error.errors()[0]['msg']}"
            ) from error
        self._parsed = parsed
        return parsed

    def emptied(self, residue: bytes, names: Collection[str] = ()) -> Interaction:
        """The record as it is once that residue stands for its payload and it is no longer known by those names."""
        return Interaction(
            seq=self.seq,
            id=self.id,
            key=self.key,
            verb=self.verb,
            actor=self.actor,
            role=self.role,
            scope=self.scope,
            caused_by=self.caused_by,
            version=self.version,
            digest=self.digest,
            at=self.at,
            salt=GONE_SALT,
            raw=residue,
            outside=tuple(name for name in self.outside if name not in names),
        )

    def verifies(self) -> bool:
        """True when the id is that of this record, and the payload (unless redacted) that of its digest."""
        if (
            self.raw is not None
            and not self.redacted
            and digest_of(self.salt or b"", self.raw) != self.digest
        ):
            return False
        return self.id == identify(
            self.verb, self.key, self.actor, self.role, self.scope, self.caused_by, self.version, self.digest
        )


def residue_of(i: Interaction, model: type[Payload]) -> bytes | None:
    """What is left of a payload without its texts, as long as it was; None when there is nothing to take out.

    The length is kept so that the store can write it over the old bytes in place: a row that moves leaves copies of its
    neighbours behind. Pure: the same record always gives the same residue. Raises `BadInteraction` when the model can't
    read what would be left.
    """
    if i.raw is None or i.redacted:
        return None
    body = i.body
    left = model.emptied(body)
    if left == body:
        return None
    raw = orjson.dumps(left, option=orjson.OPT_SORT_KEYS)
    if len(raw) > len(i.raw):
        raise BadInteraction(f"{i.verb} {i.id[:10]} would grow when its texts are taken out")
    if i.version == model.VERSION:
        model.model_validate_json(raw)
    return raw + b" " * (len(i.raw) - len(raw))


def digest_of(salt: bytes, body: bytes) -> bytes:
    """The salted digest: without the salt, which goes with the payload, a short text can't be guessed back."""
    return sha256(salt + body)


def identify(
    verb: str,
    key: str,
    actor: str,
    role: str,
    scope: str,
    caused_by: Iterable[str],
    version: int,
    digest: bytes,
) -> str:
    """The id of a record: lowercase hex of 32 bytes."""
    form = {
        "actor": actor,
        "causes": list(caused_by),
        "digest": digest.hex(),
        "key": key,
        "role": role,
        "scope": scope,
        "verb": verb,
        "version": version,
    }
    # The same bytes as `canonical` gives: these fields are inside its domain by their types, and `prepare` has refused
    # what isn't text. Looking again would be a fifth of an append.
    return sha256(orjson.dumps(form, option=orjson.OPT_SORT_KEYS)).hex()


def prepare(draft: Draft, *, at: int, salt: bytes) -> Interaction:
    """A draft as the record it will be (without its seq). Raises `BadInteraction` when it is outside the domain."""
    payload = draft.payload
    verb = payload.VERB
    if not draft.key.startswith(verb + "/") and draft.key != verb:
        raise BadInteraction(f"the key {draft.key!r} does not begin with its verb {verb}")
    names = (draft.key, draft.actor, draft.role, draft.scope, *draft.outside)
    if any("\0" in name or (not name.isascii() and _has_surrogates(name)) for name in names):
        raise BadInteraction(f"{verb}: {draft.key!r} has a name with a NUL or a lone surrogate in it")
    if not all(_ID.match(cause) for cause in draft.caused_by):
        raise BadInteraction(f"{verb}: the causes of {draft.key!r} are not all ids of interactions")
    raw = canonical(payload.model_dump(mode="json"))
    if len(raw) > MAX_PAYLOAD:
        raise BadInteraction(
            f"{verb}: {len(raw)} bytes are more than a payload may hold; put the text in a blob"
        )
    digest = digest_of(salt, raw)
    identity = identify(
        verb, draft.key, draft.actor, draft.role, draft.scope, draft.caused_by, payload.VERSION, digest
    )
    made = Interaction(
        seq=0,
        id=identity,
        key=draft.key,
        verb=verb,
        actor=draft.actor,
        role=draft.role,
        scope=draft.scope,
        caused_by=draft.caused_by,
        version=payload.VERSION,
        digest=digest,
        at=at,
        salt=salt,
        raw=raw,
        outside=tuple(dict.fromkeys((*draft.outside, *map(blob_name, payload.blobs())))),
    )
    # Not the draft's own object: what is folded live must be what a replay will parse.
    return made


def blob_name(digest: str) -> str:
    """The outside name under which the records are found that name a blob. It goes with their texts."""
    return f"blob:{digest}"


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
