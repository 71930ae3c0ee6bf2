"""A world is a row: what lists worlds takes them from there."""

import subprocess
import sys
from pathlib import Path

import pytest

from apportion.cli import cli
from apportion.environments.deduction.games import GAMES
from apportion.environments.registry import SIMULATORS
from apportion.environments.worlds import COMMANDS, WORLDS

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
    assert done.stdout.splitlines()[-1] == "avalon mole negotiation onuw sotopia werewolf mole"
