import json
import re
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.environments.episode_log import LOG
from apportion.environments.negotiation.contexts import ITEMS
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.negotiation.simulation import SIMULATOR, NegotiationChoice, game_of
from apportion.environments.registry import identity_of
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import RoleAssignment
from apportion.environments.rollout_preview import PredictedRequests, kept_alone
from apportion.environments.simulation import write_corpus
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply, ChatRequest
from tests.environments.models import nobody


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("negotiations") / "play"
    write_corpus(NegotiationChoice(("conceding", "fair"), games=4, most_acts=10, seed=1), out)
    return out


def sessions(folder: Path) -> list[Session]:
    return list(Corpus.open(folder).iter_sessions())


def test_a_session_is_opened_as_it_was_played(folder: Path) -> None:
    for session in sessions(folder):
        reopened = SIMULATOR.open(session, folder, nobody)
        full = reopened.after(len(reopened.steps))
        points = {name: one["points"] for name, one in full.outcome().items()}
        assert points == {one.target: one.score for one in session.ratings if one.name == "points"}
        assert len(reopened.places) == len(session.turns)
        for name in full.agents:
            whole = reopened.play_on(name, reopened.turns_of(name), (0,))
            assert whole[0].scores["points"] == points[name]
            assert whole[0].acts == 0


def test_selections_are_made_anew_where_something_was_left_out(folder: Path) -> None:
    """Both keep to what was agreed on in the history that was played on, and not to what they took before."""
    for session in sessions(folder):
        reopened = SIMULATOR.open(session, folder, nobody)
        for name in reopened.begun.agents:
            for left_out in reopened.turns_of(name):
                kept = set(reopened.turns_of(name)) - {left_out}
                placed, _ = reopened.history(name, kept)
                assert isinstance(placed, Negotiation)
                assert placed.game.taken == [-1, -1]


def test_what_decides_how_it_plays_on_is_its_identity(folder: Path, tmp_path: Path) -> None:
    one, other = sessions(folder)[:2]
    identity = SIMULATOR.identity(one, folder)
    assert identity is not None
    assert identity["environment"] == "negotiation"
    assert identity != SIMULATOR.identity(other, folder)
    assert identity_of(one, folder) == {"simulator": "negotiation", "identity": identity}
    missing = SIMULATOR.identity(one, tmp_path)
    assert missing is not None
    assert missing["episode"] is None


def test_a_log_that_is_gone_or_tells_something_else_is_told(folder: Path, tmp_path: Path) -> None:
    session = sessions(folder)[0]
    with pytest.raises(UnitError, match="is not there, which holds what was played"):
        SIMULATOR.open(session, tmp_path, nobody)
    (tmp_path / LOG).write_text((folder / LOG).read_text().replace('"', '"')[:0])
    with pytest.raises(UnitError, match="holds no episode of this name"):
        SIMULATOR.open(session, tmp_path, nobody)
    (tmp_path / LOG).write_text((folder / LOG).read_text().replace("How about", "What about").replace("I ", "We "))
    with pytest.raises(UnitError, match="the log has other words than the corpus"):
        SIMULATOR.open(session, tmp_path, nobody)
    (tmp_path / LOG).write_text((folder / LOG).read_text().replace('"context":[[', '"context":[[9,'))
    with pytest.raises(UnitError, match=session.session_id):
        SIMULATOR.open(session, tmp_path, nobody)


def test_a_game_is_made_of_what_its_log_says() -> None:
    game = game_of({"context": [[1, 3, 1], [3, 1, 4], [3, 2, 1]], "most_acts": 7})
    assert (game.context.counts, game.most_acts) == ((1, 3, 1), 7)
    for about in ({}, {"context": [[1, 3, 1]], "most_acts": 7}, {"context": None, "most_acts": 7}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            game_of(about)


def test_who_cannot_play_again_is_an_error_only_when_asked(tmp_path: Path, folder: Path) -> None:
    session = sessions(folder)[0]
    (tmp_path / LOG).write_text((folder / LOG).read_text().replace('"Alice","conceding"', '"Alice","somebody"'))
    reopened = SIMULATOR.open(session, tmp_path, nobody)
    assert isinstance(reopened, RestoredEpisode)
    assert reopened.as_it_stands("Bob", reopened.turns_of("Bob")).scores
    with pytest.raises(UnitError, match=r"'somebody' \(Alice\) cannot play on: no agent 'somebody'"):
        reopened.play_on("Alice", (), (0,))


def test_others_play_on_where_a_run_names_them(folder: Path) -> None:
    session = sessions(folder)[0]
    asked = []

    def complete(request: ChatRequest) -> ChatReply:
        asked.append(request)
        kind = "select" if request.schema and request.schema["properties"]["act"]["enum"] == ["select"] else "agree"
        keep = dict.fromkeys(ITEMS, 0) if kind == "select" else None
        return ChatReply(json.dumps({"act": kind, "text": "", "keep": keep}), "m")

    chosen = ModelSpec("m", max_tokens=70)
    recast = SIMULATOR.recast(RoleAssignment(partner="base", temperature=0.3, chosen=chosen))
    assert [llm.model for llm in recast.asked(session, folder)] == ["m"]
    reopened = recast.open(session, folder, complete)
    assert reopened.waits and not SIMULATOR.open(session, folder, nobody).waits
    reopened.play_on("Alice", (), (0,))
    assert asked and all("as 'Bob'" in request.subject for request in asked)
    assert {(request.temperature, request.max_tokens) for request in asked} == {(0.3, 70)}
    casts = [
        RoleAssignment(),
        RoleAssignment(partner="base", chosen=chosen),
        RoleAssignment(target="base", chosen=chosen),
        RoleAssignment(partner="greedy"),
        RoleAssignment(partner="base@x", chosen=chosen),
        RoleAssignment(partner="fair~", chosen=chosen),
    ]
    known = [SIMULATOR.recast(cast).identity(session, folder) for cast in casts]
    assert len({str(one) for one in known}) == len(known) and known[0] == SIMULATOR.identity(session, folder)
    assert SIMULATOR.recast(RoleAssignment(partner="base").scoring()).identity(session, folder) == known[0]


@pytest.mark.parametrize(
    ("cast", "said"),
    [
        (
            RoleAssignment(judge="paper"),
            "judge = 'paper': a negotiation is scored by its rules; name the judge 'rules'",
        ),
        (RoleAssignment(target="bsae"), "no agent 'bsae'"),
        (RoleAssignment(partner="nobody~@m"), "no agent 'nobody'"),
    ],
)
def test_who_there_is_not_is_told(cast: RoleAssignment, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        SIMULATOR.recast(cast)


def test_what_a_play_by_models_would_ask_is_listed(folder: Path) -> None:
    session = sessions(folder)[0]
    for name, times in (("base", 1), ("fair~", 1)):
        cast = RoleAssignment(target=name, partner=name, chosen=ModelSpec("m"))
        reopened = SIMULATOR.recast(cast).open(session, folder, kept_alone(lambda request: None))
        assert isinstance(reopened, PredictedRequests)
        ahead = reopened.ahead("Alice", (), 0)
        assert ahead.request is not None and not ahead.over and ahead.most is not None
        prompts = [one for of_step in reopened.prompts("Alice") for one in of_step]
        assert {prompt.times for prompt in prompts} == {times} and len(prompts) >= len(session.turns)
