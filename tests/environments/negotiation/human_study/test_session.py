import json
from collections import Counter
from dataclasses import dataclass

import pytest

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.human_study.design import PRACTICE, check_participant, games_of
from apportion.environments.negotiation.human_study.progress_log import KEPT, ParticipantSession
from apportion.environments.negotiation.human_study.session import Study
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.environments.negotiation.human_study.survey import QUIZ, SURVEY
from apportion.environments.negotiation.scripts import ConcedingAgent, FairAgent, GreedyAgent
from apportion.environments.terminal.console import Screen
from apportion.foundation.errors import ApportionError, InputError, StoppedError, UnitError
from apportion.foundation.files import locked
from tests.environments.negotiation.human_study.people import Participant

SETTINGS = StudySettings(
    title="Bargaining",
    consent="You may stop at any time.",
    agents=("greedy", "conceding"),
    debriefing="They were scripts.",
)
AGENTS = {"greedy": GreedyAgent(), "conceding": ConcedingAgent(), "fair": FairAgent()}


def sit(folder, person, settings=SETTINGS, agents=AGENTS):
    return Study(settings, agents, folder, person.screen).sit("p1")


def test_from_the_consent_to_the_debriefing_without_a_name_of_an_agent(tmp_path):
    person = Participant()
    sitting = sit(tmp_path, person)
    assert (
        sitting.consented
        and sitting.ended
        and sitting.played == [0, 1, 2]
        and sitting.tries == dict.fromkeys(range(3), 1)
    )
    assert sorted(sitting.answers) == sorted((game, one.name) for game in (1, 2) for one in SURVEY)
    order = [
        "You may stop",
        "The rules: ",
        QUIZ[0].text,
        "A practice game",
        "Game 1 of 2",
        "Any comments?",
        "They were",
    ]
    places = [person.text.index(text) for text in order]
    assert places == sorted(places) and "Your points: " in person.text
    shown = person.text.replace("a fair", "").lower()
    assert not any(name in shown for name in ("greedy", "conceding", "script:"))
    kept = [json.loads(line) for line in (tmp_path / "p1" / KEPT).read_text().splitlines()]
    assert {line["agent"] for line in kept if line["what"] == "played"} == {"fair", "greedy", "conceding"}


def test_stopped_after_any_line_nothing_is_asked_twice(tmp_path):
    whole = Participant()
    sit(tmp_path / "whole", whole)
    typed = []
    for _ in range(len(whole.typed) + 1):
        person = Participant(stop_after=1)
        try:
            done = sit(tmp_path / "pieces", person)
        except EOFError:
            typed += person.typed
            continue
        typed += person.typed
        break
    assert done.ended and typed == whole.typed
    for name in (KEPT, "episodes.jsonl"):
        assert (tmp_path / "pieces" / "p1" / name).read_bytes() == (tmp_path / "whole" / "p1" / name).read_bytes()
    again = Participant()
    assert sit(tmp_path / "pieces", again).ended and again.typed == []


def test_who_does_not_agree_is_asked_nothing_else(tmp_path):
    person = Participant(consents="no")
    assert sit(tmp_path, person).consented is False and person.typed == ["no"]
    again = Participant()
    sit(tmp_path, again)
    assert again.typed == []


def test_wrong_answers_are_asked_again(tmp_path):
    lines = iter(["perhaps", "yes", "3", "2", "3", "1", "/stop"])
    shown = []
    with pytest.raises(EOFError):
        sit(tmp_path, type("Typed", (), {"screen": Screen(lambda prompt: next(lines), shown.append)}))
    text = "".join(shown)
    assert "type a number from 1 to 2" in text and "That is not right: 2 books at 2 points" in " ".join(text.split())
    assert ParticipantSession.open(tmp_path / "p1", "p1").tries == {0: 2, 1: 1, 2: 1}


def test_ratings_off_the_scale_are_asked_again(tmp_path):
    person = Participant()
    given = iter(["9", "x", "2"])
    person._line, line = lambda prompt: next(given, "3") if prompt.startswith("1 to 5") else line(prompt), person._line
    assert sit(tmp_path, person).answers[1, SURVEY[0].name] == 2
    assert "9 is no whole number from 1 to 5" in person.text and "'x' is no whole number" in person.text


@dataclass
class Failing:
    error: type[ApportionError] = UnitError
    called: str = "greedy"
    paid: bool = False

    def act(self, view: Observation) -> Action:
        raise self.error("secret-agent failed")


def test_an_agent_that_fails_is_not_named_and_its_game_goes_on(tmp_path):
    person = Participant()
    with pytest.raises(UnitError, match=r"^Alice could not go on") as failed:
        sit(tmp_path, person, agents={**AGENTS, "greedy": Failing()})
    assert "secret" not in str(failed.value) + person.text and "greedy" not in str(failed.value)
    with pytest.raises(StoppedError, match=r"^Alice could not go on"):
        sit(tmp_path, Participant(), agents={**AGENTS, "greedy": Failing(StoppedError)})
    assert sit(tmp_path, Participant()).ended


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"p1: the folder cannot be made .*Give another folder"):
        sit(tmp_path / "file", Participant())


def test_another_study_or_terminal(tmp_path):
    with pytest.raises(EOFError):
        sit(tmp_path, Participant(stop_after=0))
    with pytest.raises(InputError, match="begun with another study file"):
        sit(tmp_path, Participant(), SETTINGS.model_copy(update={"seed": 1}))
    with locked(tmp_path / "p1" / ".lock", "", InputError), pytest.raises(InputError, match="at another terminal"):
        sit(tmp_path, Participant())


STUDY = StudySettings(title="t", consent="c", agents=("greedy", "fair", "conceding"), practice="random", games=2)


def test_everybody_plays_every_agent_in_an_order_of_their_own():
    orders = set()
    for number in range(30):
        games = games_of(STUDY, f"p{number}")
        assert games == games_of(STUDY, f"p{number}")
        assert (games[0].number, games[0].agent) == (PRACTICE, "random")
        assert [game.number for game in games] == list(range(7))
        assert Counter(game.agent for game in games[1:]) == dict.fromkeys(STUDY.agents, 2)
        assert len({game.seed for game in games}) == 7
        orders.add(tuple(game.agent for game in games[1:]))
    assert len(orders) > 10


def test_another_seed_or_given_contexts():
    other = STUDY.model_copy(update={"seed": 1})
    assert games_of(other, "p1") != games_of(STUDY, "p1")
    given = STUDY.model_copy()
    given.__dict__["given_contexts"] = (Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))),)
    assert {game.context.counts for game in games_of(given, "p1")} == {(1, 3, 1)}


def test_an_id_and_no_name():
    assert check_participant("p-01_a") == "p-01_a"
    for name in ("", "Ann Lee", "../p", "a" * 41, "ä"):
        with pytest.raises(InputError, match="an id of 1 to 40"):
            check_participant(name)
