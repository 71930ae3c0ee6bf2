"""Claim: what the public package shows and rewards, held to the questions that our own episodes are held to.

Two questions are put to sotopia 0.1.5 and to ours: which fields of the other's profile does an agent read, by
relationship (a field counts as read if changing it changes the first observation); and what reward stands beside a
judge's valid scores. The package wants an environment of its own (91 packages):

    python -m venv FOLDER && FOLDER/bin/pip install sotopia==0.1.5
    python benchmarks/sotopia_faults.py FOLDER/bin/python

Both sides play the same two made-up characters. Nothing is asked of a language model: theirs leave at once, and a judge
of theirs gives both a valid 7 of 10 for the goal; ours agree on 7 of 10, which our rules score.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.goal_checks import OneNumber, Terms
from apportion.environments.sotopia.tasks import Character, Relationship, Scenario, Task

PEER = Path(__file__).with_name("sotopia_peer.py")
ANN = Character(
    "Ann Lee", 40, "Woman", "She/her", "baker", "Ann bakes.", "open", ("care",), ("power",), "calm", "Kind."
)
BOB = Character(
    "Bob Ray", 50, "Man", "He/him", "clerk", "Bob files.", "shy", ("purity",), ("security",), "slow", "Dry."
)
CHANGED: dict[str, Any] = {
    "name": "Rob Ray", "age": 51, "gender": "Nonbinary", "pronouns": "They/them", "occupation": "poet",
    "public_info": "Rob sings.", "personality": "Warm.", "secret": "He stole a hat.",
}  # fmt: skip
"""Fields that both have in their profiles, and that the released code tells."""


def main() -> None:
    """Print both sides' answers, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", type=Path, help="the interpreter of the environment that holds sotopia 0.1.5")
    for answer in (*_peer(parser.parse_args().python), *ours()):
        print(json.dumps(answer))


def ours() -> list[dict[str, Any]]:
    """What an agent of ours reads of the other, by relationship; and the outcome beside a score by rules."""
    read = {}
    for kind in Relationship:
        before = _view(kind, BOB)
        read[kind.words] = [field for field, value in CHANGED.items() if _view(kind, _with(field, value)) != before]
    price = Terms(OneNumber((0.0, 10.0), (10.0, 0.0)))
    game = Sotopia(Task(Scenario("s", "A park", ("Sell", "Buy"), Relationship.STRANGER, terms=price), (ANN, BOB)))
    game.reset(0)
    acts = {ANN.name: Action("physical action", "offer: 7"), BOB.name: Action("physical action", "accept")}
    play(
        game,
        {name: ScriptedAgent("script", lambda view: acts.pop(view.agent, Action("leave"))) for name in game.agents},
    )
    outcome = game.outcome()
    goal = [outcome[name]["GOAL"] for name in game.agents]
    return [
        {"package": "apportion", "the other's fields read": read},
        {"package": "apportion", "the judge": "rules: a deal at 7 of 10", "rewards in the log": goal},
    ]


def _view(kind: Relationship, other: Character) -> str:
    game = Sotopia(Task(Scenario("s", "A park", ("Sell", "Buy"), kind), (ANN, other)), Rules("released"))
    game.reset(0)
    return game.observe(ANN.name)


def _with(field: str, value: Any) -> Character:
    return replace(BOB, **{field: value})


def _peer(python: Path) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "SOTOPIA_STORAGE_BACKEND": "local"}
        asked = json.dumps({"changed": CHANGED, "ann": vars(ANN), "bob": vars(BOB)})
        done = subprocess.run([python, PEER], input=asked, capture_output=True, text=True, env=environment, cwd=home)
    if done.returncode != 0:
        raise SystemExit(f"{python} {PEER.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


if __name__ == "__main__":
    main()
