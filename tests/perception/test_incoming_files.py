"""What a file is, told by its bytes; and a name that is safe to keep it under."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.perception.files import LONGEST_NAME, basename, holds_key, safe_names, sniff, text_of

PNG = b"\x89PNG\r\n\x1a\n\0\0"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0JFIF", "jpg"),
        (b"GIF89a\0", "gif"),
        (b"RIFF\0\0\0\0WEBPVP8 \0", "webp"),
        (b"%PDF-1.7\nall letters", "pdf"),
        (b"PK\x03\x04\x14\0", "zip"),
        (b"\x1f\x8b\x08\0", "gz"),
        (b"\x7fELF\x02\x01\0", "elf"),
        (b"MZ\x90\0", "exe"),
        (b"SQLite format 3\0", "sqlite"),
        (bytes(257) + b"ustar\0", "tar"),
        (b"\0\0\0\x18ftypmp42", "mp4"),
        (b"", "empty"),
        (b"plain words\n", "text"),
        ("größer\n".encode(), "text"),
        ("größer\n".encode("utf-16"), "text"),
        ("\ufeffgrößer\n".encode(), "text"),
        ("größer\n".encode("latin-1"), "text"),
        (b"MZ and BM are letters, and so is PAR1", "text"),
        (b"OggS is how it begins", "text"),
        (b"\x01\x02\x03\0", "data"),
        (b"\xff\xfe\x00", "data"),
    ],
)
def test_the_bytes_decide_what_a_file_is(data: bytes, kind: str) -> None:
    assert sniff(data).kind == kind


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig", "latin-1"])
def test_a_text_is_read_in_its_own_encoding_and_cut_at_characters(encoding: str) -> None:
    data = ("größer " * 1_000).encode(encoding)
    assert text_of(data, sniff(data).encoding, 11) == "größer größ"


@pytest.mark.parametrize(
    ("name", "data", "kept"),
    [
        ("report.csv", b"a,b", "report.csv"),
        ("../../x", b"text", "x"),
        ("..\\..\\x", b"text", "x"),
        ("a/b\\c/d.txt", b"text", "d.txt"),
        ("/etc/passwd", b"text", "passwd"),
        ("dir/", b"text", "dir"),
        ("..", b"text", "file"),
        ("", b"text", "file"),
        ("...", b"text", "file"),
        (".bashrc", b"text", "bashrc"),
        ("-rf", b"text", "_-rf"),
        ("CON", b"text", "_CON"),
        ("nul.txt", b"text", "_nul.txt"),
        ("com1", b"text", "_com1"),
        ("console.txt", b"text", "console.txt"),
        ("a\nb\tc.txt", b"text", "a b c.txt"),
        ("a\x00b.txt", b"text", "a_b.txt"),
        ("gnp.\u202etxt", b"text", "gnp.txt"),
        ("in\u200bvi\u2066sible.txt", b"text", "invisible.txt"),
        ('what: "a|b"?*<c>.txt', b"text", "what_ _a_b____c_.txt"),
        ("trailing. . ", b"text", "trailing"),
        ("e\u0301.txt", b"text", "é.txt"),
        ("photo.png", PNG, "photo.png"),
        ("photo.PNG", PNG, "photo.PNG"),
        ("photo.jpeg", b"\xff\xd8\xff\xe0", "photo.jpeg"),
        ("photo.png", b"\x7fELF\x02\x01\0", "photo.png.elf"),
        ("photo.png", b"<html>", "photo.png.txt"),
        ("photo.png", b"\x01\x02\0", "photo.png.bin"),
        ("notes.txt", PNG, "notes.txt.png"),
        ("photo", PNG, "photo.png"),
        ("book.docx", b"PK\x03\x04\x14\0", "book.docx"),
        ("model.bin", b"\x01\x02\0", "model.bin"),
        ("train.py", b"print()", "train.py"),
    ],
)
def test_a_name_is_made_safe_and_its_ending_true(name: str, data: bytes, kept: str) -> None:
    assert safe_names(name, sniff(data).kind, "tag")[0] == kept


@given(st.text(max_size=400), st.sampled_from(["text", "png", "data", "empty", "zip"]))
def test_no_name_is_more_than_a_name(name: str, kind: str) -> None:
    first, second = safe_names(name, kind, "0123abcd")
    assert first != second
    for kept in (first, second):
        assert 0 < len(kept.encode()) <= LONGEST_NAME
        assert not set(kept) & set('/\\\0\n\r\t<>:"|?*')
        assert kept[0] not in ".-"
        assert kept[0] != " "
        assert kept[-1] not in ". "
        assert all(unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in kept)
        assert basename(kept) == kept


def test_a_long_name_keeps_its_ending_and_no_character_is_torn() -> None:
    first, second = safe_names("ü" * 300 + ".csv", "text", "0123abcd")
    assert first.endswith("ü.csv")
    assert second.endswith("ü-0123abcd.csv")


@pytest.mark.parametrize(
    "data",
    [
        b"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1234567890abcdef\n",
        b"x" * 100_000 + b"\n-----BEGIN PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0BAQ\r\n",
        b'{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0B"}',
        b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nVersion: GnuPG v2\n",
        b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n",
        b"PuTTY-User-Key-File-3: ssh-ed25519\n",
        b"AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQ",
    ],
)
def test_a_private_key_is_found_wherever_it_stands(data: bytes) -> None:
    assert holds_key(data)


@pytest.mark.parametrize(
    "data",
    [
        b"-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n",
        b"It begins with -----BEGIN PRIVATE KEY----- and then come letters.",
        b'_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")',
    ],
)
def test_what_only_speaks_of_a_key_holds_none(data: bytes) -> None:
    assert not holds_key(data)
