"""Tables against scipy and numbers by hand, and why others are not there."""

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.report_tables.report import Report
from apportion.environments.report_tables.table import Table
from apportion.environments.sotopia.reports.episode_scores import TaskId
from apportion.environments.sotopia.reports.raters import RatedEpisodes
from apportion.environments.sotopia.reports.report import report
from apportion.foundation.errors import InputError
from tests.environments.sotopia.reports.made import NAMES, SAMPLING, Made, every, read

EVIL = "</text><script>alert(1)</script>|\x1b[2J"


def drawn(draws: random.Random, spread: int) -> dict[str, float]:
    return {name: low + 5 + draws.randint(-spread, spread) for name, (low, _) in RANGES.items()}


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> RatedEpisodes:
    """60 episodes of two models and of people, judged in two wordings and by two people."""
    made, draws = Made(), random.Random(7)
    pairs = [("big", "big"), ("big", "small"), ("small", "big"), ("small", "small")] * 10
    pairs += [("big", "person"), ("person", "big"), ("person", "person"), ("person", "person")] * 5
    for number, agents in enumerate(pairs):
        scores = []
        for agent in agents:
            given = {who: drawn(draws, 4) for who in ("paper@m", "fine-grained@m", "p1", "p2")}
            given["paper@m"]["SEC"] = 0.0
            given["paper@m"]["GOAL"] = {"big": 8.0, "small": 4.0, "person": 6.0}[agent] + draws.randint(-1, 1)
            scores.append(given)
        made.episode(agents, tuple(scores), scenario=f"Place {number % 5}")
    return read(made.write(tmp_path_factory.mktemp("made") / "c"), "p1", "p2")


@pytest.fixture(scope="module")
def made_report(rated: RatedEpisodes) -> Report:
    return report(rated, SAMPLING, frozenset(seat.task for seat in rated.seats if seat.task.scenario == "Place 0"))


def table(made: Report, key: str) -> Table:
    return next(one for one in made.tables if one.key == key)


def cell(made: Report, key: str, row: str, column: str) -> dict:
    document = table(made, key).to_json()
    cells = next(cells for cells in document["rows"] if cells[0] == row)
    return cells[document["columns"].index(column)]


def test_table_1_is_scipys_correlation(made_report: Report, rated: RatedEpisodes) -> None:
    for group, wanted in (("Models", False), ("Humans", True)):
        seats = [seat for seat in rated.seats if (seat.agent == "person") is wanted]
        x = [seat.scores["paper@m"]["REL"] for seat in seats]
        y = [(seat.scores["p1"]["REL"] + seat.scores["p2"]["REL"]) / 2 for seat in seats]
        found, theirs = cell(made_report, "table_1", "REL", group), stats.pearsonr(x, y)
        assert found["value"] == pytest.approx(theirs.statistic) and found["p"] == pytest.approx(theirs.pvalue)
        assert found["n"] == len(seats) and found["low"] < found["value"] < found["high"]
    constant = cell(made_report, "table_1", "SEC", "Models")
    assert constant["value"] is None and "constant: all 90 scores of the judge are 0" in constant["because"]
    assert "constant" in table(made_report, "table_1").text()


def test_table_2_has_means_and_scipys_t_test(made_report: Report, rated: RatedEpisodes) -> None:
    with_people = {seat.episode for seat in rated.seats if seat.agent == "person"}
    by = {
        model: [
            seat.scores["paper@m"]["GOAL"]
            for seat in rated.seats
            if seat.agent == model and seat.episode not in with_people
        ]
        for model in ("big", "small")
    }
    big, small = (cell(made_report, "table_2", "GOAL", model) for model in ("big", "small"))
    assert (big["value"], small["value"]) == (np.mean(by["big"]), np.mean(by["small"])) and big["n"] == 40
    assert big["p"] == pytest.approx(stats.ttest_ind(by["big"], by["small"]).pvalue) and big["mark"] == "*"
    assert small["p"] is None
    assert table(made_report, "table_2").to_json()["rows"][-1][0] == "Overall"


