"""The recorded intents answer the requests of today, so that the whole way from turns to intents needs no key."""

from pathlib import Path

import pytest

from apportion.cli import main
from apportion.rlhf.stackelberg.instances.instance import read_instances

DEMO = Path(__file__).parents[2] / "demo" / "stackelberg"


def test_every_turn_has_recorded_intents(tmp_path, capsys):
    out = tmp_path / "turns.jsonl"
    arguments = [str(DEMO / "turns.jsonl"), "-o", str(out), "--model", "claude"]
    with pytest.raises(SystemExit) as ended:
        main(["train", "refiner-data", *arguments, "--recorded", str(DEMO / "intents.jsonl")])
    assert ended.value.code == 0 and "60 turns, 60 with intents" in capsys.readouterr().out
    named = read_instances(out)
    assert {len(one.desired) for one in named} == {len(one.undesired) for one in named} == {3}
    games = {one.name.rpartition("#")[0] for one in named}
    assert len(games) == 10 and {one.game for one in named} == {"werewolf", "avalon", "onuw", "negotiation", "sotopia"}
    # What is in the file of turns for the Measurer alone is in no leader's view.
    assert not any(one.mark in one.leader_sees for one in named)
