"""The rules of the house, held by reading the source: who may import whom, and what no file may hold.

Floors from the ground up. A module imports only from floors under its own, or from its own room on its own
floor; on the floors of verbs and concepts a behaviour may import another's, without a circle.

    CLOCK      relay, relay.clock, relay.errors, relay.finding, relay.masking
    LEDGER     relay.ledger.*
    FURNITURE  relay.behaviours and the files right in it
    PURE       relay.texts*, relay.wording, permissions.profile, watch_supervisor.spec, .gate, notebook_bridge.model
    VERBS      behaviours' verbs.py, relay.config, relay.workspaces (opening files in a room's folder)
    CONCEPTS   behaviours' concept.py and their other pure files, the rest of relay.permissions, the two ports
    RULES      behaviours' synchronizations.py, relay.perception, relay.parts (what reconcilers are given)
    ACTING     behaviours' reconciler.py, the adapters in relay.surfaces and relay.agents, relay.tools
    APP        relay.app, relay.cli, relay.doctor, relay.history, relay.redact, relay.script, relay.send, relay.verify
"""

import ast
import itertools
import re
import tomllib
from collections.abc import Iterator
from enum import IntEnum, auto
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("relay", "watch_supervisor", "notebook_bridge")
MEASURED = (*PACKAGES, "tests", "benchmarks")
WRITTEN = {".py", ".js", ".css", ".html", ".sql"}
LONGEST_FILE = 500
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}

# What a pure module never imports: whatever waits, reads a clock, rolls dice, touches files or the network.
# fmt: off
IMPURE = {
    "aiosqlite", "anyio", "asyncio", "concurrent", "fcntl", "glob", "http", "httpx", "io",
    "multiprocessing", "os", "random", "secrets", "select", "selectors", "shutil", "signal", "socket",
    "sqlite3", "ssl", "starlette", "subprocess", "tempfile", "threading", "time", "trio",
    "urllib.request", "uuid", "uvicorn",
}
# fmt: on
PURE_PATHS = {"PurePath", "PurePosixPath", "PureWindowsPath"}
IMPURE_CALLS = {"open", "input", "print"}
CLOCK_READS = {"now", "utcnow", "today"}
ASYNC = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
MUTABLE = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
MUTABLE_CALLS = {"dict", "list", "set", "bytearray", "defaultdict", "deque", "OrderedDict", "Counter"}


class Floor(IntEnum):
    """Higher stands on lower."""

    CLOCK = auto()
    LEDGER = auto()
    FURNITURE = auto()
    PURE = auto()
    VERBS = auto()
    CONCEPTS = auto()
    RULES = auto()
    ACTING = auto()
    APP = auto()


class Place(NamedTuple):
    """Where a module stands: modules of one room know each other's insides."""

    floor: Floor
    room: str
    behaviour: bool = False


