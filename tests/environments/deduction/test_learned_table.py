"""Files of what agents have learned: whole or refused, and for the game and cast that they were made in alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.learned_table import MOST_BYTES, MOST_NUMBERS, LearnedTable, cast_of
from apportion.environments.environment import Observation
from apportion.foundation.errors import InputError
from apportion.foundation.files import digest

TABLE = LearnedTable("sla", "werewolf", ("seer", "villager", "werewolf"), {"a": (1.0, 0.5), "b": ()}, {"seed": 3})


def signed(**changes: object) -> str:
    """A whole file, but for what is changed, with the hash of that."""
    body = {"about": {}, "game": "werewolf", "method": "sla", "roles": ["seer"], "rows": {"a": [1]}, **changes}
    return json.dumps({**body, "sha256": digest(body)})


def test_a_table_is_read_as_it_was_written_and_equal_ones_have_equal_bytes(tmp_path: Path) -> None:
    for name in ("one.json", "other.json"):
        TABLE.write(tmp_path / name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()
    assert replace(LearnedTable.read(str(tmp_path / "one.json"), "sla"), place="") == TABLE
    with pytest.raises(InputError, match="cannot be written"):
        TABLE.write(tmp_path / "one.json" / "below")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no table of a trained player"),
        ("[]", "no table of a trained player"),
        ("[" * 100_000, "no table of a trained player"),
        (signed().replace('"seer"', '"hunter"'), "its hash is that of other content"),
        (signed()[:-30], "no table of a trained player"),
        (signed(rows={"a": [1] * (MOST_NUMBERS + 1)}), "numbers in one"),
        (signed(rows={"a": ["x"]}), "no table of a trained player"),
        (signed(rows={"a": ["inf"]}), "a number is not finite"),
        (signed(method="lspo"), "trained as 'lspo'; write lspo@"),
        (" " * (MOST_BYTES + 1), "more than 4,000,000 bytes"),
        (None, "No such file or directory; make one with `apportion train player sla GAME FILE`"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    place = tmp_path / "file.json"
    if text is not None:
        place.write_text(text)
    with pytest.raises(InputError, match=why):
        LearnedTable.read(str(place), "sla")


def test_another_game_or_cast_is_refused_with_the_command_that_trains_for_it() -> None:
    werewolf, avalon = (game_called(kind).make(game_called(kind).options(), None) for kind in ("werewolf", "avalon"))
    here = replace(TABLE, roles=cast_of(werewolf.rules))
    here.check(Observation(werewolf, "Player 1"))
    for table, game in ((TABLE, werewolf), (here, avalon)):
        with pytest.raises(InputError, match=f"trained in werewolf of .*apportion train player sla {game.kind} FILE"):
            table.check(Observation(game, "Player 1"))
