"""The canonical form, the cleaning of text, keys and ids."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger.records import Said, draft, record

from relay.errors import BadInteraction
from relay.ledger.canonical import MAX_INTEGER, canonical, clean_text
from relay.ledger.interaction import (
    MAX_PAYLOAD,
    Draft,
    Interaction,
    Payload,
    digest_of,
    identify,
    key_of,
    prepare,
)

# -- the canonical form -----------------------------------------------------------------------------------------------

SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def jcs(value: Any) -> str:
    """RFC 8785, written from its text and from nothing of ours: sections 3.2.2 (values) and 3.2.3 (order of keys)."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + "".join(SHORT.get(c, f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    in_order = sorted(value, key=lambda key: key.encode("utf-16-be"))
    return "{" + ",".join(f"{jcs(key)}:{jcs(value[key])}" for key in in_order) + "}"


text = st.text(st.characters(exclude_categories=["Cs"]))
ascii_keys = st.text(st.characters(max_codepoint=127), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(ascii_keys, inner, max_size=5),
    max_leaves=20,
)


@given(values)
def test_the_canonical_form_is_that_of_rfc_8785(value: Any):
    assert canonical(value) == jcs(value).encode()
    assert json.loads(canonical(value)) == value


@given(st.characters(exclude_categories=["Cs"]))
def test_every_character_is_written_as_rfc_8785_writes_it(char: str):
    assert canonical(char) == jcs(char).encode()


def test_control_characters_and_separators_are_written_as_rfc_8785_writes_them():
    every = "".join(map(chr, range(0x100))) + "\u2028\u2029\ufeff\uffff\U0001f600"
    assert canonical(every) == jcs(every).encode()


@given(st.dictionaries(ascii_keys, st.integers(0, 9)), st.randoms())
def test_the_order_in_which_keys_were_set_does_not_show(value: dict[str, int], rng: Any):
    shuffled = list(value.items())
    rng.shuffle(shuffled)
    assert canonical(dict(shuffled)) == canonical(value)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


REFUSED = [
    0.0,
    1.0,
    -0.5,
    float("nan"),
    float("inf"),
    {"a": [1, {"b": 1.5}]},
    2**53,
    -(2**53),
    2**70,
    {"ä": 1},
    {"a": {"\ud800": 1}},
    {1: 2},
    "\ud800",
    ["ok", "a\udfffb"],
    b"bytes",
    {1, 2},
    pytest.param(object(), id="an object"),
    nested(33),
]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: repr(value)[:30])
def test_what_has_no_single_form_is_refused(value: Any):
    with pytest.raises(BadInteraction) as refused:
        canonical(value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) > 20


def test_the_edges_of_the_domain_are_inside():
    assert canonical(2**53 - 1) == b"9007199254740991"
    assert canonical(-(2**53) + 1) == b"-9007199254740991"
    assert canonical(nested(32))
    assert canonical(()) == canonical([]) == b"[]"


# -- text -------------------------------------------------------------------------------------------------------------

any_text = st.text(st.characters() | st.sampled_from("\r\n\0\ud83d\ude00\udc00"))


@given(any_text)
def test_cleaned_text_is_always_inside_the_domain(raw: str):
    cleaned = clean_text(raw)
    canonical(cleaned)
    assert "\r" not in cleaned
    assert "\0" not in cleaned
    assert clean_text(cleaned) == cleaned


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")))
def test_clean_text_is_left_as_it_is(raw: str):
    assert clean_text(raw) == raw


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\r\nb\rc\n\r\nd", "a\nb\nc\n\nd"),
        ("a\0b", "ab"),
        ("\r\0\n", "\n\n"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
    ],
)
def test_text_is_cleaned_so(raw: str, cleaned: str):
    assert clean_text(raw) == cleaned


# -- keys and ids -----------------------------------------------------------------------------------------------------

parts = st.lists(st.text(st.sampled_from("a/%2F5é"), max_size=4) | st.integers(-3, 30), max_size=4)


@given(parts, parts)
def test_two_lists_of_parts_never_make_one_key(one: list[str | int], other: list[str | int]):
    same = [str(p) for p in one] == [str(p) for p in other]
    assert (key_of("a.b", one) == key_of("a.b", other)) == same


def test_a_key_begins_with_its_verb():
    assert key_of("turn.prompted", ["a/b", 3, "50%"]) == "turn.prompted/a%2Fb/3/50%25"
    assert key_of("turn.prompted", []) == "turn.prompted"


def test_ids_are_what_they_were_when_the_ledger_was_first_written():
    """Another value here means that every ledger that exists stops verifying."""
    made = prepare(
        Draft.of(Said(text="héllo 😀\n", number=-7), "n/1", actor="ada", role="owner", scope="web:main"),
        at=1,
        salt=bytes(range(16)),
    )
    assert made.raw == '{"number":-7,"text":"héllo 😀\\n"}'.encode()
    assert made.digest.hex() == DIGEST
    assert made.id == ID
    causes = ["ab" * 32, "cd" * 32]
    caused = identify("a.b", "a.b/1", "rule:x", "system", "s", causes, 2, b"\1" * 32)
    assert caused == CAUSED


DIGEST = "25e6a82aa9f294c029df1c998af2b92a1c0795811dd01f06acf976789b29c34f"
ID = "90ab56e8b6ce4cfd1edae9b8eabe2f0ecaac455dd910da976d11bfeb5fd6f3ec"
CAUSED = "15cd2d3f467a693cc83ac11b0beba3342fe57ce5da5221a021bd4c407ce06a38"


