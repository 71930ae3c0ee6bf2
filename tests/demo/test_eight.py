"""An episode of eight acts, four of a recorded real model, all 16 histories played on: exact values without a key."""

import json
from functools import partial
from itertools import combinations, permutations
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.role_assignment import RoleAssignment
from apportion.environments.rollout import Rollouts, RolloutUtility
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply
from tests.behaviour.command import ROOT, in_process

SOCIAL = ROOT / "demo" / "social"
VALUES = {0: -1.219, 2: 0.031, 4: 0.170, 6: 1.017}
"""Of Ines Okafor's acts, as docs/savoir.md has them."""


def rewards(folder: Path):
    rows = pq.read_table(folder / "rewards.parquet").to_pylist()
    found = {}
    for row in rows:
        found.setdefault((row["method"], row["target"]), {})[row["turn"]] = row["raw_reward"]
    return found


def by_orders(played, session, target):
    """Each act's mean gain over all orders in which the acts can come in, two plays each."""
    turns = played.turns_of(target)
    seeds = Rollouts(played, target, turns, RolloutUtility({"GOAL": 1.0}), seed=f"0/{session.session_id}")._seeds(
        frozenset()
    )
    worth = {
        kept: sum(ending.scores["GOAL"] for ending in played.play_on(target, kept, seeds)) / 2
        for size in range(len(turns) + 1)
        for kept in combinations(turns, size)
    }
    gains, orders = dict.fromkeys(turns, 0.0), list(permutations(turns))
    for order in orders:
        for place, turn in enumerate(order):
            with_it, without = (tuple(sorted(order[:stop])) for stop in (place + 1, place))
            gains[turn] += (worth[with_it] - worth[without]) / len(orders)
    return gains


def test_a_real_model_s_episode_gives_its_exact_values_without_a_key(tmp_path, monkeypatch) -> None:
    text = (SOCIAL / "eight.toml").read_text(encoding="utf-8")
    for place in ("eight", "eight.jsonl"):
        text = text.replace(f'"{place}"', json.dumps(str(SOCIAL / place)))
    (tmp_path / "eight.toml").write_text(text.replace("../../runs/eight", "run"), encoding="utf-8")
    apportion = partial(in_process, monkeypatch)
    done = apportion("run", "--only", "decompose", tmp_path / "eight.toml")
    assert done.returncode == 0, done.stderr
    found = rewards(tmp_path / "run")
    assert found["savoir", "Ines Okafor"] == pytest.approx(VALUES, abs=5e-4)
    assert found["leave-one-out", "Ines Okafor"] == pytest.approx({0: -8 / 3, 2: -8 / 3, 4: -8 / 3, 6: 0})
    replies = RecordedReplies(SOCIAL / "eight.jsonl")
    assert replies.header.model.startswith("Claude") and replies.header.date == "2026-11-23"

    def complete(request) -> ChatReply:
        reply = replies.find(request)
        assert reply is not None, request.subject
        return reply

    (session,) = Corpus.open(SOCIAL / "eight").iter_sessions()
    played = SIMULATOR.recast(RoleAssignment(chosen=ModelSpec("claude"))).open(session, SOCIAL / "eight", complete)
    assert len(played.steps) == 8 and [len(played.turns_of(name)) for name in played.begun.agents] == [4, 4]
    assert played.agents["Ines Okafor"].called == "base@claude"
    for target in played.begun.agents:
        assert found["savoir", target] == pytest.approx(by_orders(played, session, target), abs=1e-9)


def test_every_recorded_reply_is_an_act_of_the_model_s_seat() -> None:
    lines = [json.loads(line) for line in (SOCIAL / "eight.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all("Ines Okafor" in line["label"] for line in lines[1:])
    assert all(set(json.loads(line["reply"])) == {"act", "text"} for line in lines[1:])
    assert len(lines) == 97 and lines[1:] == sorted(lines[1:], key=lambda line: line["key"])
