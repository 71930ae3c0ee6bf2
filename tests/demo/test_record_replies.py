"""The demo's prompts go out to files and the replies come back, for each back-end that it may take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from apportion.decompose.reply_parsing import parse_reply
from apportion.demo.builders import record_replies
from apportion.demo.builders.record_replies import BACKENDS, RECORDING, Asked, collect, demo_with, export, requests
from apportion.foundation.errors import InputError
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatMessage, ChatRequest
from tests.demo.measured import demo_films_measured
from tests.features.face.mesh.networks_here import mesh_here  # noqa: F401

MODEL, DATE = "a model", "2026-11-22"


def asked(text: str, group: str) -> Asked:
    request = ChatRequest("m", (ChatMessage("system", "Judge."), ChatMessage("user", text)), subject=f"session {text}")
    return Asked(request, (1, 3), group)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Asked]:
    """Three requests, of which one is the audit's."""
    found = [asked("a", "mesh-default"), asked("b", "haar-paper"), asked("c", "haar-audit-names")]
    by_key = {one.request.key(): one for one in found}
    monkeypatch.setattr(record_replies, "all_requests", lambda measured: by_key)
    return by_key


def good(*turns: int) -> str:
    return json.dumps({"turns": [{"turn": turn, "value": 1.0, "evidence": None} for turn in turns]})


def test_what_has_no_reply_goes_out_and_comes_back_as_it_was_written(known: dict[str, Asked], tmp_path: Path) -> None:
    recording, folder = tmp_path / "replies.jsonl", tmp_path / "out"
    assert export(folder, recording=recording) == {"mesh-default": 1, "haar-paper": 1, "haar-audit-names": 1}
    first, _, audit = known
    text = (folder / "mesh-default" / f"{first}.txt").read_text()
    assert text == "[system]\nJudge.\n\n[user]\na\n"
    (folder / "mesh-default" / f"{first}.json").write_text(good(1, 3) + "\n")
    (folder / "haar-audit-names" / f"{audit}.json").write_text(good(1))
    told = collect(folder, MODEL, DATE, recording=recording)
    assert "turn" in told[0] and told[1] == "no reply: haar-paper session b" and len(told) == 2
    header, *lines = map(json.loads, recording.read_text().splitlines())
    assert header["model"] == MODEL and header["date"] == DATE and MODEL in header["how"]
    kept = {line["key"]: line for line in lines}
    assert kept[first]["reply"] == good(1, 3) and kept[first]["label"] == "session a"
    assert kept[audit]["reply"] == good(1) and kept[audit]["label"] == "session c, audit: names"
    assert export(tmp_path / "again", recording=recording) == {"haar-paper": 1}
    del known[first]  # A prompt that changed: nothing asks for that reply any more.
    collect(tmp_path / "nothing", MODEL, DATE, recording=recording)
    assert [json.loads(line)["key"] for line in recording.read_text().splitlines()[1:]] == [audit]


def test_a_reply_that_the_chain_cannot_read_or_that_nobody_asked_for(known: dict[str, Asked], tmp_path: Path) -> None:
    place = tmp_path / "mesh-default"
    place.mkdir()
    (place / f"{next(iter(known))}.json").write_text("I think that")
    with pytest.raises(InputError, match="answered again"):
        collect(tmp_path, MODEL, DATE, recording=tmp_path / "r.jsonl")
    (place / f"{next(iter(known))}.json").rename(place / "0.json")
    with pytest.raises(InputError, match="no request has this key"):
        collect(tmp_path, MODEL, DATE, recording=tmp_path / "r.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("detector", BACKENDS)
def test_the_demo_s_recording_answers_what_either_back_end_tells(
    detector: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    if detector == "mesh":
        request.getfixturevalue("mesh_here")
    demo_films_measured(tmp_path_factory, detector, tmp_path / "run")
    recorded = RecordedReplies(RECORDING)
    filmed, audited = set(), set()
    for one in requests(demo_with(detector, tmp_path / "run"), detector):
        reply = recorded.find(one.request).text
        (audited if one.audits else filmed).add(one.request.key())
        if not one.audits:
            parse_reply(reply, one.turns, None, None)
    assert len(filmed) == 2 * (86 + 6) and len(audited - filmed) >= 140