class House:
    """The modules under `root`, parsed, and what in them breaks a rule."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = {
            self._name(path): path for top in PACKAGES for path in sorted((root / top).rglob("*.py"))
        }
        self.trees = {name: ast.parse(path.read_text("utf-8")) for name, path in self.files.items()}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _is_package(self, module: str) -> bool:
        return module in self.files and self.files[module].name == "__init__.py"

    def place(self, module: str) -> Place | None:
        """The place of a module; None for one that the architecture gives no floor."""
        match module.split("."):
            case ["relay"] | ["relay", "clock" | "errors" | "finding" | "masking"]:
                return Place(Floor.CLOCK, "clock")
            case ["relay", "ledger", *_]:
                return Place(Floor.LEDGER, "ledger")
            case ["relay", "behaviours", *rest] if not rest or (
                len(rest) == 1 and not self._is_package(module)
            ):
                return Place(Floor.FURNITURE, "furniture")
            case ["relay", "behaviours", name, *rest]:
                kind = rest[0].split("_")[0] if rest else "reconciler"
                kinds = {"verbs": Floor.VERBS, "synchronizations": Floor.RULES, "reconciler": Floor.ACTING}
                return Place(kinds.get(kind, Floor.CONCEPTS), f"behaviour {name}", behaviour=True)
            case ["relay", name] if name.startswith("texts") or name == "wording":
                return Place(Floor.PURE, "texts")
            case ["relay", "permissions", "profile"]:
                return Place(Floor.PURE, module)
            case ["watch_supervisor" as package, "spec" | "gate"] | ["notebook_bridge" as package, "model"]:
                return Place(Floor.PURE, package)
            case ["relay", name] if name == "config" or name.startswith("config_"):
                return Place(Floor.VERBS, "config")
            case ["relay", "workspaces"]:
                return Place(Floor.VERBS, module)
            case ["relay", "parts"]:
                return Place(Floor.RULES, module)
            case ["relay", "permissions", *_]:
                return Place(Floor.CONCEPTS, "permissions")
            case ["relay", "surfaces"] | ["relay", "surfaces", "surface"]:
                return Place(Floor.CONCEPTS, "surfaces")
            case ["relay", "agents"] | ["relay", "agents", "runtime"]:
                return Place(Floor.CONCEPTS, "agents")
            case ["relay", "perception", *_]:
                return Place(Floor.RULES, "perception")
            case ["relay", "surfaces" | "agents" as port, adapter, *_]:
                return Place(Floor.ACTING, f"{port} {adapter.split('_')[0]}")
            case ["relay", "tools", *_]:
                return Place(Floor.ACTING, "tools")
            case [
                "relay",
                "app" | "cli" | "doctor" | "history" | "redact" | "script" | "send" | "verify" | "__main__",
                *_,
            ]:
                return Place(Floor.APP, "app")
            case ["watch_supervisor" | "notebook_bridge" as package, *_]:
                return Place(Floor.ACTING, package)
            case _:
                return None

    def imports(self, module: str) -> Iterator[tuple[int, str]]:
        """(line, dotted name) of each import; ours are resolved to the module that is meant."""
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                here = module.split(".") if self._is_package(module) else module.split(".")[:-1]
                up = here[: len(here) - node.level + 1] if node.level else []
                base = ".".join([*up, *([node.module] if node.module else [])])
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    outside_paths = base == "pathlib" and alias.name in PURE_PATHS
                    yield node.lineno, inner if inner in self.files or outside_paths else base

    def ours(self, module: str) -> Iterator[tuple[int, str]]:
        return ((line, name) for line, name in self.imports(module) if name.split(".")[0] in PACKAGES)

    # ---- who may import whom

    def directions(self) -> Iterator[str]:
        borrowed: dict[tuple[Floor, str], set[tuple[Floor, str]]] = {}
        for module in self.trees:
            mine = self.place(module)
            if mine is None:
                yield f"{module}: no floor is known for it; give it one in the architecture and here"
                continue
            for line, target in self.ours(module):
                its = self.place(target)
                if its is None:
                    continue
                if problem := self._problem(module, mine, target, its):
                    yield f"{module}:{line} imports {target}: {problem}"
                elif mine.floor == its.floor and mine.room != its.room:
                    borrowed.setdefault((mine.floor, mine.room), set()).add((its.floor, its.room))
        try:
            TopologicalSorter(borrowed).prepare()
        except CycleError as error:
            rooms = " → ".join(room for _, room in error.args[1])
            yield f"{error.args[1][0][0].name.lower()} import each other in a circle: {rooms}"

    def _problem(self, module: str, mine: Place, target: str, its: Place) -> str | None:
        package, other = module.split(".")[0], target.split(".")[0]
        if package != "relay":
            return None if package == other else f"{package} stands alone"
        if other != "relay" and its.floor is not Floor.PURE:
            reconciler = mine.behaviour and mine.floor is Floor.ACTING
            allowed = reconciler or mine.room == "tools" or module == "relay.app"
            return None if allowed else f"only reconcilers, tools and the app import {other}"
        if mine.room == its.room:
            return "a lower floor can't know a higher one" if its.floor > mine.floor else None
        if mine.behaviour and its.behaviour and its.floor > Floor.CONCEPTS:
            return "another behaviour's rules and acting are its own; meet through the ledger"
        if its.floor == mine.floor:
            shared = mine.behaviour and its.behaviour and mine.floor in (Floor.VERBS, Floor.CONCEPTS)
            return None if shared else "two rooms of one floor don't know each other"
        return "a lower floor can't know a higher one" if its.floor > mine.floor else None

    # ---- what is pure stays pure

    def pure(self) -> set[str]:
        """The modules that may neither wait nor look at the world, and what such a spec or gate leans on."""
        found = {
            module
            for module in self.trees
            if (its := self.place(module)) is not None
            and (
                its.floor is Floor.PURE
                or (its.behaviour and its.floor < Floor.ACTING)
                or its.room == "perception"
            )
        }
        waiting = [module for module in found if not module.startswith("relay")]
        while waiting:
            for _, target in self.ours(waiting.pop()):
                if target not in found and target in self.trees and not target.startswith("relay"):
                    found.add(target)
                    waiting.append(target)
        return found

    def _impure_imports(self, module: str) -> Iterator[tuple[int, str]]:
        for line, name in self.imports(module):
            if name == "pathlib" or any(name == bad or name.startswith(f"{bad}.") for bad in IMPURE):
                yield line, name

    def impurities(self) -> Iterator[str]:
        for module in sorted(self.pure()):
            for line, name in self._impure_imports(module):
                yield f"{module}:{line} is pure and imports {name}"
            for line, target in self.ours(module):
                its = self.place(target)
                if its and its.floor <= Floor.LEDGER and any(self._impure_imports(target)):
                    yield f"{module}:{line} is pure and imports {target}, which isn't"
            for node in ast.walk(self.trees[module]):
                if isinstance(node, ASYNC):
                    yield f"{module}:{node.lineno} is pure and awaits"
                elif isinstance(node, ast.Call):
                    name = called(node)
                    if name in (IMPURE_CALLS if isinstance(node.func, ast.Name) else CLOCK_READS):
                        yield f"{module}:{node.lineno} is pure and calls {name}()"

    # ---- what no file holds

    def habits(self) -> Iterator[str]:
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and called(node) in ("create_task", "ensure_future"):
                    yield f"{module}:{node.lineno} starts a task without an owner: {called(node)}"
                elif isinstance(node, ast.ExceptHandler) and swallows(node):
                    yield f"{module}:{node.lineno} swallows every error"
                elif isinstance(node, ast.Global):
                    yield f"{module}:{node.lineno} keeps state in the module: global {', '.join(node.names)}"
            for line, name in mutable_names(tree):
                yield f"{module}:{line} keeps state in the module: {name}"

    def files_and_names(self) -> Iterator[str]:
        for top in MEASURED:
            for path in sorted((self.root / top).rglob("*")):
                where = path.relative_to(self.root)
                if path.stem in FORBIDDEN_NAMES:
                    yield f"{where}: name it after what it holds"
                if path.suffix in WRITTEN and "data" not in where.parts:
                    length = len(path.read_bytes().splitlines())
                    if length >= LONGEST_FILE:
                        yield f"{where} has {length} lines; split it below {LONGEST_FILE}"

    def findings(self) -> list[str]:
        return [*self.directions(), *self.impurities(), *self.habits(), *self.files_and_names()]


def called(node: ast.Call) -> str:
    """The last part of the name of what is called, or nothing."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether it catches every error there is and does nothing with it."""
    broad = handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )
    return broad and all(
        isinstance(step, ast.Pass) or (isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant))
        for step in handler.body
    )


