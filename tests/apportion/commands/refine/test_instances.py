import json

import pytest

from apportion.cli import main
from apportion.llm_client.cache.recorded import Recorder, RecordingHeader
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.instances.instance import read_instances, write_instances
from apportion.rlhf.stackelberg.instances.intents import IntentQuestions
from tests.rlhf.stackelberg.round_table import round_table

GOOD = {"desired": ["a", "b", "c"], "undesired": ["d", "e", "f"]}


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["train", "refiner-data", *map(str, arguments)])
    out = capsys.readouterr()
    return ended.value.code, out.out + out.err


@pytest.fixture
def turns(tmp_path):
    path = tmp_path / "turns.jsonl"
    write_instances(path, round_table(3, intents=False))
    return path


@pytest.fixture
def recorded(tmp_path):
    questions = IntentQuestions(LLMSettings(provider="recorded", model="m", temperature=1.0, max_tokens=1500))
    recorder = Recorder(tmp_path / "replies.jsonl", RecordingHeader("m", "2026-11-23", "by hand"))
    for turn in round_table(3, intents=False):
        (request,) = questions.requests(turn)
        recorder.add(request, ChatReply(json.dumps(GOOD), "m"))
    recorder.close()
    return tmp_path / "replies.jsonl"


def test_turns_are_written_with_their_intents_and_the_next_command_is_named(tmp_path, turns, recorded, capsys):
    out = tmp_path / "named.jsonl"
    code, told = run(capsys, turns, "-o", out, "--model", "m", "--recorded", recorded)
    assert code == 0 and "3 turns, 3 with intents; it holds the followers' true roles" in told
    assert (
        told.splitlines()[-1]
        == 'next: instances = ["named.jsonl"] in a TOML file, then apportion train refiner FILE.toml'
    )
    assert {one.desired for one in read_instances(out)} == {("a", "b", "c")}
    alone = tmp_path / "intents.jsonl"
    code, told = run(
        capsys, turns, "-o", tmp_path / "2.jsonl", "--model", "m", "--recorded", recorded, "--intents", alone
    )
    assert code == 0
    first = json.loads(alone.read_text().splitlines()[0])
    assert first == {"session_id": "game 0-0", "turn": 0, **GOOD}
    code, told = run(capsys, turns, "-o", out, "--model", "m", "--recorded", recorded)
    assert code == 2 and "exists. Use --force" in told
    code, told = run(capsys, turns, "-o", out, "--model", "m", "--recorded", recorded, "--force", "--json")
    assert code == 0 and json.loads(told)["with_intents"] == 3


def test_without_a_model_the_turns_are_written_alone(tmp_path, turns, capsys):
    code, told = run(capsys, turns, "-o", tmp_path / "alone.jsonl")
    assert code == 0 and "3 turns, 0 with intents" in told and "--model MODEL" in told.splitlines()[-1]
    code, told = run(capsys, turns, "-o", tmp_path / "other.jsonl", "--dry-run")
    assert code == 2 and "give --model" in told
    code, told = run(capsys, turns, "-o", tmp_path / "other.jsonl", "--intents", tmp_path / "intents.jsonl")
    assert code == 2 and "--intents writes what a language model names; give --model" in told
    for options in (["--ask-base"], ["--apart"], ["-k", "3"]):
        code, told = run(capsys, turns, "-o", tmp_path / "other.jsonl", *options)
        assert code == 2 and f"{options[0]} is about what a language model is asked; give --model" in told
    assert not (tmp_path / "other.jsonl").exists()


def test_what_would_be_asked_is_priced_and_shown_and_nothing_is_sent(tmp_path, turns, capsys):
    code, told = run(capsys, turns, "-o", tmp_path / "x.jsonl", "--model", "m", "--dry-run")
    assert code == 0 and "nothing was sent (--dry-run)" in told and "3 turns (3 of round table)" in told
    code, told = run(capsys, turns, "-o", tmp_path / "x.jsonl", "--model", "m", "--preview", "1")
    assert code == 0 and "You are player 1. You are about to speak, and player 2 speaks next." in told
    assert not (tmp_path / "x.jsonl").exists() and not (tmp_path / "x.sqlite").exists()


def test_a_turn_without_a_recorded_reply_is_left_out_with_code_1(tmp_path, recorded, capsys):
    path = tmp_path / "more.jsonl"
    write_instances(path, (*round_table(3, intents=False), *_other()))
    code, told = run(capsys, path, "-o", tmp_path / "out.jsonl", "--model", "m", "--recorded", recorded)
    assert code in (1, 2) and "no recorded reply" in told


def _other():
    from dataclasses import replace

    (one,) = round_table(1, seed=9, intents=False)
    return [replace(one, leader_sees="Another game altogether.")]
