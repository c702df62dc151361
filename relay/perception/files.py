"""What a file from outside is, told by its bytes, and the name under which it is safe to keep.

Pure. What a name or a sender claims a file to be counts for nothing here. It never opens or unpacks anything.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

LONGEST_NAME = 120
"""UTF-8 bytes of a name, so that it fits every file system with something to spare."""

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "png"),
    (0, b"\xff\xd8\xff", "jpg"),
    (0, b"GIF87a", "gif"),
    (0, b"GIF89a", "gif"),
    (0, b"BM", "bmp"),
    (0, b"II*\0", "tiff"),
    (0, b"MM\0*", "tiff"),
    (0, b"%PDF-", "pdf"),
    (0, b"PK\x03\x04", "zip"),
    (0, b"PK\x05\x06", "zip"),
    (0, b"\x1f\x8b", "gz"),
    (0, b"BZh", "bz2"),
    (0, b"\xfd7zXZ\0", "xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z"),
    (0, b"\x28\xb5\x2f\xfd", "zst"),
    (257, b"ustar", "tar"),
    (0, b"\x7fELF", "elf"),
    (0, b"MZ", "exe"),
    (0, b"\xcf\xfa\xed\xfe", "macho"),
    (0, b"\xca\xfe\xba\xbe", "class"),
    (0, b"\0asm", "wasm"),
    (0, b"SQLite format 3\0", "sqlite"),
    (0, b"PAR1", "parquet"),
    (0, b"\x89HDF\r\n\x1a\n", "h5"),
    (0, b"ID3", "mp3"),
    (0, b"\xff\xfb", "mp3"),
    (0, b"OggS", "ogg"),
    (0, b"fLaC", "flac"),
    (4, b"ftyp", "mp4"),
    (0, b"\x1a\x45\xdf\xa3", "mkv"),
)
"""(where, what stands there, the kind): the signatures that these formats' own specifications give."""
_RIFF = {b"WEBP": "webp", b"WAVE": "wav", b"AVI ": "avi"}
_SHOWN = {"jpeg": "jpg", "tif": "tiff", "m4a": "mp4", "m4v": "mp4", "mov": "mp4", "webm": "mkv", "oga": "ogg"}
"""Other endings of the same kinds."""
_WITHIN = {
    "zip": frozenset(
        ["docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "jar", "whl", "apk", "npz", "kmz"]
    ),
    "gz": frozenset({"tgz"}),
    "bz2": frozenset({"tbz"}),
    "xz": frozenset({"txz"}),
    "sqlite": frozenset({"db", "sqlite3"}),
    "exe": frozenset({"dll", "sys", "msi"}),
    "elf": frozenset({"so", "o", "bin", "out"}),
    "h5": frozenset({"hdf5"}),
}
"""Endings of files that are of that kind underneath."""
_BINARY = frozenset(kind for _, _, kind in _MAGIC) | frozenset(_RIFF.values())
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_KEY = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[rn])+(?:[A-Za-z-]+: |[A-Za-z0-9+/=]{20})"
    rb"|PuTTY-User-Key-File-[0-9]: |AGE-SECRET-KEY-1[A-Z0-9]{20}"
)
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|\Z)", re.IGNORECASE
)
_NOT_IN_NAMES = re.compile(r'[<>:"|?*/\\\x00-\x1f\x7f-\x9f]')


@dataclass(frozen=True, slots=True)
class Sniffed:
    """`kind` is a format's usual ending, `text`, `empty`, or `data` for what isn't known; `encoding` is a text's."""

    kind: str
    encoding: str = ""


def sniff(data: bytes) -> Sniffed:
    """What the bytes are."""
    if not data:
        return Sniffed("empty", "utf-8")
    for bom, encoding in _BOMS:
        if data.startswith(bom) and _reads(data, encoding):
            return Sniffed("text", encoding)
    if data[:4] == b"RIFF" and data[8:12] in _RIFF:
        return Sniffed(_RIFF[data[8:12]])
    text = b"\0" not in data and _reads(data, "utf-8")
    for at, magic, kind in _MAGIC:
        # Letters at a text's beginning ("BMW sales …", "OggS is …") are no signature.
        if data[at : at + len(magic)] == magic and (kind == "pdf" or not text):
            return Sniffed(kind)
    if text:
        return Sniffed("text", "utf-8")
    # A text of an older encoding: letters, and no control characters but those of a text.
    odd = sum(1 for byte in data[:4096] if (byte < 32 and byte not in b"\t\n\r\f\x1b") or byte == 127)
    return Sniffed("data") if odd or b"\0" in data else Sniffed("text", "latin-1")


def _reads(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeError:
        return False
    return True


def text_of(data: bytes, encoding: str, most: int) -> str:
    """The beginning of a text file: at most `most` characters."""
    return data[: most * 4 + 4].decode(encoding, errors="ignore")[:most]


def holds_key(data: bytes) -> bool:
    """Whether a private key stands in it. A file that only speaks of one doesn't hold it."""
    return _KEY.search(data) is not None


def basename(name: str) -> str:
    """The last part of a path, whichever way its slashes lean."""
    return name.replace("\\", "/").rstrip("/ ").rpartition("/")[2]


def safe_names(name: str, kind: str, tag: str) -> tuple[str, str]:
    """The name to keep a file of that kind under, and another one with `tag` in it for when the first is taken.

    Only the last part of a path stays; no control, direction or invisible characters, none that a shell or another
    system reads as its own, no leading dot or dash, no name that another system reserves, a bounded length. An ending
    that claims another kind than the bytes show gets the right one behind it.
    """
    plain = unicodedata.normalize("NFC", basename(name))
    plain = "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn"))
    plain = _NOT_IN_NAMES.sub("_", " ".join(plain.split()))
    plain = plain.lstrip(". ").rstrip(". ")
    if plain.startswith("-"):
        plain = f"_{plain}"
    if _RESERVED.match(plain):
        plain = f"_{plain}"
    plain = plain or "file"
    ending = PurePosixPath(plain).suffix[1:].lower()
    claimed = _SHOWN.get(ending, ending)
    if kind in _BINARY:
        if claimed != kind and ending not in _WITHIN.get(kind, ()):
            plain = f"{plain}.{kind}"
    elif claimed in _BINARY:
        plain = f"{plain}.{'txt' if kind in ('text', 'empty') else 'bin'}"
    stem, dot, ending = plain.rpartition(".")
    if not stem or len(ending.encode()) > 20:
        stem, dot, ending = plain, "", ""
    return _cut(stem, "", dot + ending), _cut(stem, f"-{tag}", dot + ending)


def _cut(stem: str, mark: str, ending: str) -> str:
    room = LONGEST_NAME - len((mark + ending).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + mark + ending
