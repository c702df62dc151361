"""Taking a leaf away is deleting its folder: the trunk stands without it.

In a copy of the project a leaf's folder is deleted, with the leaves that lean on it and the modules at the edge that
speak of it alone; then the trunk's own tests run there, in a process of their own.
"""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("relay", "watch_supervisor", "notebook_bridge")
TRUNK = {"config", "intake", "places", "turns", "posting", "approvals", "settings"}
LEAVES = sorted(
    folder.name
    for folder in (ROOT / "relay" / "behaviours").iterdir()
    if (folder / "__init__.py").exists() and folder.name not in TRUNK
)
ALL = "all of them"
GOES_WITH = {
    "attachments": set[str](),
    "corrections": set[str](),
    "focus": set[str](),
    "pausing": set[str](),
    "queue": set[str](),
    "loop_guard": set[str](),
    "rate_cap": set[str](),
    "redaction": {"relay.redact"},
    "retries": set[str](),
    "status": {"relay.history", "relay.script", "relay.surfaces.web.ledger_facts"},
    "stopping": set[str](),
    "workbench": set[str](),
    "watches": {
        "relay.behaviours.focus",
        "relay.behaviours.workbench",
        "relay.script",
        "relay.surfaces.web.ledger_facts",
        "relay.tools.watching",
    },
}
"""Leaf → what leans on it: a leaf that can't be without it, and the modules of the edge that tell of it."""


def modules(root: Path) -> dict[str, Path]:
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for top in PACKAGES
        for path in (root / top).rglob("*.py")
    }


def imported(path: Path) -> Iterator[str]:
    """What is imported with the module; an import inside a function is the function's."""
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module or ""
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)


def unit(module: str) -> str:
    """What is taken away when the module can't stay: a behaviour and `relay.script` go whole."""
    parts = module.split(".")
    whole = (
        3 if parts[:2] == ["relay", "behaviours"] else 2 if parts[:2] == ["relay", "script"] else len(parts)
    )
    return ".".join(parts[:whole])


@cache
def all_imports() -> dict[str, set[str]]:
    return {module: set(imported(path)) for module, path in modules(ROOT).items()}


def leaning_on(leaf: str) -> set[str]:
    """Everything that can't be imported without the leaf, found by reading the imports."""
    wants = all_imports()
    gone = {f"relay.behaviours.{leaf}"}
    while True:
        more = {
            unit(module)
            for module, names in wants.items()
            if unit(module) not in gone
            and any(name == g or name.startswith(f"{g}.") for name in names for g in gone)
        }
        if not more:
            return gone - {f"relay.behaviours.{leaf}"}
        gone |= more


@pytest.mark.parametrize("leaf", LEAVES)
def test_what_leans_on_a_leaf_is_known_and_is_not_the_trunk(leaf: str) -> None:
    assert leaning_on(leaf) == GOES_WITH[leaf]
    assert not {f"relay.behaviours.{name}" for name in TRUNK} & leaning_on(leaf)


def without(folder: Path, gone: set[str]) -> Path:
    """A copy of the project without those units, and of the tests that the trunk must still pass."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/conftest.py", "tests/behaviours/conftest.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(
        ROOT / "tests" / "fakes", folder / "tests" / "fakes", ignore=shutil.ignore_patterns("__pycache__")
    )
    for path in sorted((ROOT / "tests" / "behaviours").rglob("test_*.py")):
        if "mark.trunk\n" in path.read_text("utf-8"):
            shutil.copy(path, folder / "tests" / "behaviours" / path.name)
    for name in gone:
        path = folder.joinpath(*name.split("."))
        shutil.rmtree(path) if path.is_dir() else path.with_suffix(".py").unlink()
    return folder


def trunk_tests(folder: Path) -> tuple[int, str]:
    """Run them there: the exit code, and what was printed."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "trunk", "-p", "no:cacheprovider", "tests/behaviours"],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[tuple[int, str]]]]:
    """The trunk's tests without each leaf, and without any, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        started: dict[str, Future[tuple[int, str]]] = {}
        for leaf in (*LEAVES, ALL):
            gone: set[str] = set()
            for each in LEAVES if leaf == ALL else [leaf]:
                gone |= {f"relay.behaviours.{each}"} | leaning_on(each)
            folder = without(tmp_path_factory.mktemp("without"), gone)
            started[leaf] = pool.submit(trunk_tests, folder)
        yield started


@pytest.mark.parametrize("leaf", [*LEAVES, ALL])
def test_the_trunk_stands_without(runs: dict[str, Future[tuple[int, str]]], leaf: str) -> None:
    code, printed = runs[leaf].result()
    assert code == 0, printed[-6_000:]
    assert " passed" in printed
