import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.negotiation.human_study.corpus import write_study_corpus
from apportion.environments.negotiation.human_study.session import Study
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.environments.negotiation.scripts import ConcedingAgent, FairAgent, GreedyAgent
from apportion.foundation.errors import InputError
from tests.environments.negotiation.human_study.people import Participant

SETTINGS = StudySettings(title="t", consent="Stop any time.", agents=("greedy", "conceding"))
AGENTS = {"greedy": GreedyAgent(), "conceding": ConcedingAgent(), "fair": FairAgent()}


def test_the_games_are_sessions_that_the_rules_and_the_person_rate(tmp_path):
    study, out = tmp_path / "study", tmp_path / "corpus"
    assert write_study_corpus(SETTINGS, study, out) is None and not out.exists()
    for name, person in (("p1", Participant("5")), ("p2", Participant("2")), ("p3", Participant(consents="no"))):
        Study(SETTINGS, AGENTS, study, person.screen).sit(name)
        report = write_study_corpus(SETTINGS, study, out)
    assert report.problems == () and "a person took part" in report.notes[0]
    corpus = Corpus.open(out)
    assert set(corpus.session_ids()) == {f"{person}-game-{number}" for person in ("p1", "p2") for number in (1, 2)}
    session = corpus.session("p1-game-1")
    said = {(one.rater, one.target, one.name): one for one in session.ratings}
    assert said["Bob", "Alice", "fair"].score == 5.0 and not said["Bob", "Alice", "pushover"].higher_is_better
    assert {name for rater, _, name in said if rater == "environment"} == {"points", "advantage"}
    assert ("Bob", "Alice", "strategy") not in said and "agents" in session.source and "person" in session.source
    with pytest.raises(InputError):
        write_study_corpus(SETTINGS.model_copy(update={"seed": 1}), tmp_path / "none", out)
