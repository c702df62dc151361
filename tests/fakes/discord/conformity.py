"""Answers held against Discord's own description of its API (OpenAPI 3.1): which fields are missing or wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

SPEC = Path(__file__).parents[2] / "data" / "discord-openapi.json"
_ROOT = "urn:discord"


@cache
def description(spec: Path) -> Callable[[str, str, int], Draft202012Validator | None]:
    """Gives the check of an operation's answer; None for an operation that isn't described. Read once a process."""
    known: dict[str, Any] = json.loads(spec.read_text("utf-8"))
    resource = Resource(contents=known, specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(_ROOT, resource)

    @cache
    def validator(method: str, template: str, status: int) -> Draft202012Validator | None:
        operation = known["paths"].get(template, {}).get(method.lower())
        if operation is None:
            return None
        answer = operation["responses"].get(str(status))
        if answer is None:
            return Draft202012Validator({"not": {}})
        pointer = ["paths", template, method.lower(), "responses", str(status)]
        if "content" not in answer:
            return Draft202012Validator({"type": "null"})
        pointer += ["content", "application/json", "schema"]
        way = "/".join(part.replace("~", "~0").replace("/", "~1") for part in pointer)
        way = way.replace("{", "%7B").replace("}", "%7D")
        return Draft202012Validator({"$ref": f"{_ROOT}#/{way}"}, registry=registry)

    return validator


class Conformity:
    """`misfits` has one sentence for each kind of answer that doesn't fit, `checked` the operations seen."""

    def __init__(self, spec: Path = SPEC) -> None:
        self._description = description(spec)
        self.misfits: list[str] = []
        self.checked: set[str] = set()
        self.unknown: set[str] = set()

    def knows(self, method: str, template: str) -> bool:
        """Whether Discord describes this operation."""
        return self._description(method, template, 200) is not None

    def check(self, method: str, template: str, status: int, body: Any) -> None:
        """Notes what is wrong with one answer. Operations that the description lacks go to `unknown`."""
        name = f"{method} {template} {status}"
        validator = self._description(method, template, status)
        if validator is None:
            self.unknown.add(name)
            return
        self.checked.add(name)
        for error in validator.iter_errors(body):
            worst = innermost(error)
            where = "/".join(str(part) for part in worst.absolute_path) or "the whole"
            said = f"{name}: {where}: {worst.message[:200]}"
            if said not in self.misfits:
                self.misfits.append(said)


def innermost(error: ValidationError) -> ValidationError:
    """What is wrong in the alternative that was meant: the one whose `type` fits, else the one with fewest errors."""
    while error.context:
        branches: dict[Any, list[ValidationError]] = {}
        for one in error.context:
            branches.setdefault(one.schema_path[0], []).append(one)

        def rank(found: list[ValidationError]) -> tuple[bool, int]:
            other = any(one.absolute_path and one.absolute_path[-1] == "type" for one in found)
            return other or found[0].validator == "type", len(found)

        error = min(branches.values(), key=rank)[0]
    return error
