"""Tables 1, 2, 4 and 5, and Figures 4, 5 and 10, on made-up leagues; and what the paper's own figures say."""

from dataclasses import replace
from pathlib import Path

import pytest

from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.report_tables.table import AnnotatedCell, Table, Value
from apportion.environments.simulation import write_corpus
from apportion.environments.stackelberg.curves import figure_4, figure_5, figure_10
from apportion.environments.stackelberg.games import Variants, table_1, table_2, table_4, table_5, table_7
from apportion.environments.stackelberg.paper_rows import SIDES, refined_by
from apportion.environments.tournament.results import Result, read_results
from apportion.environments.tournament.team_games.matches import Matches
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.proportion import wilson
from apportion.foundation.intervals.resampling import Sampling
from tests.environments.tournament.team_games.made import VILLAGE, WOLVES, league, match

SAMPLING = Sampling(resamples=300)
TEAMS = [league(50, teams=True)]
VARIANTS = Variants(
    ("middle",),
    {"weak": "negative-only", "strong": "full"},
    {"strong": 3, "weak": 1, "middle": 2},
    {"strong": 4000, "weak": 1000},
    {"weak": "gpt-5", "middle": "gpt-5", "strong": "qwen3-14b"},
)


def value(cell):
    return cell.figure if isinstance(cell, AnnotatedCell) else cell


def renamed(matches: Matches, game: str, names: dict[str, str]) -> Matches:
    """The same matches of another game by agents of other names."""
    found = [
        replace(one, seats=tuple(replace(seat, agent=names[seat.agent]) for seat in one.seats))
        for one in matches.matches
    ]
    return replace(matches, game=game, matches=tuple(found))


def fills_of(table: Table) -> dict[str, str]:
    """By rows the command that fills them."""
    return {rows: fill for _, fill, rows in table.fills()}


def test_table_1_is_of_seats_drawn_from_the_pool() -> None:
    table, *not_played = table_1([league(60)], SAMPLING)
    assert table.key == "table_1_werewolf_made_up" and len(table.rows) == 3
    assert [one.key for one in not_played] == ["table_1_werewolf", "table_1_avalon", "table_1_onuw"]
    named, *_ = table_1(
        [renamed(league(8), "onuw", {"weak": "belief@m", "middle": "react@m+refiner@runs/r", "strong": "random"})],
        SAMPLING,
    )
    assert [row[0] for row in named.rows[3:]] == ["react", "llm-ins", "rl-ins", "rl-ins+refiner"]
    by_row = fills_of(named)
    assert "--agents react,belief,llm-ins --model" in by_row["react, llm-ins"]
    assert by_row["rl-ins"].startswith("apportion train player rl-ins onuw rl-ins.json && apportion w")
    assert "--agents react,belief,llm-ins,llm-ins+rl-ins@rl-ins.json --model" in by_row["rl-ins"]
    nothing = table_1(TEAMS, SAMPLING)
    assert [one.columns[1] for one in nothing] == ["Team village", "Team good", "Team village"]
    assert [len(one.rows) for one in nothing] == [6, 6, 6] and "it has not played: react; recon" in nothing[0].text()


def test_table_2_has_the_opponent_first_and_marks_what_differs_from_it() -> None:
    table = table_2(TEAMS, VARIANTS, SAMPLING)
    assert [row[0] for row in table.rows] == ["middle", "strong (full)", "weak (negative-only)"]
    village, wolves, average = map(value, table.rows[1][1:])
    assert average.value == pytest.approx((village.value + wolves.value) / 2) and average.value > 65
    assert all(isinstance(cell, AnnotatedCell) for cell in table.rows[1][1:])
    assert not any(isinstance(cell, AnnotatedCell) for cell in table.rows[0])
    # An agent with itself wins as one team what it loses as the other.
    assert value(table.rows[0][3]).value == pytest.approx(50)
    unnamed = table_2(TEAMS, Variants(), SAMPLING)
    assert [row[0] for row in unnamed.rows] == ["react", *(refined_by(one) for one in SIDES)]
    assert len(unnamed.columns) == 10 and "name with --reward" in unnamed.text()


def test_table_2_tells_rewards_that_nobody_was_trained_by() -> None:
    made = league(20, agents=("weak", "strong"), teams=True)
    played = renamed(made, "avalon", {"weak": "react@m", "strong": "react@m+refiner@p"})
    table = table_2([played], Variants(("react@m",), {"react@m+refiner@p": "positive-only"}), SAMPLING)
    assert [row[0] for row in table.rows] == [
        "react@m", "react@m+refiner@p (positive-only)", refined_by("negative-only"), refined_by("full"),
    ]  # fmt: skip
    assert "apportion train refiner full-avalon.toml" in fills_of(table)[refined_by("full")]