def test_an_id_covers_all_that_was_said_and_nothing_of_when_and_where():
    base = draft("a")
    id = prepare(base, at=1, salt=b"s" * 16).id
    assert prepare(base, at=2, salt=b"s" * 16).id == id
    changed = [
        draft("b"),
        draft("a", "other"),
        draft("a", scope="web:side"),
        draft("a", actor="ben"),
        Draft(base.payload, base.key, base.actor, "owner", base.scope),
        Draft(base.payload, base.key, base.actor, base.role, base.scope, ("ab" * 32,)),
    ]
    ids = {prepare(other, at=1, salt=b"s" * 16).id for other in changed}
    assert len(ids) == len(changed)
    assert id not in ids
    assert prepare(base, at=1, salt=b"t" * 16).id != id


@pytest.mark.parametrize(
    "field", ["verb", "key", "actor", "role", "scope", "caused_by", "version", "digest", "raw", "salt"]
)
def test_a_changed_record_does_not_verify(field: str):
    made = record("a", causes=["ab" * 32])
    assert made.verifies()
    other = {
        "caused_by": (),
        "version": 2,
        "digest": b"\0" * 32,
        "raw": b'{"number":0,"text":"x"}',
        "salt": b"z" * 16,
    }
    setattr(made, field, other.get(field, "other"))
    assert not made.verifies()


# -- what is refused at admission --------------------------------------------------------------------------------------


def test_a_payload_may_be_so_large_and_no_larger():
    room = MAX_PAYLOAD - len(canonical(Said(text="").model_dump()))
    prepare(draft("a", "x" * room), at=1, salt=b"")
    with pytest.raises(BadInteraction, match="more than a payload may hold"):
        prepare(draft("a", "x" * (room + 1)), at=1, salt=b"")


BAD_NAMES = {
    "a NUL in an outside id": {"outside": ("web:\0",)},
    "a lone surrogate in an outside id": {"outside": ("web:\ud800",)},
    "a NUL in the key": {"key": "test.said/\0"},
    "a lone surrogate in the key": {"key": "test.said/\ud800"},
    "a lone surrogate in the actor": {"actor": "\ud800"},
    "a NUL in the scope": {"scope": "web:\0"},
    "a key of another verb": {"key": "test.sai/a"},
    "a key that only begins alike": {"key": "test.saidx/a"},
    "a cause that is a name": {"caused_by": ("web:m1",)},
    "a cause in capitals": {"caused_by": ("AB" * 32,)},
    "a cause cut short": {"caused_by": ("ab" * 31,)},
    "a cause with a line end": {"caused_by": ("ab" * 32 + "\n",)},
}


@pytest.mark.parametrize("bad", BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_a_name_that_a_store_could_not_keep_is_refused(bad: dict[str, Any]):
    fields: dict[str, Any] = {"key": "test.said/a", "actor": "ada", "role": "system", "scope": "s"}
    with pytest.raises(BadInteraction):
        prepare(Draft(Said(text="x"), **(fields | bad)), at=1, salt=b"")


def test_a_payload_knows_no_other_fields_and_does_not_change():
    with pytest.raises(ValueError, match="extra"):
        Said(text="x", more=1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValueError, match="frozen"):
        Said(text="x").text = "y"  # pyright: ignore[reportAttributeAccessIssue]


# -- reading an older and a redacted payload ---------------------------------------------------------------------------


class Named(Payload):
    """Version 2 of a verb whose first version had one `name`."""

    VERB: ClassVar[str] = "test.named"
    VERSION: ClassVar[int] = 2
    first: str
    last: str

    @classmethod
    def upcast(cls, version: int, body: dict[str, Any]) -> dict[str, Any]:
        if version == 1:
            first, _, last = body["name"].partition(" ")
            return {"first": first, "last": last}
        return super().upcast(version, body)


def stored(version: int, body: dict[str, Any]) -> Interaction:
    """A record of `test.named` as an earlier relay wrote it."""
    raw, salt = canonical(body), b"s" * 16
    digest = digest_of(salt, raw)
    id = identify("test.named", "test.named/1", "ada", "human", "s", [], version, digest)
    return Interaction(
        seq=1,
        id=id,
        key="test.named/1",
        verb="test.named",
        actor="ada",
        role="human",
        scope="s",
        caused_by=(),
        version=version,
        digest=digest,
        at=1,
        salt=salt,
        raw=raw,
    )


def test_an_older_payload_is_read_in_todays_form_and_still_verifies():
    old = stored(1, {"name": "Ada Lovelace"})
    assert old.read(Named) == Named(first="Ada", last="Lovelace")
    assert old.body == {"name": "Ada Lovelace"}
    assert old.verifies()
    assert stored(2, {"first": "A", "last": "L"}).read(Named) == Named(first="A", last="L")


def test_a_payload_of_a_version_that_nobody_knows_is_refused():
    with pytest.raises(BadInteraction, match="version 3 is not known"):
        stored(3, {"first": "Ada"}).read(Named)


def test_a_malformed_payload_says_what_is_wrong_with_it():
    with pytest.raises(BadInteraction, match="can't be read: Field required"):
        stored(2, {"first": "Ada"}).read(Named)


def test_a_payload_is_read_only_as_its_own_verbs():
    with pytest.raises(BadInteraction, match=r"is no test\.named"):
        record("a").read(Named)


def test_a_redacted_record_still_verifies_and_has_no_text():
    made = record("a", "a secret")
    made.raw = made.salt = None
    assert made.redacted
    assert made.verifies()
    assert made.body == {}
    with pytest.raises(BadInteraction, match="was redacted"):
        made.read(Said)


def test_a_short_secret_can_not_be_guessed_from_a_redacted_record():
    """The digest is salted, and the salt goes with the payload."""
    raw = canonical(Said(text="1234").model_dump(mode="json"))
    made = prepare(draft("a", "1234"), at=1, salt=b"r" * 16)
    assert made.digest not in (digest_of(b"", raw), digest_of(bytes(16), raw))
