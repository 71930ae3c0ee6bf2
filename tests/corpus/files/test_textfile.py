import gzip
import os
from types import SimpleNamespace

import pytest

from apportion.corpus.files.header_clock import HeaderClock, header_clock
from apportion.corpus.files.textfile import read_bytes, read_json, read_jsonl, read_text
from apportion.foundation.errors import InputError


def test_plain_gzip_and_bom(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress("\ufeffgrüß".encode()))
    assert read_text(tmp_path / "a") == "grüß"


def test_missing(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_bytes(tmp_path / "a")


def test_folder(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        read_bytes(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a")
    with pytest.raises(InputError, match="a pipe or a device, and only files are read"):
        read_bytes(tmp_path / "a")


def test_unreadable(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda _: (_ for _ in ()).throw(PermissionError(13, "denied")))
    with pytest.raises(InputError, match=r"cannot be read \(denied\)"):
        read_bytes(tmp_path / "a")


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:30] + b"\xff\xff" + data[32:]])
def test_damaged_gzip(tmp_path, damage):
    (tmp_path / "a.gz").write_bytes(damage(gzip.compress(bytes(range(256)) * 9)))
    with pytest.raises(InputError, match="damaged or truncated gzip"):
        read_bytes(tmp_path / "a.gz")


def test_zero_bytes(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match="zero bytes"):
        read_text(tmp_path / "a")
    assert read_text(tmp_path / "a", allow_empty=True) == ""


def test_not_utf8_names_line_and_byte(tmp_path):
    (tmp_path / "a").write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"not UTF-8 at line 2, byte offset 7 \(byte 0xe9\)"):
        read_text(tmp_path / "a")


def test_json_error_names_line_and_column(tmp_path):
    (tmp_path / "a").write_text('{"a":\n oops}')
    with pytest.raises(InputError, match="line 2, column 2: not valid JSON"):
        read_json(tmp_path / "a")


def test_json_nested_too_deeply(tmp_path):
    (tmp_path / "a").write_text("[" * 200_000)
    with pytest.raises(InputError, match="too deep"):
        read_json(tmp_path / "a")
    (tmp_path / "a").write_text('{"a": ' + "[" * 200_000)
    with pytest.raises(InputError, match="line 1: not valid JSON"):
        read_jsonl(tmp_path / "a")


def test_jsonl_keeps_line_numbers_and_other_separators(tmp_path):
    (tmp_path / "a").write_text('{"a": "x\u2028y"}\n\n{"a": 2}\n', encoding="utf-8")
    assert read_jsonl(tmp_path / "a") == [(1, {"a": "x\u2028y"}), (3, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "kind"), [("[1]", "a list"), ('"x"', "a string"), ("3", "a number"), ("null", "null")]
)
def test_jsonl_line_that_is_no_object(tmp_path, line, kind):
    (tmp_path / "a").write_text("{}\n" + line)
    with pytest.raises(InputError, match=f"line 2: a JSON object .* is needed, got {kind}"):
        read_jsonl(tmp_path / "a")


def test_jsonl_bad_line(tmp_path):
    (tmp_path / "a").write_text('{}\n{"a" 1}\n')
    with pytest.raises(InputError, match=r"line 2: not valid JSON .*column 6"):
        read_jsonl(tmp_path / "a")


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
