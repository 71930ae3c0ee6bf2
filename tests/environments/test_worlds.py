"""A world is a row: what lists worlds takes them from there."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from apportion.cli import cli
from apportion.corpus.session import Session
from apportion.environments.deduction.games import GAMES
from apportion.environments.registry import SIMULATORS, asked_of, identity_of, maker_of
from apportion.environments.role_assignment import BY_RULES, EpisodeScore, RoleAssignment
from apportion.environments.worlds import COMMANDS, WORLDS
from apportion.foundation import registry
from apportion.foundation.errors import InputError
from tests.behaviour.simulating_method import MADE
from tests.environments.games import Countdown, take

TOY = """
import sys
from apportion.environments import worlds
worlds.WORLDS += (worlds.hidden_roles("mole", "Mole: three look for one", "tests.environments.deduction.toy"),)
from apportion.cli import cli
from apportion.corpus.corpus import Corpus
from apportion.environments.registry import maker_of
from pathlib import Path
out = Path(sys.argv[1])
cli(["world", "simulate", "mole", str(out), "--agents", "random", "--games", "4"], standalone_mode=False)
words = ["world", "tournament", "mole", str(out / "league"), "--agents", "random", "--matches", "4"]
cli(words, standalone_mode=False)
made_by = maker_of(next(Corpus.open(out).iter_sessions()), out)[0]
print(*sorted(cli.commands["world"].commands["play"].commands), made_by)
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_lists_the_worlds_that_say_so(command: str) -> None:
    listed = set(cli.commands["world"].commands[command].commands)  # type: ignore[attr-defined]
    assert listed & {world.name for world in WORLDS} == {world.name for world in WORLDS if command in world.commands}


def test_every_row_leads_to_what_it_names() -> None:
    assert list(SIMULATORS.ours) == [world.name for world in WORLDS]
    assert all(SIMULATORS.find(world.name) for world in WORLDS)
    assert {name: GAMES.find(name).kind for name in GAMES.ours} == {name: name for name in GAMES.ours}


def test_a_toy_is_one_row_and_its_own_file(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TOY, str(tmp_path / "c")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "avalon bargaining casino mole negotiation onuw sotopia werewolf mole"


def test_the_rules_score_what_stands() -> None:
    game = Countdown(("ann", "bob"))
    assert BY_RULES.verdict(game) == EpisodeScore(game.outcome()) and BY_RULES.called == "rules"
    while not game.over:
        game.do(take(3))
    assert {scores["points"] for scores in BY_RULES.verdict(game).scores.values()} == {0.0, 1.0}


@pytest.fixture
def installed(monkeypatch):
    point = EntryPoint("haggling", "tests.behaviour.simulating_method:HAGGLING", SIMULATORS.group)
    monkeypatch.setattr(registry, "points_of", lambda group: {"haggling": point} if group == SIMULATORS.group else {})


def test_a_simulator_that_knows_no_cast_plays_on_with_who_made_the_session_alone(tmp_path, installed) -> None:
    session = Session("s0", (), source=MADE)
    assert identity_of(session, tmp_path, RoleAssignment()) == identity_of(session, tmp_path)
    assert asked_of(session, tmp_path, RoleAssignment()) == ()
    for cast in (
        RoleAssignment(target="base"),
        RoleAssignment(partner="random"),
        RoleAssignment(judge="paper"),
        RoleAssignment(temperature=0.3),
    ):
        with pytest.raises(InputError, match=r"session s0: simulator 'haggling' plays on with who made the session"):
            maker_of(session, tmp_path, cast)
    assert maker_of(session, tmp_path, RoleAssignment(target="base").scoring()) is not None


def test_what_no_environment_made_is_asked_of_nobody(tmp_path, installed) -> None:
    other = Session("s1", (), source="recorded")
    assert maker_of(other, tmp_path, RoleAssignment(target="base")) is None
    assert identity_of(other, tmp_path, RoleAssignment()) is None and asked_of(other, tmp_path, RoleAssignment()) == ()
