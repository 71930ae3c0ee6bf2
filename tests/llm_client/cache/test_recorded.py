import asyncio
import json

import pytest

from apportion.llm_client.cache.recorded import RecordedReplies, Recorder, RecordingHeader, read_header
from apportion.llm_client.errors import MissingReplyError, SetupError
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest

HEADER = RecordingHeader("some model", "2026-11-21", "by hand")


def request(text, subject="session s1"):
    return ChatRequest("m", (ChatMessage("user", text),), subject=subject)


def write(path, *entries, header=HEADER):
    lines = [{"model": header.model, "date": header.date, "how": header.how}, *entries]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def fetch(path, asked):
    return asyncio.run(RecordedReplies(path).fetch(asked))


def test_what_a_recorder_writes_is_replied(tmp_path):
    path = tmp_path / "new" / "replies.jsonl"
    recorder = Recorder(path, HEADER)
    replies = {text: ChatReply(f"reply\u2028 {text}", "m2", 3, 4, "length") for text in ("a", "é\n")}
    for text, reply in replies.items():
        recorder.add(request(text), reply)
    recorder.close()
    assert read_header(path) == HEADER
    assert {text: fetch(path, request(text)) for text in replies} == replies


def test_a_request_is_recorded_once_and_of_two_replies_the_first_counts(tmp_path):
    path = tmp_path / "replies.jsonl"
    for _ in range(2):
        recorder = Recorder(path, HEADER)
        for _ in range(2):
            recorder.add(request("a"), ChatReply("x", "m"))
        recorder.close()
    assert len(path.read_text().splitlines()) == 2
    key = request("a").key()
    path = write(tmp_path / "r.jsonl", {"key": key, "reply": "x"}, {"key": key, "reply": "y"})
    assert fetch(path, request("a")) == ChatReply("x", "")


def test_a_missing_reply_says_which_and_what_to_do(tmp_path):
    path = write(tmp_path / "r.jsonl")
    asked = request("a")
    with pytest.raises(MissingReplyError) as caught:
        fetch(path, asked)
    for part in (asked.key(), "some model", "2026-11-21", "`record`", "provider = 'openai'"):
        assert part in str(caught.value)


@pytest.mark.parametrize("first", ["", "[]", "{}", '{"model": "m", "date": "d"}', "nonsense"])
def test_a_file_without_a_header_is_refused(tmp_path, first):
    path = tmp_path / "r.jsonl"
    path.write_text(first + "\n")
    with pytest.raises(SetupError, match="line 1: not the header"):
        RecordedReplies(path)


@pytest.mark.parametrize(
    "line", ["", "[]", '{"key": "k"}', '{"key": 1, "reply": "x"}', '{"key": "k", "reply": null}', "{"]
)
def test_a_broken_line_is_named(tmp_path, line):
    path = write(tmp_path / "r.jsonl", {"key": "k", "reply": "x"})
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(SetupError, match="line 3: not a recorded reply"):
        RecordedReplies(path)


def test_a_recording_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(SetupError, match="cannot be written"):
        Recorder(tmp_path, HEADER)


@pytest.mark.parametrize(
    "cut", [b'{"key": "k2", "reply": "y', b'{"key"', "é".encode()[:1], b'{"key": "k2", "reply": "\xc3']
)
def test_a_last_line_that_a_kill_has_cut_costs_its_own_reply_only(tmp_path, caplog, cut):
    path = write(tmp_path / "r.jsonl", {"key": request("a").key(), "reply": "x"})
    whole = path.read_bytes()
    path.write_bytes(whole + cut)
    assert fetch(path, request("a")).text == "x"
    assert "the last line was cut while it was written" in caplog.text
    recorder = Recorder(path, HEADER)
    recorder.add(request("b"), ChatReply("new", "m"))
    recorder.close()
    assert path.read_bytes().startswith(whole + b'{"key": ') and fetch(path, request("b")).text == "new"


def test_a_last_line_without_its_end_is_kept(tmp_path):
    path = write(tmp_path / "r.jsonl", {"key": request("a").key(), "reply": "x"})
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert fetch(path, request("a")).text == "x"
    recorder = Recorder(path, HEADER)
    recorder.add(request("b"), ChatReply("new", "m"))
    recorder.close()
    assert [fetch(path, request(name)).text for name in "ab"] == ["x", "new"]


def test_a_header_that_a_kill_has_cut_is_written_again_and_a_note_of_one_line_is_left_alone(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"model": "some')
    Recorder(path, HEADER).close()
    assert read_header(path) == HEADER
    path.write_bytes(b"my notes")
    with pytest.raises(SetupError, match="line 1: not the header"):
        Recorder(path, HEADER)
    assert path.read_bytes() == b"my notes"


def no_space(descriptor, data):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("write_", [no_space, lambda descriptor, data: len(data) // 2], ids=["nothing", "half a line"])
def test_a_full_disk_while_recording_is_told(tmp_path, monkeypatch, write_):
    recorder = Recorder(tmp_path / "r.jsonl", HEADER)
    monkeypatch.setattr("apportion.llm_client.cache.recorded.os.write", write_)
    with pytest.raises(SetupError, match="No space left"):
        recorder.add(request("a"), ChatReply("x", "m"))