def mutable_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names at module level that hold what can change: any in lower case, in capitals an empty one."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        value, targets = node.value, node.targets if isinstance(node, ast.Assign) else [node.target]
        call = isinstance(value, ast.Call) and called(value) in MUTABLE_CALLS
        if not call and not isinstance(value, MUTABLE):
            continue
        empty = not any(True for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr))
        empty = empty or (isinstance(value, ast.Call) and not value.args and not value.keywords)
        for target in targets:
            if (
                isinstance(target, ast.Name)
                and not target.id.startswith("__")
                and (empty or not target.id.isupper())
            ):
                yield node.lineno, target.id


def test_every_import_goes_down() -> None:
    assert list(House(ROOT).directions()) == []


def test_what_is_pure_neither_waits_nor_looks() -> None:
    assert list(House(ROOT).impurities()) == []


def test_no_task_without_an_owner_no_swallowed_error_no_state_in_a_module() -> None:
    assert list(House(ROOT).habits()) == []


def test_files_are_short_and_named_after_what_they_hold() -> None:
    assert list(House(ROOT).files_and_names()) == []


def test_the_house_that_is_read_is_the_real_one() -> None:
    house = House(ROOT)
    assert set(PACKAGES) <= set(house.trees)
    assert {name for name in house.trees if name not in PACKAGES}


