"""What a file can get done to it: by programs, by editors, and by the tools that are installed here.

The ways of editors are the system calls that they make, so they are tested where the editor isn't installed.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

BEFORE = "one\ntwo\nthree\n"
AFTER = "one\n2\nthree\n"
Edit = Callable[[Path], None]


def append(file: Path) -> None:
    with file.open("a") as out:
        out.write("four\n")


def rewrite_same_size(file: Path) -> None:
    with file.open("r+") as out:
        out.write("ONE")


def rewrite_same_size_and_mtime(file: Path) -> None:
    facts = file.stat()
    with file.open("r+") as out:
        out.write("ONE")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def rename_over(file: Path) -> None:
    fresh = file.with_name(".fresh")
    fresh.write_text(AFTER)
    fresh.replace(file)


def rename_from_elsewhere(file: Path) -> None:
    fresh = file.parent.parent / "fresh"
    fresh.write_text(AFTER)
    fresh.replace(file)


def truncate(file: Path) -> None:
    os.truncate(file, 0)


def shorten(file: Path) -> None:
    os.truncate(file, 4)


def write_shorter(file: Path) -> None:
    file.write_text("one\n")


def rewrite_middle(file: Path) -> None:
    fd = os.open(file, os.O_WRONLY)
    os.pwrite(fd, b"TWO", 4)
    os.close(fd)


def delete_and_recreate(file: Path) -> None:
    file.unlink()
    file.write_text(AFTER)


def move_away_and_write_anew(file: Path) -> None:
    file.rename(file.with_name("notes.md~"))
    file.write_text(AFTER)


def copy_over(file: Path) -> None:
    other = file.with_name("other")
    other.write_text(AFTER)
    shutil.copyfile(other, file)


def replace_by_symlink(file: Path) -> None:
    other = file.with_name("other")
    other.write_text(AFTER)
    file.unlink()
    file.symlink_to(other)


def hard_link_over(file: Path) -> None:
    other = file.with_name("other")
    other.write_text(AFTER)
    file.unlink()
    os.link(other, file)


def write_in_small_steps(file: Path) -> None:
    with file.open("ab", buffering=0) as out:
        for number in range(50):
            out.write(b"%d\n" % number)


def sed_in_place(file: Path) -> None:
    subprocess.run(["sed", "-i", "s/two/2/", str(file)], check=True)


def ed_script(file: Path) -> None:
    subprocess.run(["ed", "-s", str(file)], input=b"2c\n2\n.\nw\nq\n", check=True)


def vim_save(file: Path) -> None:
    subprocess.run(
        ["vim", "-es", "-u", "NONE", "-c", "2s/two/2/", "-c", "wq", str(file)],
        check=True,
        stdin=subprocess.DEVNULL,
    )


def shell_redirect(file: Path) -> None:
    subprocess.run(["sh", "-c", f"echo four >> {file}"], check=True)


def dd_in_place(file: Path) -> None:
    subprocess.run(
        ["dd", f"of={file}", "conv=notrunc", "bs=1", "seek=4", "status=none"], input=b"TWO", check=True
    )


# -- editors, by their system calls ---------------------------------------------------------------------------------


def as_vim_does(file: Path) -> None:
    """`:w` with backupcopy=yes: written over in place, then cut to its length."""
    fd = os.open(file, os.O_WRONLY | os.O_CREAT)
    os.write(fd, AFTER.encode())
    os.ftruncate(fd, len(AFTER))
    os.fsync(fd)
    os.close(fd)


def as_vim_does_with_a_backup(file: Path) -> None:
    """`:w` with backupcopy=no: the old file becomes the backup, a new one is written, the backup goes."""
    backup = file.with_name(f"{file.name}~")
    file.rename(backup)
    file.write_text(AFTER)
    backup.unlink()


def as_vs_code_does(file: Path) -> None:
    """Emptied, written and synced in place."""
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, AFTER.encode())
    os.fdatasync(fd)
    os.close(fd)


def as_intellij_does(file: Path) -> None:
    """A safe write: written beside it, the old one renamed away, the new one renamed there, the old one deleted."""
    fresh, old = file.with_name("notes.md___jb_tmp___"), file.with_name("notes.md___jb_old___")
    fresh.write_text(AFTER)
    file.rename(old)
    fresh.rename(file)
    old.unlink()


def as_emacs_does(file: Path) -> None:
    """The old file stays as the backup."""
    file.rename(file.with_name(f"{file.name}~"))
    file.write_text(AFTER)


def as_git_checkout_does(file: Path) -> None:
    """Deleted, and made anew."""
    file.unlink()
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    os.write(fd, AFTER.encode())
    os.close(fd)


def as_sed_does(file: Path) -> None:
    """Written beside it and renamed over it."""
    fresh = file.with_name("sedD1bYWw")
    fresh.write_text(AFTER)
    fresh.rename(file)


# -- tools that are installed ---------------------------------------------------------------------------------------


def vim_with_a_backup(file: Path) -> None:
    subprocess.run(
        [
            "vim",
            "-es",
            "-u",
            "NONE",
            "-c",
            "set backupcopy=no writebackup",
            "-c",
            "2s/two/2/",
            "-c",
            "wq",
            str(file),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
    )


def git_checkout(file: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=file.parent, check=True, stdin=subprocess.DEVNULL)

    if not (file.parent / ".git").exists():
        git("init", "-q")
        other = file.read_text()
        file.write_text(AFTER)
        git("add", file.name)
        git("commit", "-qm", "the other text")
        file.write_text(other)
        return
    git("checkout", "-q", "--", file.name)


EDITS: list[Edit] = [
    append,
    rewrite_same_size,
    rewrite_same_size_and_mtime,
    rename_over,
    rename_from_elsewhere,
    truncate,
    shorten,
    write_shorter,
    rewrite_middle,
    delete_and_recreate,
    move_away_and_write_anew,
    copy_over,
    replace_by_symlink,
    hard_link_over,
    write_in_small_steps,
    as_vim_does,
    as_vim_does_with_a_backup,
    as_vs_code_does,
    as_intellij_does,
    as_emacs_does,
    as_git_checkout_does,
    as_sed_does,
]
TOOLS: list[tuple[str, Edit]] = [
    ("sed", sed_in_place),
    ("ed", ed_script),
    ("vim", vim_save),
    ("vim", vim_with_a_backup),
    ("git", git_checkout),
    ("sh", shell_redirect),
    ("dd", dd_in_place),
]