def test_pairs_are_the_means_of_the_model_with_the_partner(made_report: Report, rated: RatedEpisodes) -> None:
    rows = table(made_report, "figure_g4").to_json()["rows"]
    seats = [seat for seat in rated.seats if (seat.agent, seat.partners) == ("small", ("big",))]
    found = next(row for row in rows if row[:2] == ["big", "small"])
    assert found[2]["value"] == np.mean([seat.scores["paper@m"]["GOAL"] for seat in seats]) and found[2]["n"] == 20
    assert [row[:2] for row in table(made_report, "figure_3").to_json()["rows"]] == [row[:2] for row in rows]
    hard = table(made_report, "figure_g5").to_json()["rows"]
    assert sum(row[2]["n"] for row in hard) < sum(row[2]["n"] for row in rows)


def test_people_who_play_are_held_to_the_model_they_play_with(rated: RatedEpisodes) -> None:
    made = report(rated, SAMPLING)
    groups = {"big (w Human)": [], "Human (w big)": [], "Human (w Human)": []}
    for seat in rated.seats:
        if "person" in (seat.agent, *seat.partners):
            who, partner = ("Human" if agent == "person" else "big" for agent in (seat.agent, seat.partners[0]))
            groups[f"{who} (w {partner})"].append(seat.scores["paper@m"]["GOAL"])
    for who, scores in groups.items():
        assert cell(made, "table_3", who, "GOAL")["value"] == pytest.approx(np.mean(scores))
    for who in ("Human (w big)", "Human (w Human)"):
        p = stats.ttest_ind(groups[who], groups["big (w Human)"]).pvalue
        assert cell(made, "table_3", who, "GOAL")["p"] == pytest.approx(p)
    assert [row[0] for row in table(made, "table_g4").to_json()["rows"]] == list(groups)


def test_agreement_of_people_by_hand(tmp_path: Path) -> None:
    made = Made()
    for one, other in ((0.0, 1.0), (2.0, 3.0), (9.0, 2.0), (5.0, 4.0), (10.0, 10.0)):
        made.episode(scores=({"j": {"GOAL": 5.0}, "p": {"GOAL": one}, "q": {"GOAL": other}}, {}))
    found = report(read(made.write(tmp_path / "c"), "p", "q"), SAMPLING)
    assert cell(found, "table_e1", "GOAL", "Same of 5 bins")["value"] == pytest.approx(0.8)
    assert cell(found, "table_e1", "GOAL", "kappa, 5 bins")["value"] == pytest.approx(0.75)
    assert cell(found, "table_e1", "GOAL", "1 - |difference| / range")["value"] == pytest.approx(1 - 1.0 / 5)
    assert cell(found, "table_e1", "All seven", "kappa, 11 bins")["value"] == pytest.approx((0.2 - 1 / 11) / (10 / 11))
    assert cell(found, "table_e1", "BEL", "kappa, 5 bins")["because"] == "nobody was rated by two people"
    ranges = table(found, "figure_g1").to_json()["rows"]
    ends = [(0.0, 1.0), (2.0, 3.0), (2.0, 9.0), (4.0, 5.0), (10.0, 10.0)]
    assert [row[:4] for row in ranges] == [["GOAL", 1, *pair] for pair in ends]
    assert [row[5] for row in ranges] == ["above", "above", "inside", "inside", "below"]
    assert table(found, "figure_g2").absent == "nobody was rated by two people in the same dimension"


def test_differences_by_hand(tmp_path: Path) -> None:
    made = Made()
    for judge, person in ((5.0, 5.0), (9.0, 5.0), (5.0, 6.0), (5.0, 6.0)):
        made.episode(scores=({"j": {"GOAL": judge}, "p": {"GOAL": person}}, {}))
    found = report(read(made.write(tmp_path / "c"), "p"), SAMPLING)
    values = [one["value"] for one in table(found, "figure_2").to_json()["rows"][-1][1:]]
    assert values == pytest.approx([0.5, np.std([0, 4, -1, -1]), 0.75, 0.25, 0.0])


