from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.episode_log import LOG, EpisodeLog
from apportion.environments.human_play.sotopia import PersonChoice
from apportion.environments.report_tables.report import is_human
from apportion.environments.sotopia.evaluation.human_ratings.log import RatedKey, RatingLog
from apportion.environments.sotopia.evaluation.scores import CharacterScores, DimensionScore, write_verdicts
from apportion.environments.sotopia.reports.episode_scores import OVERALL, TaskId, annotators, played_by, read_scored
from apportion.environments.sotopia.reports.raters import ReportChoice, read_rated
from apportion.environments.sotopia.reports.report import report
from apportion.foundation.errors import InputError
from tests.environments.sotopia.reports.made import SAMPLING, Made, every, read
from tests.environments.terminal.test_human_agent import Typist


def rated_twice(folder: Path) -> Path:
    made = Made()
    made.episode(scores=({"paper@m": every(0.5), "ann": {"GOAL": 4.0}, "bea": {"GOAL": 7.0}}, {"rules": {"GOAL": 1.0}}))
    return made.write(folder)


def test_people_are_named_and_their_mean_counts(tmp_path: Path) -> None:
    rated = read(rated_twice(tmp_path / "c"), "ann", "bea")
    assert (rated.judge, rated.judges, rated.people) == ("paper@m", ("paper@m",), ("ann", "bea"))
    assert rated.human_score(rated.seats[0], "GOAL") == 5.5 and rated.human_score(rated.seats[1], "GOAL") is None


def test_people_may_be_a_corpus_of_the_same_episodes(tmp_path: Path) -> None:
    made, theirs = Made(), Made()
    for score in (1.0, 2.0):
        made.episode(scores=({"paper@m": {"GOAL": score}}, {}))
        theirs.episode(scores=({"paper@m": {"GOAL": score}, "ann": {"GOAL": 9.0}}, {}))
    theirs.episode(texts=("Only here.",), scores=({"ann": {"GOAL": 0.0}}, {}))
    rated = read(made.write(tmp_path / "c"), str(theirs.write(tmp_path / "p")))
    assert rated.people == ("ann",) and len(rated.seats) == 4
    assert [rated.human_score(seat, "GOAL") for seat in rated.seats] == [9, None, 9, None]
    assert "1 parts in episodes of no other corpus left out" in rated.notes[0]


def test_whose_ratings_are_kept_as_people_s_are_people(tmp_path: Path) -> None:
    corpus = rated_twice(tmp_path / "c")
    keys = [RatedKey(name, "e0", "Ann", "GOAL") for name in ("bea", "elsewhere")]
    RatingLog.open(corpus).add({key: DimensionScore(7) for key in keys})
    rated = read(corpus)
    assert rated.people == ("bea",) and rated.judge == "paper@m"
    assert read(corpus, "ann").people == ("bea", "ann")


def test_the_log_tells_who_played_under_any_name(tmp_path: Path) -> None:
    corpus = rated_twice(tmp_path / "c")
    with EpisodeLog(corpus / LOG) as log:
        log.begin("e0", {"about": {"person": 1}, "agents": [["Ann", "m1"], ["Bob", "zoe"]]})
        log.begin("e1", {"about": {"person": 7}, "agents": [["Ann", "m1"], ["Bob", "zoe"]]})
    rated = read(corpus)
    assert [rated.played_by_people(seat) for seat in rated.seats] == [False, True]


def test_who_played_in_the_terminal_is_a_person(tmp_path: Path) -> None:
    screen = Typist("Hello!", "/physical offer: 85", "/leave").screen
    PersonChoice(scenario="used_bicycle", person="zoe").play(tmp_path / "c", screen)
    rated = read(tmp_path / "c")
    assert {seat.agent: rated.played_by_people(seat) for seat in rated.seats} == {"zoe": True, "conceding": False}
    found = report(rated, SAMPLING)
    table = next(one for one in found.tables if one.key == "table_3")
    assert [row[0] for row in table.rows] == ["conceding (w Human)", "Human (w conceding)"]


def test_why_scores_are_missing_is_told(tmp_path: Path) -> None:
    corpus = rated_twice(tmp_path / "c")
    given = {
        name: DimensionScore(5) if name in ("GOAL", "BEL", "KNO") else DimensionScore(None, cause="7.5 is no score")
        for name in RANGES
    }
    write_verdicts(
        corpus, [CharacterScores("e0", "paper@m", "Ann", given), CharacterScores("e0", "other", "Ann", given)]
    )
    assert "why scores of 'paper@m' are missing, by its verdicts: 4 x 7.5 is no score" in read(corpus).notes


def called(name: str) -> str:
    return f"--{name}"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"judge": "paper@n"}, r"--judge: no ratings by: 'paper@n'; did you mean 'paper@m'\?"),
        ({"judge": "ann", "people": ("ann",)}, "--judge: is one of the people: 'ann'"),
        ({"people": ("anne",)}, r"--people: neither an annotator nor a folder: 'anne'; did you mean 'ann'\?"),
        ({"people": ("ann", "rules")}, "--people: 'rules' is no person"),
        ({"humans": ("m11",)}, r"--humans: nobody plays who is called: 'm11'; did you mean 'm1'\?"),
        ({"people": ("x" * 300,)}, "cannot be looked at"),
        ({"corpora": ()}, "no corpus"),
    ],
)
def test_wrong_names_are_told(tmp_path: Path, choice: dict, message: str) -> None:
    corpus = rated_twice(tmp_path / "c")
    with pytest.raises(InputError, match=message):
        read_rated(ReportChoice(**{"corpora": (corpus,), "called": called, **choice}))


def test_somebody_has_to_be_the_judge(tmp_path: Path) -> None:
    made = Made()
    made.episode(scores=({"ann": {"GOAL": 4.0}}, {}))
    with pytest.raises(InputError, match="every annotator is one of the people; leave the judge out of people"):
        read(made.write(tmp_path / "c"), "ann")


def test_a_corpus_of_people_must_fit(tmp_path: Path) -> None:
    corpus = rated_twice(tmp_path / "c")
    with pytest.raises(InputError, match=r"nobody there is a person.* it has paper@m"):
        read(corpus, str(corpus))
    other = Made()
    other.episode(texts=("Other words.",), scores=({"zoe": {"GOAL": 1.0}}, {}))
    with pytest.raises(InputError, match="none of its 1 sessions is an episode of the other corpora"):
        read(corpus, str(other.write(tmp_path / "o")))
    unrated = Made()
    unrated.episode()
    with pytest.raises(InputError, match="nobody rates there"):
        read(corpus, str(unrated.write(tmp_path / "u")))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no table 'sessions'"):
        read(corpus, str(tmp_path / "empty"))


def test_a_corpus_without_ratings_has_nothing_to_report(tmp_path: Path) -> None:
    made = Made()
    made.episode()
    with pytest.raises(InputError, match="there is nothing to report"):
        read(made.write(tmp_path / "c"))
    with pytest.raises(InputError, match="no such folder"):
        read(tmp_path / "nowhere")


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


def test_agents_that_the_source_does_not_tell_are_none() -> None:
    assert played_by("by hand", 2) == [None, None]
    assert played_by("simulated: sotopia, agents a and b, judge c and d", 3) == [None] * 3
    assert played_by("simulated: sotopia, agents a and b, judge c and d", 2) == ["a", "b"]
    assert played_by("simulated: sotopia, agents a and b, judge c", 1) == ["a", "b"], "b said nothing"
    assert not is_human(None) and is_human("Person:ann") and not is_human("personable")
