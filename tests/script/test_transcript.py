"""What the transcript shows, and what an expectation can find in it."""

from datetime import UTC
from typing import Any

from relay.script.steps import LAST
from relay.script.transcript import Transcript


def message(number: int, text: str, *, ours: bool = True, **more: Any) -> dict[str, Any]:
    name = "scout" if ours else "ada"
    return {
        "id": f"m{number}",
        "position": number,
        "place": "main",
        "ours": ours,
        "person": {"id": name, "name": name},
        "text": text,
        "reply_to": None,
        "files": [],
        "card": "",
        "choices": [],
        "card_open": False,
        "chosen": {},
        "sent_at": 0,
        "edited_at": None,
        "reactions": [],
    } | more


def made() -> tuple[Transcript, list[str]]:
    shown: list[str] = []
    return Transcript(shown.append, UTC), shown


def test_a_text_can_do_nothing_to_the_terminal() -> None:
    transcript, shown = made()
    transcript.message(message(1, "a\x1b[2Jb\u202ec\nd"), 0)
    assert shown == ["00:00:00  main  scout: a·[2Jb·c\n          d"]


def test_a_message_that_is_told_twice_is_shown_once() -> None:
    transcript, shown = made()
    transcript.message(message(1, "a"), 0)
    transcript.hear({"kind": "message", "message": message(1, "a")}, 0)
    assert len(shown) == len(transcript.sightings) == 1


def test_a_change_is_a_sighting_of_what_it_adds() -> None:
    transcript, shown = made()
    choices = [{"value": "allow", "label": "Allow"}]
    transcript.message(message(1, "May I?", card="c", card_open=True, choices=choices), 0)
    transcript.message(message(2, "other"), 0)
    transcript.hear({"kind": "edited", "message": message(1, "May I?\nAllowed by you", card="c")}, 0)
    assert transcript.find("main", "Allowed", None, 2) == 2
    assert transcript.find("main", "May I?", None, 1) is None
    assert transcript.count("main", "May I?", None) == 1
    assert "[Allow]" in shown[0]
    assert "[closed]: Allowed by you" in shown[2]


def test_a_text_that_was_written_anew_is_shown_whole() -> None:
    transcript, shown = made()
    transcript.message(message(1, "say A", ours=False), 0)
    transcript.hear({"kind": "edited", "message": message(1, "say A2", ours=False)}, 0)
    assert shown[1] == "00:00:00  main  ada changed «say A»: say A2"
    assert transcript.find("main", "say A2", "ada", 1) == 1


def test_what_a_click_was_answered_is_shown() -> None:
    transcript, shown = made()
    told = {"place": "main", "message": "m1", "person": "ada", "text": "Not yours."}
    transcript.hear({"kind": "answered", **told}, 0)
    assert shown == ["00:00:00  main  ⚠️ to ada: Not yours."]


def test_what_people_say_is_no_answer_unless_it_is_asked_for() -> None:
    transcript, _ = made()
    transcript.message(message(1, "hello", ours=False), 0)
    assert transcript.find("main", "hello", None, 0) is None
    assert transcript.find("main", "hello", "ada", 0) == 0
    assert (transcript.count("main", "hello", None), transcript.count("main", "hello", "ada")) == (0, 1)


def test_a_message_is_meant_by_its_whole_text_before_a_part_of_it_and_the_newest_first() -> None:
    transcript, _ = made()
    for number, text in enumerate(("stop", "stop it", "stop it now"), 1):
        transcript.message(message(number, text), 0)
    targets = [transcript.target("main", text) for text in ("stop", "it", LAST, "absent")]
    assert [target and target.told["id"] for target in targets] == ["m1", "m3", "m3", None]


def test_a_reaction_that_is_set_or_taken_back_is_shown() -> None:
    transcript, shown = made()
    transcript.message(message(1, "a"), 0)
    person = {"id": "owner", "name": "you"}
    told = {"kind": "reaction", "place": "main", "message": "m1"}
    transcript.hear(told | {"reactions": [{"emoji": "🛑", "people": [person]}]}, 0)
    assert transcript.reacted("main", "a", "🛑")
    transcript.hear(told | {"reactions": []}, 0)
    assert not transcript.reacted("main", LAST, "🛑")
    assert [line.partition("  main  ")[2] for line in shown[1:]] == [
        "🛑 by you on «a»",
        "🛑 by you on «a» (taken back)",
    ]