def test_every_pin_is_one_exact_version_and_no_file_names_an_index() -> None:
    pins: dict[str, set[str]] = {}
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            if line and not line.startswith(("#", "-r ")):
                found = re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][A-Za-z0-9.]*)(; [^;]+)?", line)
                assert found, f"{path.name}: {line}"
                pins.setdefault(re.sub(r"[-_.]+", "-", found[1]).lower(), set()).add(found[2])
    assert {name: versions for name, versions in pins.items() if len(versions) > 1} == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    ranges = [*project["project"]["dependencies"], *itertools.chain(*project["dependency-groups"].values())]
    named = {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=]", each)[0]).lower() for each in ranges}
    assert named - set(pins) == set()


# ---- the test can fail

SOUND = {
    "relay/__init__.py": "",
    "relay/clock.py": "import time\nimport anyio\n",
    "relay/errors.py": "",
    "relay/ledger/__init__.py": "",
    "relay/ledger/interaction.py": "from relay.errors import Bad\n",
    "relay/ledger/store.py": "import aiosqlite\n",
    "relay/texts.py": "from relay.errors import Bad\nWORDS = {'en': 'hello'}\n",
    "relay/config.py": "import os\nfrom watch_supervisor.spec import Spec\n",
    "relay/behaviours/__init__.py": "",
    "relay/behaviours/furniture.py": "from relay.ledger.interaction import Interaction\n",
    "relay/behaviours/turns/__init__.py": "",
    "relay/behaviours/turns/verbs.py": "from relay.behaviours.intake.verbs import Message\n",
    "relay/behaviours/turns/concept.py": "from . import verbs\nfrom pathlib import PurePosixPath\n",
    "relay/behaviours/turns/lanes.py": "from .concept import Turns\n",
    "relay/behaviours/turns/synchronizations.py": "from relay.behaviours.intake.concept import Intake\n",
    "relay/behaviours/turns/reconciler.py": "import watch_supervisor\nfrom .synchronizations import rule\n",
    "relay/behaviours/intake/__init__.py": "",
    "relay/behaviours/intake/verbs.py": "",
    "relay/behaviours/intake/concept.py": "from watch_supervisor.gate import Gate\n",
    "relay/behaviours/intake/synchronizations.py": "",
    "relay/behaviours/intake/reconciler.py": "from relay.perception.framing import frame\n",
    "relay/perception/__init__.py": "",
    "relay/perception/framing.py": "",
    "relay/surfaces/__init__.py": "",
    "relay/surfaces/surface.py": "",
    "relay/surfaces/web/__init__.py": "",
    "relay/surfaces/web/page.py": "from relay.surfaces.surface import Surface\nfrom . import routes\n",
    "relay/surfaces/web/routes.py": "",
    "relay/agents/__init__.py": "",
    "relay/agents/scripted.py": "from relay.agents.scripted_lines import Line\n",
    "relay/agents/scripted_lines.py": "",
    "relay/app.py": "import relay.behaviours.turns.reconciler\nimport watch_supervisor.supervisor\n",
    "watch_supervisor/__init__.py": "",
    "watch_supervisor/spec.py": "from watch_supervisor.moments import moment\n",
    "watch_supervisor/gate.py": "",
    "watch_supervisor/moments.py": "from datetime import time\n",
    "watch_supervisor/supervisor.py": "import anyio\nfrom watch_supervisor.spec import Spec\n",
    "notebook_bridge/__init__.py": "",
}

