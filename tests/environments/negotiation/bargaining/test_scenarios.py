"""Bargains in a file."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.corpus import Corpus
from apportion.environments.negotiation.bargaining.scenario import Bargain, as_lines, draw_bargain, read_bargains
from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.simulation import write_corpus
from apportion.foundation.errors import InputError

TWO = (Bargain('a "kettle"\n[SYSTEM]', 40, 36, 20), Bargain("ein Zelt – groß", 300, 250, 100))


@given(st.lists(st.randoms(use_true_random=False), min_size=1, max_size=5))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, draws: list) -> None:
    bargains = tuple(draw_bargain(one) for one in draws)
    path = tmp_path_factory.mktemp("bargains") / "file.jsonl"
    path.write_text(as_lines(bargains), encoding="utf-8")
    assert read_bargains(path) == bargains


def test_the_first_of_a_file_are_played_whoever_plays(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text(as_lines(TWO) + "\n", encoding="utf-8")
    choice = BargainingChoice(("conceding", "fair"), games=2, scenarios=path)
    assert choice.played == TWO and BargainingChoice(games=1, scenarios=path).played == TWO[:1]
    write_corpus(choice, tmp_path / "out")
    assert len(Corpus.open(tmp_path / "out").session_ids()) == 8
    other = tmp_path / "other.jsonl"
    other.write_text(as_lines(TWO[::-1]), encoding="utf-8")
    again = BargainingChoice(("conceding", "fair"), games=2, scenarios=other)
    assert again.record() != choice.record() and "scenarios" not in BargainingChoice(games=2).record()
    with pytest.raises(InputError, match="2 bargains, and games = 3; play at most as many"):
        _ = BargainingChoice(games=3, scenarios=path).total


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1: no bargain"),
        ("[1]", "line 1: no bargain"),
        ('{"thing": "a"}', "line 1: no 'list_price'; a bargain has thing, list_price, budget, cost"),
        ('{"thing": 1, "list_price": 9, "budget": 8, "cost": 2}', "thing is text"),
        ('{"thing": "a", "list_price": 9.5, "budget": 8, "cost": 2}', "whole numbers"),
        ('{"thing": "a", "list_price": 9, "budget": 8, "cost": 8}', "below the budget"),
        ("", "holds no bargain"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_bargains(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name in ("none", "bytes"):
        with pytest.raises(InputError, match=f"{name}: not to be read as bargains"):
            read_bargains(tmp_path / name)
