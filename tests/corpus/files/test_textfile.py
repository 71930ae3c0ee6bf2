import gzip
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from apportion.corpus.files.header_clock import HeaderClock, header_clock
from apportion.corpus.files.textfile import read_bytes, read_json, read_jsonl, read_text
from apportion.foundation.errors import InputError


def test_plain_gzip_bom_and_numbered_lines(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress("\ufeffgrüß".encode()))
    assert read_text(tmp_path / "a") == "grüß"
    (tmp_path / "a").write_text('{"a": "x\u2028y"}\n\n{"a": 2}\n', encoding="utf-8")
    assert read_jsonl(tmp_path / "a") == [(1, {"a": "x\u2028y"}), (3, {"a": 2})]


def test_unreadable(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "denied")))
    with pytest.raises(InputError, match=r"cannot be read \(denied\)"):
        read_bytes(tmp_path / "a")


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:30] + b"\xff\xff" + data[32:]])
def test_damaged_gzip(tmp_path, damage):
    (tmp_path / "a.gz").write_bytes(damage(gzip.compress(bytes(range(256)) * 9)))
    with pytest.raises(InputError, match="damaged or truncated gzip"):
        read_bytes(tmp_path / "a.gz")


def test_a_name_that_no_folder_can_hold():
    with pytest.raises(InputError, match="cannot be read"):
        read_text(Path("x" * 5000))


@pytest.mark.parametrize(
    ("content", "limit", "words"),
    [
        (b"a\n" * 600, {"MOST_BYTES": 1000}, r"more than 0 MiB, the most that is read from one file"),
        (gzip.compress(os.urandom(2000), mtime=0), {"MOST_BYTES": 1000}, "more than 0 MiB, the most that is read"),
        (b"ab\n" + b"a" * 1200, {"MOST_LINE": 1000}, "a line of more than 0 MiB, from byte 3 on"),
        (gzip.compress(b"a" * 1200, mtime=0), {"MOST_LINE": 1000}, "a line of more than 0 MiB, from byte 0 on"),
        (
            gzip.compress((b"a" * 15 + b"\n") * (1 << 19), mtime=0),
            {"FREE_BYTES": 1 << 20},
            r"unpacks to more than 100 times its size",
        ),
        (b"{}\n" * 600, {"FREE_PARTS": 1000}, "1,200 lines, lists and objects in its first 1,800 bytes"),
        (b"PK\x03\x04", {}, "a zip archive, .* Unpack it first"),
        (b"\x28\xb5\x2f\xfd", {}, "a zstd archive"),
        (b"BZh9", {}, "a bzip2 archive"),
        (b"\xfd7zXZ\0", {}, "a xz archive"),
    ],
)
def test_too_large_or_packed(tmp_path, monkeypatch, content, limit, words):
    for name, value in limit.items():
        monkeypatch.setattr(f"apportion.corpus.files.textfile.{name}", value)
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_text(tmp_path / "a")


def test_a_packed_file_may_hold_less(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(b"a" * 1200, mtime=0))
    with pytest.raises(InputError, match=r"gzip of more than 0 MiB\. Unpack it, or split it"):
        read_text(tmp_path / "a", most_packed=1000)


def test_zero_bytes(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match="zero bytes"):
        read_text(tmp_path / "a")
    assert read_text(tmp_path / "a", allow_empty=True) == ""


@pytest.mark.parametrize(
    ("name", "start_s", "stated_s", "clock", "end_s"),
    [
        ("mov,mp4,m4a,3gp,3g2,mj2", 86_400, 2, HeaderClock(0, 86_400, 2), 86_402),
        ("matroska,webm", 86_400, 86_402, HeaderClock(0, 86_400, 2), 86_402),
        # A transport stream's clock starts anywhere: its first stamp is presentation time 0.
        ("mpegts", 86_400, 2, HeaderClock(86_400, 86_400, 2), 2),
        ("wav", None, None, HeaderClock(0, 0, 0), 0),
        ("matroska,webm", 3, None, HeaderClock(0, 3, 0), 3),
    ],
)
def test_where_a_length_counts_from(name, start_s, stated_s, clock, end_s):
    ticks = [None if value is None else value * 1_000_000 for value in (start_s, stated_s)]
    container = SimpleNamespace(start_time=ticks[0], duration=ticks[1], format=SimpleNamespace(name=name))
    assert header_clock(container) == clock
    assert header_clock(container).end_s == end_s


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is a folder"),
        (os.mkfifo, "a pipe or a device, and only files are read"),
    ],
)
def test_what_is_no_file(tmp_path, make, words):
    make(tmp_path / "a")
    with pytest.raises(InputError, match=words):
        read_bytes(tmp_path / "a")


@pytest.mark.parametrize(
    ("read", "content", "words"),
    [
        (read_text, b"one\ncaf\xe9\n", r"not UTF-8 at line 2, byte offset 7 \(byte 0xe9\)"),
        (read_json, b'{"a":\n oops}', "line 2, column 2: not valid JSON"),
        (read_json, b"[" * 200_000, "too deep"),
        (read_jsonl, b'{"a": ' + b"[" * 200_000, "line 1: not valid JSON"),
        (read_jsonl, b'{}\n{"a" 1}\n', r"line 2: not valid JSON .*column 6"),
        (read_jsonl, b"{}\n[1]", "line 2: a JSON object .* is needed, got a list"),
        (read_jsonl, b'{}\n"x"', "got a string"),
        (read_jsonl, b"{}\n3", "got a number"),
        (read_jsonl, b"{}\nnull", "got null"),
    ],
)
def test_what_cannot_be_read_names_its_place(tmp_path, read, content, words):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "a")
