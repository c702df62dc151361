"""The check of the answers sees what is wrong with one."""

import copy

import pytest
from fakes.discord import guilds, message_payloads, posting
from fakes.discord.conformity import Conformity
from fakes.discord.model import Kind
from fakes.discord.world import World

MESSAGE = ("GET", "/channels/{channel_id}/messages/{message_id}", 200)


@pytest.fixture(scope="module")
def conformity() -> Conformity:
    return Conformity()


def _message() -> dict:
    world = World()
    ada = world.new_user("ada")
    room = guilds.add_channel(world, guilds.make(world, "Workshop", ada), Kind.TEXT, "build")
    return message_payloads.message(world, posting.post(world, ada, room, posting.Draft("hello")))


def test_a_good_answer_fits(conformity: Conformity) -> None:
    conformity.check(*MESSAGE, _message())
    assert conformity.misfits == []


@pytest.mark.parametrize("wrong", ["id", "author", "timestamp", "channel_id"])
def test_a_missing_or_wrong_field_is_named(conformity: Conformity, wrong: str) -> None:
    missing, odd = _message(), _message()
    del missing[wrong]
    odd[wrong] = 7
    for body in (missing, odd):
        before = copy.copy(conformity.misfits)
        conformity.check(*MESSAGE, body)
        [said] = [one for one in conformity.misfits if one not in before]
        assert wrong in said


def test_a_status_that_discord_never_gives_is_noticed(conformity: Conformity) -> None:
    before = len(conformity.misfits)
    conformity.check("POST", "/channels/{channel_id}/messages", 201, _message())
    assert len(conformity.misfits) == before + 1


def test_of_several_forms_the_one_that_was_meant_is_judged(conformity: Conformity) -> None:
    user = {"id": "1", "username": "ada", "avatar": None, "discriminator": "0", "public_flags": 0, "flags": 0}
    user |= {"global_name": None, "primary_guild": None}
    caption = {"id": "2", "type": 3, "user": user, "authorizing_integration_owners": {}}
    conformity.check(*MESSAGE, {**_message(), "interaction_metadata": caption})
    assert "'interacted_message_id' is a required property" in conformity.misfits[-1]
