"""SAVOIR's tables against means by hand, and why others are not there."""

from pathlib import Path

import numpy as np
import pytest

from apportion.environments.sotopia.reports.episode_scores import OVERALL
from apportion.environments.sotopia.reports.policies import PolicyComparison, most_met, only_partner, trained_report
from apportion.environments.sotopia.reports.raters import RatedEpisodes
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing
from tests.environments.sotopia.reports.made import SAMPLING, Made, every, read

REACHED = {"small": 4.0, "big": 8.0, "wall": 2.0}


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> RatedEpisodes:
    """Three agents with themselves, and two of them with `wall` in both seats; GOAL differs by agent and partner."""
    made = Made()
    pairs = [(name, name) for name in REACHED] + [(name, "wall") for name in ("small", "big")]
    pairs += [(second, first) for first, second in pairs if first != second] + [("small", "big")]
    for number in range(4):
        for agents in pairs:
            scores = []
            for place, agent in enumerate(agents):
                goal = REACHED[agent] - (agents[1 - place] == "wall") + number % 2
                scores.append({"paper@m": every(0.5) | {"GOAL": goal}})
            made.episode(agents, (scores[0], scores[1]), scenario=f"Place {number}")
    return read(made.write(tmp_path_factory.mktemp("made") / "c"))


def cells(report, key: str) -> list[dict]:
    document = next(table for table in report.tables if table.key == key).to_json()
    return [dict(zip(document["columns"], row, strict=True)) for row in document["rows"]]


def test_table_1_has_self_play_and_the_fixed_partner_on_all_and_on_hard_tasks(rated: RatedEpisodes) -> None:
    hard = frozenset(seat.task for seat in rated.seats if seat.task.scenario in ("Place 0", "Place 1"))
    assert (
        most_met({"wall": (), **{seat.agent: [seat] for seat in rated.seats if seat.partners == ("wall",)}}) == "wall"
    )
    report = trained_report(rated, PolicyComparison(hard, "wall"), SAMPLING)
    rows = {row["Agent"]: row for row in cells(report, "savoir_table_1")}
    assert list(rows)[:3] == ["big", "small", "wall"]
    assert list(rows)[3:] == ["Qwen2.5-7B-Instruct", "ppdpp", "epo", "dat", "dsi", "sotopia-rl", "savoir"]
    for agent, row in list(rows.items())[:3]:
        for title, other in (("Self-play", agent), ("With wall", "wall")):
            seats = [s for s in rated.seats if s.agent == agent and only_partner(s) == other]
            for tasks, chosen in (("all", seats), ("hard", [s for s in seats if s.task in hard])):
                for called, dimension in (("GOAL", "GOAL"), ("AVG", OVERALL)):
                    told = row[f"{title}, {tasks}: {called}"]
                    values = [seat.score("paper@m", dimension) for seat in chosen]
                    assert told["value"] == pytest.approx(np.mean(values)) and told["n"] == len(values)
                    assert told["low"] <= told["value"] <= told["high"]
    assert rows["big"]["Self-play, all: GOAL"]["mark"] == "*" and "mark" not in rows["small"]["Self-play, all: GOAL"]
    assert rows["big"]["With wall, all: GOAL"]["value"] == 7.5
    assert report.head == "Trained policies in social episodes" and "simulated" in report.text()


def test_more_annotations_are_a_row_each(rated: RatedEpisodes) -> None:
    sizes = {"big": 7500, "small": 2000}
    rows = cells(trained_report(rated, PolicyComparison(None, "wall", sizes), SAMPLING), "savoir_figure_8")
    assert [(row["Annotations"], row["Agent"], row["GOAL"]["value"]) for row in rows] == [
        (2000, "small", 3.5), (7500, "big", 7.5),
    ]  # fmt: skip


def test_what_is_missing_says_why(rated: RatedEpisodes, tmp_path: Path) -> None:
    report = trained_report(rated, PolicyComparison(), SAMPLING)
    assert "not there, because no agent's number of annotations was given" in report.text()
    assert "no file of hard tasks was given" in report.markdown()
    hard = trained_report(rated, PolicyComparison(frozenset()), SAMPLING)
    assert "not there, because no agent played with another one there" in hard.text()
    assert all(row["Self-play, hard: GOAL"]["value"] is None for row in cells(hard, "savoir_table_1"))
    with pytest.raises(InputError, match="nobody plays who is called 'wal': did you mean 'wall'"):
        trained_report(rated, PolicyComparison(None, "wal"), SAMPLING)
    with pytest.raises(InputError, match="nobody plays who is called 'b'"):
        trained_report(rated, PolicyComparison(None, None, {"b": 3}), SAMPLING)
    alone, nobody = Made(), Made()
    alone.episode(("small", "small"), ({"paper@m": {"GOAL": 0.0}}, {"paper@m": {"GOAL": -0.0}}))
    nobody.episode(("", ""), ({"paper@m": {"GOAL": 1.0}}, {}))
    lonely = trained_report(read(alone.write(tmp_path / "a")), PolicyComparison(None, None, {"small": 3}), SAMPLING)
    assert (
        "With" not in "".join(lonely.tables[0].columns)
        and lonely.tables[2].absent == "no agent played with another one"
    )
    assert "AVG not there" in lonely.tables[0].text() or "nobody rated it" in lonely.tables[0].text()
    unnamed = trained_report(read(nobody.write(tmp_path / "n")), PolicyComparison(), SAMPLING)
    assert all(table.absent for table in unnamed.tables[1:])
    assert all(isinstance(one, Missing) and one.fill for row in unnamed.tables[0].rows for one in row[1:])


def test_before_anybody_has_played_every_row_says_how_it_is_filled() -> None:
    report = trained_report(RatedEpisodes.none(), PolicyComparison(), SAMPLING)
    assert "judge (nobody yet)" in report.text() and "'nobody'" not in report.text()
    fills = {rows: fill for _, fill, rows in report.tables[0].fills()}
    assert fills["ppdpp"].startswith("apportion train player ppdpp sotopia ppdpp --policy Qwen/")
    assert len(report.tables[0].columns) == 9 and "apportion run savoir.toml" in fills["savoir"]


def test_an_agent_that_reaches_nothing_has_no_change(tmp_path: Path) -> None:
    made = Made()
    made.episode(("small", "wall"), ({"paper@m": {"GOAL": 0.0}}, {"paper@m": {"GOAL": 1.0}}))
    rows = cells(trained_report(read(made.write(tmp_path / "c")), PolicyComparison(), SAMPLING), "savoir_figure_7")
    assert rows[0]["Agent"] == "small" and rows[0]["GOAL beside its best, %"]["because"].startswith("no GOAL above 0")