def test_words_are_counted_by_turn(tmp_path: Path) -> None:
    made = Made()
    texts = ("one two", "one", "one two three four", "[none] did nothing")
    made.episode(("m", "person"), ({"j": {"GOAL": 1.0}}, {}), texts=texts)
    found = report(read(made.write(tmp_path / "c")), SAMPLING)
    rows = table(found, "words_a_turn").to_json()["rows"]
    assert [(row[0], row[1]["value"], row[2], row[3]) for row in rows] == [("Human", 1.0, 1, 2), ("m", 3.0, 2, 2)]


def test_what_cannot_be_made_says_why(tmp_path: Path) -> None:
    made = Made()
    made.episode(("m", "n"), ({"rules": {"GOAL": 0.0}}, {"rules": {"GOAL": 10.0}}))
    made.episode(("", ""), ({"rules": {"GOAL": 5.0}}, {}))
    found = report(read(made.write(tmp_path / "c")), SAMPLING)
    absent = {one.key: one.absent for one in found.tables if one.absent}
    assert absent["table_1"] == absent["table_e1"] == absent["figure_g1"] == "no annotator is named as a person"
    assert absent["table_3"] == "no person plays in these episodes"
    assert absent["figure_g5"] == "no file of hard tasks was given"
    assert cell(found, "figure_3", "m", "Overall")["because"] == "nobody rated it"
    text = found.text()
    assert "– not there, because nobody rated it: SOC; SEC; FIN; REL; KNO; BEL; Overall\n" in text, "told once a row"
    assert "'rules' (rules; not SOTOPIA-EVAL)" in text and "no person spoke" in text
    assert "GOAL 1" in text and "BEL 4" in text, "what is not rated is counted"
    assert cell(found, "table_2", "GOAL", "m")["value"] == 0.0 and cell(found, "table_2", "BEL", "m")["value"] is None
    people = report(read(tmp_path / "c"), SAMPLING, frozenset())
    assert table(people, "figure_g5").absent == "none of these tasks was played by two models"


def test_one_judge_or_one_wording_is_too_few(tmp_path: Path) -> None:
    made = Made()
    made.episode(scores=({"paper@m": every(0.5), "p": every(0.5)}, {}))
    found = report(read(made.write(tmp_path / "c"), "p"), SAMPLING)
    assert table(found, "table_g1").absent == "there is no second judge beside 'paper@m'"
    assert table(found, "table_g2").absent.startswith("no model judges in both wordings")
    assert cell(found, "table_1", "GOAL", "Models")["because"] == "fewer than 3 pairs (1)"


def test_hard_tasks_that_no_person_played(rated: RatedEpisodes) -> None:
    found = report(rated, SAMPLING, frozenset([TaskId("elsewhere", ())]))
    assert table(found, "table_3").absent == "no person plays one of the hard tasks"


def test_files_are_written_and_names_do_no_harm(tmp_path: Path) -> None:
    made = Made()
    judge = EVIL
    for one in range(4):
        made.episode(
            (f"m{EVIL}", "n"), ({judge: every(one / 4), "p": every(0.5)}, {judge: every(0.1), "p": every(one / 4)})
        )
    found = report(read(made.write(tmp_path / "c"), "p"), SAMPLING)
    written = found.write(tmp_path / "out")
    assert {path.suffix for path in written} == {".txt", ".md", ".json", ".svg"}
    for path in written:
        text = path.read_text()
        if path.suffix == ".json":
            json.loads(text)
        elif path.suffix == ".svg":
            ElementTree.fromstring(text)
            assert "<script" not in text
        else:
            assert "\x1b" not in text
            assert path.suffix != ".md" or "<script" not in text.replace("\\<", "")
        assert "simulated" in text
    assert set(NAMES).isdisjoint(found.text().split()), "no character is named"


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, made_report: Report) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        made_report.write(tmp_path / "out")
