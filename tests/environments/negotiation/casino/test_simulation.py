import json

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.environment import Action, Observation
from apportion.environments.episode_log import LOG
from apportion.environments.negotiation.casino.agents import FORM
from apportion.environments.negotiation.casino.simulation import CasinoChoice
from apportion.environments.registry import identity_of, open_session
from apportion.environments.simulation import write_corpus
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from tests.environments.negotiation.casino.test_game import begun


def nobody(*asked):
    raise AssertionError("a language model is asked")


def test_a_corpus_whose_sessions_are_played_on(tmp_path):
    choice = CasinoChoice(("conceding", "fair"), games=3)
    report = write_corpus(choice, tmp_path / "a")
    assert report.rows["sessions"] == choice.total == 12 and report.problems == ()
    corpus = Corpus.open(tmp_path / "a")
    for session in map(corpus.session, corpus.session_ids()):
        opened = open_session(session, tmp_path / "a", nobody)
        target = session.ratings[0].target
        (ending,) = opened.play_on(target, {turn.turn for turn in session.turns if turn.speaker == target}, (0,))
        assert ending.problem is None and ending.ranges["points"] == (0.0, 36.0)
    assert identity_of(session, tmp_path / "a")["simulator"] == "casino"
    write_corpus(choice, tmp_path / "b")
    assert (tmp_path / "a" / LOG).read_bytes() == (tmp_path / "b" / LOG).read_bytes()


def test_a_log_of_another_game(tmp_path):
    write_corpus(CasinoChoice(games=1), tmp_path)
    session = Corpus.open(tmp_path).session("0-conceding-conceding-0")
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    lines[0]["begin"]["about"]["values"][0] = [9, 9, 9]
    (tmp_path / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UnitError, match=r"session 0-conceding-conceding-0: context"):
        open_session(session, tmp_path, nobody)


def test_nothing_to_play(tmp_path):
    with pytest.raises(InputError, match="nothing to play: 1 agents, games = 0"):
        _ = CasinoChoice(games=0).total
    with pytest.raises(InputError, match="no file has contexts of this game; leave it out"):
        _ = CasinoChoice(contexts=tmp_path).total
    assert CasinoChoice().record()["kind"] == "simulate casino"


def test_a_models_packages():
    view = Observation(begun(), "Alice")
    assert list(FORM.fields(view)["keep"]["properties"]) == ["Food", "Water", "Firewood"]
    assert FORM.data("propose", {"keep": {"Food": 1, "Water": 0, "Firewood": 3}}, view) == [1, 0, 3]
    assert FORM.record(Action("propose", "", [1, 0, 3]), view) == {"keep": {"Food": 1, "Water": 0, "Firewood": 3}}
    with pytest.raises(ReplyMistakeError, match="how many you keep of each: Food, Water, Firewood"):
        FORM.data("propose", {"keep": {"book": 1, "hat": 0, "ball": 3}}, view)
