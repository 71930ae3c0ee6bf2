"""A corpus with further ratings."""

from pathlib import Path

import pytest

from apportion.corpus.account import RECORD
from apportion.corpus.corpus import Corpus
from apportion.corpus.validate import validate
from apportion.environments.sotopia.evaluation.rated_corpus import (
    Changes,
    annotators,
    check_judges,
    check_out,
    made_before,
    place_rated,
)
from apportion.environments.sotopia.evaluation.scores import (
    DIMENSIONS,
    VERDICTS,
    CharacterScores,
    DimensionScore,
    read_verdicts,
)
from apportion.environments.sotopia.simulation import LOG
from apportion.foundation.errors import InputError
from tests.environments.sotopia.evaluation.judges import SCORES, played


def verdicts(corpus: Corpus, judge: str, **change: int | None) -> tuple[CharacterScores, ...]:
    scores = {**SCORES, **change}
    given = {name: DimensionScore(score, "so", "no reply" if score is None else None) for name, score in scores.items()}
    return tuple(
        CharacterScores(id_, judge, target, given)
        for id_ in corpus.session_ids()
        for target in dict.fromkeys(turn.speaker for turn in corpus.session(id_).turns)
    )


def rows(corpus: Corpus, judge: str) -> list[tuple[str, float]]:
    return [(row["name"], row["score"]) for row in corpus.ratings.to_pylist() if row["annotator"] == judge]


def test_it_has_all_that_there_was_and_the_ratings_with_overall_as_their_mean(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    place_rated(corpus, Changes(verdicts(corpus, "m"), named=("m",)), tmp_path / "two", {"kind": "judge"})
    made = Corpus.open(tmp_path / "two")
    assert rows(made, "rules") == rows(corpus, "rules") and made.utterances == corpus.utterances
    assert (tmp_path / "two" / LOG).read_bytes() == (tmp_path / "one" / LOG).read_bytes()
    people = len(verdicts(corpus, "m"))
    assert sorted(rows(made, "m")) == sorted([*SCORES.items(), ("overall", sum(SCORES.values()) / 7)] * people)
    assert all("judge rules and m" in source for source in made.sessions["source"].to_pylist())
    assert [problem for problem in validate(made) if problem.severity == "error"] == []
    assert annotators(made)["GOAL"] == {"rules", "m"} and annotators(made)["BEL"] == {"m"}


def test_a_missing_score_is_no_row_and_neither_is_its_overall_and_the_cause_is_kept(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    report = place_rated(corpus, Changes(verdicts(corpus, "m", SEC=None)), tmp_path / "two", {"kind": "judge"})
    names = {name for name, _ in rows(Corpus.open(tmp_path / "two"), "m")}
    assert names == set(DIMENSIONS) - {"SEC"} and report.problems == ()
    kept = read_verdicts(tmp_path / "two")
    assert {one.given["SEC"].cause for one in kept} == {"no reply"} and {one.overall for one in kept} == {None}


def test_judges_add_up_and_one_can_be_left_out(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    report = place_rated(corpus, Changes(verdicts(corpus, "m"), named=("m",)), tmp_path / "two", {})
    assert any("a run takes their mean" in note for note in report.notes)
    two = Corpus.open(tmp_path / "two")
    place_rated(two, Changes(verdicts(two, "ann"), without=("m",)), tmp_path / "people", {})
    people = Corpus.open(tmp_path / "people").sessions["source"].to_pylist()
    assert all(source.endswith(", judge rules") for source in people)
    alone = Changes(verdicts(two, "ann"), named=("ann",), without=("rules", "m"))
    place_rated(two, alone, tmp_path / "three", {})
    three = Corpus.open(tmp_path / "three")
    assert set(three.ratings["annotator"].to_pylist()) == {"ann"}
    assert {one.judge for one in read_verdicts(tmp_path / "three")} == {"ann"}
    assert all(source.endswith(", judge ann") for source in three.sessions["source"].to_pylist())
    goal = dict.fromkeys(SCORES) | {"GOAL": 1}
    with pytest.raises(InputError, match=r"GOAL of '.*' by 'ann' is in the corpus already"):
        place_rated(three, Changes(verdicts(three, "ann", **goal)), tmp_path / "x", {})
    assert not (tmp_path / "x").exists()
    with pytest.raises(InputError, match="no ratings by 'bob' to leave out; there are 'ann'"):
        check_judges(three, (), ("bob",))
    with pytest.raises(InputError, match="no ratings by 'bob' to leave out; there are none at all"):
        check_judges(Corpus.of("x", {}), (), ("bob",))
    with pytest.raises(InputError, match="it has ratings by 'ann' already"):
        check_judges(three, ("ann",), ())
    check_judges(three, ("ann", "bob"), ("ann",))


def test_places_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with pytest.raises(InputError, match="is not written over"):
        check_out(corpus, tmp_path / "link")
    (tmp_path / "one" / RECORD).write_text("{")
    assert made_before(corpus) == {}
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=f"{VERDICTS}: cannot be written"):
        place_rated(corpus, Changes(()), tmp_path / "file", {})
