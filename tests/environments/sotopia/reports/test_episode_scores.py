from __future__ import annotations

from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.report_tables.report import is_human
from apportion.environments.sotopia.reports.episode_scores import OVERALL, TaskId, annotators, played_by, read_scored
from apportion.foundation.errors import InputError
from tests.environments.sotopia.reports.made import Made, every


def test_a_part_has_its_agent_partner_words_and_scores(tmp_path: Path) -> None:
    made = Made()
    texts = ("[speak] [leave] two three.", "[physical action] waves", "[sic] four", "[leave] left the conversation")
    made.episode(("gpt-4", "person"), ({"j": {"GOAL": 7.0}}, {"j": every(0.5)}), texts=texts)
    ann, bob = read_scored([Corpus.open(made.write(tmp_path / "c"))])
    assert (ann.agent, ann.partners, ann.words, ann.acts) == ("gpt-4", ("person",), (3, 2), 2)
    assert (bob.agent, bob.words, bob.acts) == ("person", (), 2)
    assert ann.score("j", "GOAL") == 7 and ann.score("j", "BEL") is None and ann.score("other", "GOAL") is None
    assert ann.score("j", OVERALL) is None, "a dimension that is missing makes the overall score missing, never 0"
    assert bob.score("j", OVERALL) == pytest.approx(5 / 7)  # (3 * 5 + 2 * 0 + 2 * -5) / 7
    assert ann.task == TaskId("A park.", (("Ann", "What Ann wants"), ("Bob", "What Bob wants"))) == bob.task


def test_the_same_episode_in_two_corpora_is_one(tmp_path: Path) -> None:
    first, second = Made(), Made()
    first.episode(scores=({"j": {"GOAL": 7.0}}, {}))
    second.episode(scores=({"j": {"GOAL": 7.0}, "k": {"GOAL": 3.0}}, {}))
    second.episode(texts=("Other words.", "Yes."), session="e1")
    seats = read_scored([Corpus.open(made.write(tmp_path / str(i))) for i, made in enumerate((first, second))])
    assert len(seats) == 4 and seats[0].scores == {"j": {"GOAL": 7.0}, "k": {"GOAL": 3.0}}
    assert annotators(seats) == {"j": 1, "k": 1}


def test_two_different_scores_of_one_annotator_are_refused(tmp_path: Path) -> None:
    corpora = []
    for number in (1.0, 2.0):
        made = Made()
        made.episode(scores=({"j": {"GOAL": number}}, {}))
        corpora.append(Corpus.open(made.write(tmp_path / str(number))))
    with pytest.raises(InputError, match=r"session e0: GOAL of 'Ann' by 'j' is 1 in .* and 2 in .*leave one"):
        read_scored(corpora)


@pytest.mark.parametrize("score", [11.0, -1.0, float("nan")])
def test_a_score_off_its_range_is_refused(tmp_path: Path, score: float) -> None:
    made = Made()
    made.episode(scores=({"j": {"GOAL": score}}, {}))
    with pytest.raises(InputError, match=r"session e0: GOAL of 'Ann' by 'j' is .*; 0 to 10 are allowed"):
        read_scored([Corpus.open(made.write(tmp_path / "c"))])


def test_who_is_not_named_comes_last(tmp_path: Path) -> None:
    made = Made()
    made.episode(
        scores=({"not named": every(0.1), "b": {"GOAL": 1.0}, "a": {"GOAL": 1.0}, "paper@b": {"GOAL": 1.0}}, {})
    )
    seats = read_scored([Corpus.open(made.write(tmp_path / "c"))])
    assert list(annotators(seats)) == ["paper@b", "a", "b", "not named"]


def test_agents_that_the_source_does_not_tell_are_none() -> None:
    assert played_by("by hand", 2) == [None, None]
    assert played_by("simulated: sotopia, agents a and b, judge c and d", 3) == [None] * 3
    assert played_by("simulated: sotopia, agents a and b, judge c and d", 2) == ["a", "b"]
    assert played_by("simulated: sotopia, agents a and b, judge c", 1) == ["a", "b"], "b said nothing"
    assert not is_human(None) and is_human("Person:ann") and not is_human("personable")
