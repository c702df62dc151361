"""Bodies: JSON, or multipart with `payload_json` and `files[n]`; and what a message's body says."""

from __future__ import annotations

import json
import mimetypes
import re
from typing import Any

from aiohttp import web
from fakes.discord.errors import ApiError
from fakes.discord.model import Attachment, Json
from fakes.discord.posting import Draft
from fakes.discord.world import World

_FILE = re.compile(r"files\[(\d+)\]\Z")
_KEPT = re.compile(r"[^\w.()\[\]-]+")


async def read(world: World, request: web.Request) -> tuple[Any, list[Attachment]]:
    """(the JSON, the files). Raises 50109 for what is no JSON, 40005 past the largest body of all."""
    if request.content_type == "multipart/form-data":
        return await _multipart(world, request)
    raw = await request.read()
    return (_parsed(raw) if raw else None), []


def _parsed(raw: bytes | str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        raise ApiError(50109) from None


async def _multipart(world: World, request: web.Request) -> tuple[Any, list[Attachment]]:
    body: Any = None
    found: dict[int, Attachment] = {}
    form = await request.post()
    for name, value in form.items():
        if name == "payload_json":
            text = value if isinstance(value, str) else value.file.read()
            body = _parsed(text)
        elif (match := _FILE.match(name)) and isinstance(value, web.FileField):
            filename = filename_kept(value.filename)
            kind = value.content_type
            if kind in ("application/octet-stream", "", None):
                kind = mimetypes.guess_type(filename)[0]
            found[int(match.group(1))] = Attachment(world.ids.next(), filename, value.file.read(), kind)
    notes = body.get("attachments") if isinstance(body, dict) else None
    if not notes and isinstance(body, dict) and isinstance(body.get("message"), dict):
        notes = body["message"].get("attachments")
    for note in notes or []:
        number = str(note.get("id"))
        if not number.isdigit() or int(number) not in found:
            continue
        one = found[int(number)]
        one.filename = filename_kept(note.get("filename") or one.filename)
        one.description = note.get("description")
    return body, [found[index] for index in sorted(found)]


def filename_kept(name: str) -> str:
    """Folders are cut off, odd characters become underscores, as Discord does it."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return _KEPT.sub("_", last) or "unknown"


def draft(body: Json, files: list[Attachment]) -> Draft:
    """What a body says about a message to send."""
    return Draft(
        str(body.get("content") or ""),
        files,
        body.get("embeds") or [],
        body.get("components") or [],
        body.get("message_reference"),
        body.get("allowed_mentions"),
        body.get("nonce"),
        bool(body.get("enforce_nonce")),
        body.get("flags") or 0,
        body.get("sticker_ids") or [],
    )
