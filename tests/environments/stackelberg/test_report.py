"""All tables of the Stackelberg Speaker from corpora that scripts played."""

import json
from pathlib import Path

import pytest

from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.league import LeagueChoice
from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.report_tables.table import Value
from apportion.environments.simulation import Simulation, write_corpus
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.stackelberg.curves import CosineSimilarity, read_nearness, table_6
from apportion.environments.stackelberg.games import Variants
from apportion.environments.stackelberg.report import StackelbergChoice, stackelberg_report
from apportion.environments.tournament.team_games.matches import TEAMS
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

SAMPLING = Sampling(resamples=200)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A corpus of each kind, two small leagues among them."""
    game = game_called("werewolf")
    choices: dict[str, Simulation] = {
        "pool": LeagueChoice(game, ("random",), 8),
        "teams": LeagueChoice(game, ("random",), 8, mode=TEAMS),
        "bargains": BargainingChoice(("conceding", "fair"), games=10),
        "social": SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=2, paired=True),
        "negotiation": NegotiationChoice(games=1),
    }
    root = tmp_path_factory.mktemp("played")
    for name, choice in choices.items():
        write_corpus(choice, root / name)
    return {name: root / name for name in choices}


def test_every_table_is_there_or_says_why_not(played: dict[str, Path]) -> None:
    places = tuple(played[name] for name in ("pool", "teams", "bargains", "social"))
    near = (CosineSimilarity(0, "s", 1, 0.5), CosineSimilarity(1, "s", 1, 0.7))
    report = stackelberg_report(StackelbergChoice(places, Variants(("conceding",)), instances=near), SAMPLING)
    tables = {table.key: table for table in report.tables}
    there = {key for key, table in tables.items() if not table.absent}
    games = {f"table_1_{game}" for game in ("werewolf", "avalon", "onuw")}
    assert there == {*games, "table_2", "table_3", "table_4_werewolf", "table_6", "table_7"}
    assert "beside conceding" in tables["table_3"].title and "seller conceding" in tables["table_7"].title
    row, *to_play = tables["table_1_werewolf"].rows
    assert [one[0] for one in to_play] == ["react", "recon", "sla", "lspo", "react+refiner", "lspo+refiner"]
    by_row = {rows: fill for _, fill, rows in tables["table_1_werewolf"].fills()}
    assert by_row["react, recon"] == (
        "apportion world tournament werewolf CORPUS --agents react,recon --model MODEL && "
        "apportion world tables stackelberg CORPUS"
    )
    assert "lspo+refiner" in tables["table_1_werewolf"].text()
    assert "lspo: it has not played (Table 1 of the Stackelberg Speaker): apportion train player lspo" in report.text()
    assert [row[0] for row in tables["table_3"].rows[:3]] == ["conceding", "random", "react"]
    assert row[0] == "random" and row[1].items == 40  # The league of teams is in Tables 2, 4 and 5 alone.
    assert tables["table_4_werewolf"].rows[0][1].items == 112
    assert "werewolf: 16 matches of 8 deals" in report.text()  # The same seed: the same deals.
    assert all(key in tables for key in ("table_2", "table_5", "figure_4", "figure_5", "figure_10"))


def test_before_anybody_has_played_every_row_says_how_it_is_filled() -> None:
    report = stackelberg_report(StackelbergChoice(()), SAMPLING)
    rows = {table.key: len(table.rows) for table in report.tables if not table.absent}
    games = {f"table_1_{game}": 6 for game in ("werewolf", "avalon", "onuw")}
    assert rows == {**games, "table_2": 4, "table_3": 8, "table_4_werewolf": 7}
    assert all(fill for table in report.tables for row in table.rows for fill in [row[1].fill])


def test_hard_tasks_are_a_column_of_their_own(played: dict[str, Path]) -> None:
    report = stackelberg_report(StackelbergChoice((played["social"],), hard=frozenset()), SAMPLING)
    table = next(table for table in report.tables if table.key == "table_3")
    assert table.columns == (
        "Method",
        "Goal, all tasks",
        "Overall, all tasks",
        "Goal, hard tasks",
        "Overall, hard tasks",
    )
    without = stackelberg_report(StackelbergChoice((played["social"],)), SAMPLING)
    assert "no file of hard tasks was given" in without.text()


def test_what_these_tables_are_not_of_is_refused(played: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="holds episodes of negotiation; these tables are of"):
        stackelberg_report(StackelbergChoice((played["negotiation"],)), SAMPLING)
    with pytest.raises(InputError, match="nobody plays who is called 'rndom'"):
        stackelberg_report(StackelbergChoice((played["pool"],), Variants(("rndom",))), SAMPLING)


def written(tmp_path: Path, rows) -> Path:
    path = tmp_path / "made_up.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def rows():
    """Each epoch 0.1 nearer than the one before, in every instance."""
    for epoch in range(3):
        for session in range(10):
            for turn in (1, 3):
                similarity = 0.3 + 0.01 * session + 0.1 * epoch
                yield {"epoch": epoch, "session": f"s{session}", "turn": turn, "similarity": similarity, "more": 1}


def test_epochs_are_compared_instance_by_instance(tmp_path: Path) -> None:
    table = table_6(read_nearness(written(tmp_path, rows())), Sampling(resamples=200))
    assert [row[0] for row in table.rows] == [0, 1, 2]
    assert isinstance(table.rows[0][2], Missing)
    more = table.rows[2][2]
    assert isinstance(more, Value) and (more.value, more.low, more.high) == pytest.approx((0.2, 0.2, 0.2))
    cosine = table.rows[1][1]
    assert cosine.value == pytest.approx(0.445) and cosine.items == 20 and cosine.episodes == 10
    assert cosine.low < cosine.value < cosine.high and table.picture is not None
    assert table_6((), Sampling()).absent == "no file of similarities was given"


def test_without_the_start_nothing_is_more(tmp_path: Path) -> None:
    later = [row for row in rows() if row["epoch"]]
    table = table_6(read_nearness(written(tmp_path, later)), Sampling(resamples=100))
    assert "epoch 0 has none of these instances" in table.text()


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"epoch": 0}',
        '{"epoch": 0.5, "session": "s", "turn": 1, "similarity": 0.1}',
        '{"epoch": -1, "session": "s", "turn": 1, "similarity": 0.1}',
        '{"epoch": 0, "session": 1, "turn": 1, "similarity": 0.1}',
        '{"epoch": 0, "session": "s", "turn": 1, "similarity": NaN}',
        '{"epoch": 0, "session": "s", "turn": 1, "similarity": 1.5}',
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=r"line 1: (no similarity of an instance|not valid JSON|a JSON object)"):
        read_nearness(path)


def test_a_file_without_any_or_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("\n")
    with pytest.raises(InputError, match="holds no similarity"):
        read_nearness(path)
    with pytest.raises(InputError, match="is a folder"):
        read_nearness(tmp_path)
