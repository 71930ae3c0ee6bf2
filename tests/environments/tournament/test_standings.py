"""The table of a tournament."""

import json
import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import LOG, UNRATED
from apportion.environments.report_tables.chart import chart
from apportion.environments.report_tables.table import Value
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.tournament.page import page, summary, write_table
from apportion.environments.tournament.results import Result, Results, read_results
from apportion.environments.tournament.standings import Mean, mean_over_tasks, paired_test, standings
from apportion.foundation.errors import InputError
from apportion.foundation.intervals.estimate import Missing

AGENTS = ("a", "b", "c")


def tournament(score, tasks=6, repeats=1, agents=AGENTS):
    """Every ordered pair plays every task; ``score(task, seat, agent, partner, repeat)``."""
    return Results(
        "rules",
        tuple(
            Result(
                f"{task}-{pair}-{repeat}",
                str(task),
                pair,
                tuple({"GOAL": float(score(task, seat, pair[seat], pair[1 - seat], repeat))} for seat in (0, 1)),
            )
            for task in range(tasks)
            for pair in product(agents, repeat=2)
            for repeat in range(repeats)
        ),
    )


def test_against_means_of_a_whole_array() -> None:
    """With every cell there, each figure is a plain mean over axes of one array."""
    rng = np.random.default_rng(0)
    values = rng.normal(5, 2, (6, 2, 3, 3, 2))  # task, seat, agent, partner, repeat

    def score(task, seat, agent, partner, repeat):
        return values[task, seat, AGENTS.index(agent), AGENTS.index(partner), repeat]

    (table,) = standings(tournament(score, repeats=2)).dimensions
    for i, row in enumerate(table.agents):
        assert [mean.value for mean in row.seats] == pytest.approx(values[:, :, i].mean((0, 2, 3)))
        assert row.all_seats.value == pytest.approx(values[:, :, i].mean()) and row.all_seats.tasks == 6
    for row in table.seatings:
        one, other = (AGENTS.index(agent) for agent in row.seating)
        expected = (values[:, 0, one, other].mean(), values[:, 1, other, one].mean())
        assert [mean.value for mean in row.seats] == pytest.approx(expected) and row.episodes == 12
    for row in table.pairs:
        one, other = AGENTS.index(row.one), AGENTS.index(row.other)
        by_task = values.mean((1, 3, 4))
        expected = stats.ttest_rel(by_task[:, one], by_task[:, other])
        assert (row.test.t, row.test.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert [(row.one, row.other) for row in table.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_what_a_task_and_its_seats_are_worth_does_not_count_between_agents() -> None:
    """Tasks and seats differ a lot, agents by exactly 1: pairing leaves nothing else."""
    (table,) = standings(tournament(lambda task, seat, agent, *_: 10 * task + 3 * seat + "abc".index(agent))).dimensions
    assert [row.test.difference.value for row in table.pairs] == pytest.approx([-1, -2, -1])
    assert all(row.test.p is None for row in table.pairs)  # Every task says the same: nothing to test.


@given(st.integers(1, 4), st.integers(0, 99))
def test_more_repeats_of_one_task_give_it_no_more_weight(repeats: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=4)
    once = tournament(lambda task, *_: values[task], tasks=4)
    more = tuple(r for r in tournament(lambda task, *_: values[task], 4, repeats).results if r.task == "0")
    both = Results("rules", (*once.results, *more))
    assert standings(both).dimensions[0].agents[0].all_seats.value == pytest.approx(values.mean())


def test_missing_scores_are_in_no_figure_and_counted() -> None:
    whole = tournament(lambda task, seat, agent, *_: task + (agent == "a"), tasks=3, agents=("a", "b"))
    gone = tuple(
        Result(r.episode, r.task, r.seating, ({}, {})) if r.task == "2" and r.seating == ("a", "b") else r
        for r in whole.results
    )
    table = standings(Results("rules", gone, ("lost",)))
    assert table.unscored == 1 and table.tasks == 3
    (goal,) = table.dimensions
    (pair,) = goal.pairs
    assert pair.test.tasks == 3 and pair.test.difference.value == pytest.approx(1.0)
    row = next(row for row in goal.seatings if row.seating == ("a", "b"))
    assert row.seats[0].tasks == 2 and row.episodes == 3
    nobody = Results("rules", (Result("e", "t", ("a", "b"), ({"GOAL": 1.0}, {})),))
    (goal,) = standings(nobody).dimensions
    assert goal.agents[1].all_seats is None and goal.pairs == ()
    assert "| b | – | – | – | 0 |" in page(standings(nobody), "t")


def test_it_is_plain_json_and_its_page_holds_every_figure_and_no_markup_of_names() -> None:
    names = ("base@m", "x|<b>\n# y")
    rng = np.random.default_rng(1)
    results = tournament(lambda *_: rng.normal(5, 1), agents=names)
    table = standings(results)
    document = json.loads(json.dumps(table.to_json(), allow_nan=False))
    assert document["dimensions"][0]["agents"][0]["agent"] == "base@m" and document["tasks"] == 6
    text = page(table, "a tournament")
    assert text.startswith("# a tournament\n\n24 episodes of 6 tasks") and "x\\|\\<b\\> # y" in text
    assert "<b>" not in text and "\n# y" not in text
    figure = document["dimensions"][0]["agents"][0]["all_seats"]
    assert f"{figure['value']:.2f} [{figure['low']:.2f}, {figure['high']:.2f}]" in text


def test_no_score_at_all_is_said() -> None:
    nothing = standings(Results("rules", (Result("e", "t", ("a", "b"), ({}, {})),), ("f",)))
    assert "No score is known" in page(nothing, "t") and "1 episodes have no score" in page(nothing, "t")


def test_the_best_of_a_column_has_a_mark_where_it_is_better_than_the_second() -> None:
    """As the paper's Table 2 bolds: c is far better than b; without noise there is nothing to test."""
    rng = np.random.default_rng(2)
    scores = {"a": 0.0, "b": 4.0, "c": 5.0}
    clear = standings(tournament(lambda task, seat, agent, *_: scores[agent] + rng.normal(0, 0.3)))
    lines = summary(clear).splitlines()
    assert lines[0].startswith("54 episodes of 6 tasks") and "| agent | GOAL |" in lines
    (best,) = (line for line in lines if line.endswith("† |"))
    assert best.startswith("| c | 5.")
    close = standings(tournament(lambda task, *_: rng.normal(0, 3)))
    assert "† |" not in summary(close)


def test_a_mean_has_the_interval_of_scipy_s_percentile_bootstrap() -> None:
    values = np.random.default_rng(3).normal(5, 2, 40)
    ours = mean_over_tasks(values.tolist())
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", random_state=1)
    assert ours.value == pytest.approx(values.mean()) and ours.tasks == 40
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.06)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.06)
    assert ours == mean_over_tasks(values.tolist())


