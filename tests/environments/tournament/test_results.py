"""Who reached what, read from a log or from ratings."""

import json
from pathlib import Path

import pytest

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import LOG
from apportion.environments.sotopia.simulation import SimulationChoice, simulate_sotopia
from apportion.environments.tournament.results import read_results
from apportion.foundation.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results") / "play"
    simulate_sotopia(
        SimulationChoice(("conceding", "random"), ("used_bicycle", "surprise_party"), pairs=2, seed=3), out
    )
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
