"""Which fields of a payload are texts stands where the payload is: a new one is taken out, or kept on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ledger.any_history import AnyHistory

from relay.behaviours import discover
from relay.ledger.interaction import Payload, prepare, residue_of

MODELS: Mapping[str, type[Payload]] = {m.VERB: m for b in discover() for m in b.furniture.verbs}
NAMED_LIKE_TEXTS = {"text", "quotes", "blob", "prompt", "command", "title"}
KEPT = {
    "channel.message.command": "one of our own words",
    "place.opened.title": "what people call a thread is no message",
    "turn.steered.prompt": "an id",
    "turn.withdrawn.prompt": "an id",
}


@pytest.mark.parametrize("verb", sorted(MODELS))
def test_a_field_that_looks_like_a_text_is_taken_out_or_kept_on_purpose(verb: str):
    model = MODELS[verb]
    named = {name for name in model.model_fields if name in NAMED_LIKE_TEXTS}
    assert {f"{verb}.{name}" for name in named - set(model.TEXTS)} <= set(KEPT)
    assert set(model.TEXTS) <= set(model.model_fields)


def test_what_is_left_of_any_payload_is_read_by_its_model_and_holds_no_text():
    made = 0
    for seed in range(30):
        for draft in AnyHistory(seed).drafts(60):
            i = prepare(draft, at=1, salt=b"s" * 16)
            model = MODELS[i.verb]
            raw = residue_of(i, model)
            if raw is None:
                continue
            made += 1
            left: Any = i.emptied(raw)
            assert len(raw) == len(i.raw or b"")
            assert left.verifies()
            payload = left.read(model)
            assert all(not getattr(payload, name) for name in model.TEXTS)
            assert residue_of(left, model) is None
    assert made > 300
