"""Answers held against Discord's own description of its API (OpenAPI 3.1): which fields are missing or wrong."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

SPEC = Path(__file__).parents[2] / "data" / "discord-openapi.json"
_ROOT = "urn:discord"


class Conformity:
    """`misfits` has one sentence for each kind of answer that doesn't fit, `checked` the operations seen."""

    def __init__(self, spec: Path = SPEC) -> None:
        self._spec: dict[str, Any] = json.loads(spec.read_text("utf-8"))
        resource = Resource(contents=self._spec, specification=DRAFT202012)
        self._registry: Registry[Any] = Registry().with_resource(_ROOT, resource)
        self._validator = cache(self._new_validator)
        self.misfits: list[str] = []
        self.checked: set[str] = set()
        self.unknown: set[str] = set()

    def _new_validator(self, method: str, template: str, status: int) -> Draft202012Validator | None:
        operation = self._spec["paths"].get(template, {}).get(method.lower())
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
        return Draft202012Validator({"$ref": f"{_ROOT}#/{way}"}, registry=self._registry)

    def check(self, method: str, template: str, status: int, body: Any) -> None:
        """Notes what is wrong with one answer. Operations that the description lacks go to `unknown`."""
        name = f"{method} {template} {status}"
        validator = self._validator(method, template, status)
        if validator is None:
            self.unknown.add(name)
            return
        self.checked.add(name)
        worst = best_match(validator.iter_errors(body))
        if worst is not None:
            where = "/".join(str(part) for part in worst.absolute_path) or "the whole"
            said = f"{name}: {where}: {worst.message[:200]}"
            if said not in self.misfits:
                self.misfits.append(said)
