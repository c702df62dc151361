"""Unified diffs that come in bounded time, also of large and of hostile texts.

difflib up to 5,000 lines; above that, or where difflib would be slow, `git diff --no-index` in a process of
its own; without git a summary with counts. Blocking: call it from a worker thread. It never reads the watched
file itself.
"""

import difflib
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from watch_supervisor.gate import added_lines

DIFFLIB_LINES = 5_000
_DIFFLIB_STEPS = 30_000_000
_CONTEXT = 3
_GIT_SECONDS = 10.0


def unified_diff(before: Sequence[str], after: Sequence[str], label: str) -> list[str]:
    """The difference as lines, under `--- label` and `+++ label`. Lines carry no newline.

    Empty texts are empty sequences. Texts whose lines are equal (only line ends or invisible characters
    differ) give one line that says so.
    """
    if list(before) == list(after):
        return [f"({label}: only line ends or invisible characters changed)"]
    header = [f"--- {label}", f"+++ {label}"]
    start, end = _common_ends(before, after)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if _is_small(old, new):
        # Context lines are put back round the part that differs, so that hunks look as they always do.
        lead, trail = min(start, _CONTEXT), min(end, _CONTEXT)
        first = start - lead
        body = list(
            difflib.unified_diff(
                before[first : len(before) - end + trail],
                after[first : len(after) - end + trail],
                n=_CONTEXT,
                lineterm="",
            )
        )[2:]
        return header + [_moved(line, first) for line in body]
    by_git = _git_diff(before, after)
    if by_git is not None:
        return header + by_git
    added = sum(1 for _ in added_lines(old, new))
    removed = sum(1 for _ in added_lines(new, old))
    return [*header, f"({added} lines added, {removed} removed; too many for a diff on this machine)"]


def _common_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    shared = min(len(before), len(after))
    start = 0
    while start < shared and before[start] == after[start]:
        start += 1
    end = 0
    while end < shared - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start, end


def _is_small(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether difflib is quick. At worst it goes through all pairs of equal lines once for each line.

    Lines that make up more than a hundredth of a long text don't count: difflib leaves them out by itself.
    """
    if max(len(old), len(new)) > DIFFLIB_LINES:
        return False
    counts = Counter(new)
    popular = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    pairs = sum(counts[line] for line in old if counts[line] <= popular)
    return (len(old) + pairs) * min(len(old), len(new)) <= _DIFFLIB_STEPS


def _moved(line: str, by: int) -> str:
    """A hunk header counted from the beginning of the file, not of the part that was compared."""
    if not line.startswith("@@ ") or by == 0:
        return line
    old, new = line.split(" ")[1:3]
    return f"@@ -{_shifted(old[1:], by)} +{_shifted(new[1:], by)} @@"


def _shifted(span: str, by: int) -> str:
    first, comma, count = span.partition(",")
    return f"{int(first) + by}{comma}{count}"


def _git_diff(before: Sequence[str], after: Sequence[str]) -> list[str] | None:
    git = shutil.which("git")
    if git is None:
        return None
    with tempfile.TemporaryDirectory(prefix="watch-diff-") as folder:
        old, new = Path(folder, "before"), Path(folder, "after")
        old.write_text("".join(f"{line}\n" for line in before), encoding="utf-8", newline="")
        new.write_text("".join(f"{line}\n" for line in after), encoding="utf-8", newline="")
        try:
            done = subprocess.run(
                [
                    git,
                    "diff",
                    "--no-index",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--no-color",
                    f"-U{_CONTEXT}",
                    "--text",
                ]
                + ["--", "before", "after"],
                cwd=folder,
                env={"PATH": os.defpath, "HOME": folder, "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_GIT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    hunks = [index for index, line in enumerate(lines) if line.startswith("@@ ")]
    if done.returncode != 1 or not hunks:
        return None
    return lines[hunks[0] :][:-1] if lines[-1] == "" else lines[hunks[0] :]