BROKEN = [
    ("relay/clock.py", "import relay.ledger.store", "a lower floor"),
    ("relay/ledger/store.py", "from relay import texts", "a lower floor"),
    ("relay/behaviours/furniture.py", "import relay.behaviours.turns.verbs", "a lower floor"),
    ("relay/behaviours/turns/verbs.py", "from .concept import Turns", "a lower floor"),
    ("relay/behaviours/turns/verbs.py", "import relay.config", "two rooms of one floor"),
    ("relay/behaviours/turns/concept.py", "from .synchronizations import rule", "a lower floor"),
    (
        "relay/behaviours/turns/concept.py",
        "from relay.behaviours.intake.synchronizations import rule",
        "its own",
    ),
    ("relay/behaviours/turns/synchronizations.py", "from ..intake.synchronizations import rule", "its own"),
    (
        "relay/behaviours/turns/synchronizations.py",
        "import relay.perception.framing",
        "two rooms of one floor",
    ),
    (
        "relay/behaviours/turns/reconciler.py",
        "from relay.behaviours.intake.synchronizations import r",
        "its own",
    ),
    (
        "relay/behaviours/turns/reconciler.py",
        "from relay.behaviours.intake.reconciler import Intake",
        "its own",
    ),
    ("relay/behaviours/turns/reconciler.py", "def late():\n    import relay.agents.scripted", "two rooms"),
    ("relay/behaviours/turns/reconciler.py", "from relay.app import run", "a lower floor"),
    ("relay/behaviours/intake/verbs.py", "from relay.behaviours.turns.verbs import Turn", "in a circle"),
    ("relay/agents/scripted.py", "from relay.surfaces.web.page import Page", "two rooms of one floor"),
    ("relay/surfaces/surface.py", "from relay.surfaces.web.page import Page", "a lower floor"),
    ("relay/surfaces/web/page.py", "from watch_supervisor.supervisor import Supervisor", "only reconcilers"),
    ("relay/behaviours/turns/concept.py", "import watch_supervisor.moments", "only reconcilers"),
    ("watch_supervisor/supervisor.py", "from relay.clock import Clock", "watch_supervisor stands alone"),
    ("notebook_bridge/__init__.py", "import relay", "notebook_bridge stands alone"),
    ("notebook_bridge/__init__.py", "import watch_supervisor.spec", "notebook_bridge stands alone"),
    ("relay/odds_and_ends.py", "", "no floor is known"),
    ("relay/behaviours/turns/concept.py", "async def f(): ...", "is pure and awaits"),
    ("relay/behaviours/turns/synchronizations.py", "import anyio.abc", "is pure and imports anyio"),
    ("relay/behaviours/turns/concept.py", "from time import monotonic", "is pure and imports time"),
    ("relay/behaviours/turns/concept.py", "import os.path", "is pure and imports os"),
    ("relay/behaviours/turns/concept.py", "from pathlib import Path", "is pure and imports pathlib"),
    ("relay/behaviours/turns/lanes.py", "import random", "is pure and imports random"),
    ("relay/behaviours/turns/lanes.py", "import sqlite3", "is pure and imports sqlite3"),
    ("relay/behaviours/turns/concept.py", "from relay.clock import Clock", "relay.clock, which isn't"),
    ("relay/behaviours/turns/concept.py", "x = datetime.now(UTC)", "is pure and calls now()"),
    ("relay/perception/framing.py", "x = open('f')", "is pure and calls open()"),
    ("watch_supervisor/moments.py", "import asyncio", "is pure and imports asyncio"),
    ("relay/app.py", "asyncio.create_task(f())", "without an owner"),
    ("relay/app.py", "asyncio.ensure_future(f())", "without an owner"),
    ("relay/app.py", "try:\n    f()\nexcept Exception:\n    pass", "swallows every error"),
    ("relay/app.py", "try:\n    f()\nexcept:\n    ...", "swallows every error"),
    ("relay/app.py", "seen = []", "keeps state in the module: seen"),
    ("relay/app.py", "seen: dict[str, int] = defaultdict(int)", "keeps state in the module: seen"),
    ("relay/app.py", "CACHE = {}", "keeps state in the module: CACHE"),
    ("relay/app.py", "def f():\n    global count\n    count = 1", "keeps state in the module: global count"),
    ("relay/helpers.py", "", "name it after what it holds"),
    ("tests/test_long.py", "x = 1\n" * LONGEST_FILE, "split it below"),
]


def build(root: Path, files: dict[str, str]) -> House:
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return House(root)


def test_a_sound_house_has_no_finding(tmp_path: Path) -> None:
    assert build(tmp_path, SOUND).findings() == []


@pytest.mark.parametrize(("file", "line", "finding"), BROKEN)
def test_each_broken_rule_is_found(tmp_path: Path, file: str, line: str, finding: str) -> None:
    found = build(tmp_path, SOUND | {file: SOUND.get(file, "") + line + "\n"}).findings()
    assert any(finding in each for each in found), found