def test_table_5_is_of_every_agent_against_whom_most_others_met() -> None:
    table = table_5(TEAMS, Variants(), SAMPLING)
    assert [row[0] for row in table.rows] == ["middle", "strong", "weak"] and "against middle" in table.title
    alone = league(4, agents=("middle",), teams=True)
    assert table_5([alone], Variants(), SAMPLING).absent == "no agent met another one, team against team"


def test_table_4_is_of_games_with_votes() -> None:
    table, _ = table_4(TEAMS, SAMPLING)
    assert table.columns[1:] == ("Avg. votes (lower is better)", "Avg. votes by people", "Win rate, %")
    none = Matches("g", (VILLAGE, WOLVES), (match("m", "aaaaaab", True),))
    (to_play,) = table_4([none], SAMPLING)
    assert [row[0] for row in to_play.rows][:3] == ["person", "react", "recon"]
    assert "apportion world play werewolf CORPUS --with react," in fills_of(to_play)["person, react, recon"]


def test_figures_by_number_and_by_model() -> None:
    by_k = figure_4(TEAMS, VARIANTS, SAMPLING)
    assert [row[:2] for row in by_k.rows] == [(1, "weak"), (2, "middle"), (3, "strong")]
    assert by_k.picture is not None and ">3</text>" in by_k.picture
    by_size = figure_10(TEAMS, VARIANTS, SAMPLING)
    assert [row[0] for row in by_size.rows] == [1000, 4000] and ">4,000</text>" in str(by_size.picture)
    by_model = figure_5(TEAMS, VARIANTS, SAMPLING)
    assert [row[:3] for row in by_model.rows] == [
        ("gpt-5", "middle", "middle"),
        ("gpt-5", "weak", "middle"),
        ("qwen3-14b", "strong", "middle"),
    ]
    nothing = Variants()
    for made in (figure_4, figure_5, figure_10):
        assert made(TEAMS, nothing, SAMPLING).absent
        assert made([], Variants(intents={"a": 1}, instances={"a": 1}, models={"a": "m"}), SAMPLING).absent


def test_who_does_not_play_is_named() -> None:
    with pytest.raises(InputError, match="nobody plays who is called 'strng': did you mean 'strong'"):
        Variants(rewards={"strng": "full"}).check({"strong", "weak"})
    with pytest.raises(InputError, match="nobody plays"):
        Variants(("x",)).check(())


def test_a_figure_that_cannot_be_is_told() -> None:
    met = Matches("g", (VILLAGE, WOLVES), (match("m", "wwsssss", True, drawn=False),))
    table = table_5([met], Variants(("w",)), SAMPLING)
    assert "it never sat there" in table.text() and isinstance(value(table.rows[1][1]), Value)


def bargain(task: int, buyer: str, share: float | None, seller: str = "react") -> Result:
    scores = {"snp": 0.0} if share is None else {"snp": share, "share": share}
    return Result(f"{task}-{buyer}", str(task), (buyer, seller), (scores, {}))


def test_against_a_count_by_hand() -> None:
    made = [bargain(task, "ours", 0.5 if task % 2 else None) for task in range(20)]
    made += [bargain(task, "react", None) for task in range(20)] + [bargain(0, "react", 0.9, "other")]
    table = table_7(made, (), Sampling(resamples=200))
    assert "against the seller react" in table.title
    (ours, react) = table.rows
    low, high = wilson(0.5, 19)  # One less: the variance is estimated.
    assert (ours[1].value, ours[1].low, ours[1].high) == pytest.approx((50, 100 * low, 100 * high))
    assert ours[2].value == pytest.approx(0.25) and ours[3].value == pytest.approx(50) and ours[3].items == 10
    assert react[1].value == 0 and "no bargain ended in a deal" in table.text()
    assert "the seller other" in table_7(made, ("nobody", "other"), Sampling(resamples=200)).title
    assert table_7([], (), Sampling(resamples=200)).absent


def test_scripts_that_bargain(tmp_path: Path) -> None:
    write_corpus(BargainingChoice(("conceding", "greedy"), games=20), tmp_path)
    rows = {
        row[0]: row for row in table_7(read_results(tmp_path).results, ("conceding",), Sampling(resamples=200)).rows
    }
    assert rows["conceding"][1].items == rows["greedy"][1].items == 20
    assert rows["conceding"][1].value == 100