def test_one_task_and_equal_values_have_no_width() -> None:
    assert mean_over_tasks([3.0]) == Mean(3.0, None, None, 1)
    assert mean_over_tasks([3.0, 3.0, 3.0]) == Mean(3.0, 3.0, 3.0, 3)


def test_what_cannot_be_tested_is_not() -> None:
    assert paired_test([1.0], [2.0]).p is None
    equal = paired_test([1.1, 2.1, 3.1], [1.0, 2.0, 3.0])
    assert (equal.t, equal.p) == (None, None) and equal.difference.value == pytest.approx(0.1)


TABLE = standings(Results("rules", (Result("e", "t", ("a", "b"), ({"GOAL": 1.0}, {"GOAL": 2.0})),)))


def test_both_are_written_whole(tmp_path: Path) -> None:
    document, text = write_table(tmp_path, TABLE, "one")
    assert json.loads(document.read_text())["agents"] == ["a", "b"] and text.read_text().startswith("# one\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tournament.json", "tournament.md"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        write_table(tmp_path / "file", TABLE, "one")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results") / "play"
    write_corpus(SimulationChoice(("conceding", "random"), ("used_bicycle", "surprise_party"), pairs=2, seed=3), out)
    return out


def test_the_log_has_every_score_of_the_rules(folder: Path) -> None:
    found = read_results(folder)
    assert found.agents == ("conceding", "random") and len(found.tasks) == 4 and found.unscored == ()
    assert len(found.results) == 16 and found.judge == "rules"
    assert set(found.dimensions) == {"GOAL", "SEC", "FIN"}
    rated = {(r["session_id"], r["target"], r["name"]): r["score"] for r in Corpus.open(folder).ratings.to_pylist()}
    seats = {json.loads(line)["episode"]: json.loads(line)["begin"]["agents"]
             for line in (folder / LOG).read_text().splitlines() if "begin" in json.loads(line)}  # fmt: skip
    for result in found.results:
        for (name, called), agent, scores in zip(seats[result.episode], result.seating, result.scores, strict=True):
            assert called == agent
            for dimension, score in scores.items():  # Who never acted has no rating, and a score in the log.
                assert rated.get((result.episode, name, dimension), score) == score


def test_a_judge_s_ratings_are_read_where_asked_for(folder: Path, tmp_path: Path) -> None:
    corpus = Corpus.open(folder)
    rows = CorpusRows()
    first = corpus.session(corpus.session_ids()[0])
    for speaker, score in zip(sorted({turn.speaker for turn in first.turns}), (5.0, 7.0), strict=False):
        rows.rating(first.session_id, ("environment", speaker), "GOAL", score, (0.0, 10.0), annotator="paper@m")
    Corpus.of(tmp_path, {**corpus.tables, "ratings": rows.tables()["ratings"]}).write(tmp_path)
    (tmp_path / LOG).write_bytes((folder / LOG).read_bytes())
    found = read_results(tmp_path, "paper@m")
    assert [result.episode for result in found.results] == [first.session_id] and len(found.unscored) == 15
    assert {score for one in found.results[0].scores for score in one.values()} <= {5.0, 7.0}
    with pytest.raises(InputError, match=r"no ratings by 'paper@n'; did you mean 'paper@m'"):
        read_results(tmp_path, "paper@n")


def test_a_judge_s_ratings_of_what_the_log_left_without_a_score_are_in_no_table(folder: Path, tmp_path: Path) -> None:
    corpus = Corpus.open(folder)
    rows = CorpusRows()
    bad, good = corpus.session_ids()[:2]
    for name in (bad, good):
        target = corpus.session(name).turns[0].speaker
        rows.rating(name, ("environment", target), "GOAL", 5.0, (0.0, 10.0), annotator="j")
    Corpus.of(tmp_path, {**corpus.tables, "ratings": rows.tables()["ratings"]}).write(tmp_path)
    lines = [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
    next(line["end"] for line in lines if line["episode"] == bad and "end" in line)[UNRATED] = "3 of 4 acts"
    (tmp_path / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_results(tmp_path, "j")
    assert [result.episode for result in found.results] == [good] and bad in found.unscored


def test_a_folder_without_a_log_or_without_an_end_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no episodes\.jsonl, which says who sat where"):
        read_results(tmp_path)
    lines = (folder / LOG).read_text().splitlines(keepends=True)
    (tmp_path / LOG).write_text("".join(lines[:2]))
    with pytest.raises(InputError, match="no episode has ended"):
        read_results(tmp_path)
    (tmp_path / LOG).write_text("nonsense\n")
    with pytest.raises(InputError, match="line 1: no line of an episode log"):
        read_results(tmp_path)


LINES = {
    "village <b>": [Value(40.0, 30.0, 50.0, 10, 10), Value(60.0, None, None, 10, 10), None],
    "werewolves": [None, Missing("never"), Value(250.0, 90.0, 260.0, 10, 10)],
}


def drawn(joined=True):
    return chart("A title", ["1", "2\x1b[2J", "3"], LINES, "K", (0.0, 100.0), joined=joined)


def test_every_figure_is_a_dot_with_whiskers_where_it_has_an_interval() -> None:
    picture = ElementTree.fromstring(drawn())
    space = "{http://www.w3.org/2000/svg}"
    circles = picture.findall(f"{space}circle")
    assert len(circles) == 3 + 2  # Three figures, and one for each name below.
    whiskers = [path for path in picture.findall(f"{space}path") if path.get("stroke-width") == "2"]
    assert len(whiskers) == 2 and len(picture.findall(f"{space}polyline")) == 1
    heights = [float(circle.get("cy")) for circle in circles if circle.get("cy") != circles[-1].get("cy")]
    assert min(heights) >= 48  # Beyond the scale is drawn at its end.
    assert not ElementTree.fromstring(drawn(joined=False)).findall(f"{space}polyline")


def test_names_do_no_harm() -> None:
    text = drawn()
    assert "<b>" not in text and "\x1b" not in text and "village &lt;b&gt;" in text
    assert re.search(r">100</text>", text) and ">K</text>" in text
    assert ">0.20</text>" in chart("t", ["a"], {}, "l", (0.0, 1.0))
