import json

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.environment import Action, Observation
from apportion.environments.episode_log import LOG
from apportion.environments.negotiation.bargaining.agents import FORM, price_in
from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.registry import identity_of, open_session
from apportion.environments.simulation import write_corpus
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from tests.environments.negotiation.bargaining.test_game import begun, offer


def nobody(*asked):
    raise AssertionError("a language model is asked")


def test_a_corpus_whose_sessions_are_played_on(tmp_path):
    choice = BargainingChoice(("conceding", "fair"), games=3)
    report = write_corpus(choice, tmp_path / "a")
    assert report.rows["sessions"] == choice.total == 12 and report.problems == ()
    corpus = Corpus.open(tmp_path / "a")
    for session in map(corpus.session, corpus.session_ids()):
        opened = open_session(session, tmp_path / "a", nobody)
        target = session.ratings[0].target
        turns = {turn.turn for turn in session.turns if turn.speaker == target}
        whole = opened.as_it_stands(target, turns)
        rated = {rating.name: rating.score for rating in session.ratings if rating.target == target}
        assert {name: score for name, score in whole.scores.items() if score is not None} == pytest.approx(rated)
        (ending,) = opened.play_on(target, set(), (0,))
        assert ending.problem is None and ending.acts > 0
    assert identity_of(session, tmp_path / "a")["simulator"] == "bargaining"
    write_corpus(choice, tmp_path / "b")
    assert (tmp_path / "a" / LOG).read_bytes() == (tmp_path / "b" / LOG).read_bytes()


def test_a_log_that_says_no_bargain(tmp_path):
    write_corpus(BargainingChoice(games=1), tmp_path)
    (session,) = [Corpus.open(tmp_path).session("0-conceding-conceding-0")]
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    lines[0]["begin"]["about"]["bargain"][3] = 10**6
    (tmp_path / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UnitError, match=r"session 0-conceding-conceding-0: cost = 1000000"):
        open_session(session, tmp_path, nobody)


def test_nothing_to_play_and_the_record(tmp_path):
    with pytest.raises(InputError, match="nothing to play: 1 agents, games = 0"):
        _ = BargainingChoice(games=0).total
    with pytest.raises(InputError, match="concedin"):
        write_corpus(BargainingChoice(("concedin",)), tmp_path)
    assert BargainingChoice(paired=True).record()["paired"] and "paired" not in BargainingChoice().record()
    game = begun()
    assert BargainingChoice().acts_of(game, game.starter) == BargainingChoice().acts_of(game, 1 - game.starter) == 10


def test_a_models_price():
    view = Observation(begun(offer(22)), "Seller")
    assert price_in("offer", {"price": 30}, view) == 30 and price_in("accept", {"price": 30}, view) is None
    assert FORM.record(Action("accept"), view) == {"price": None} and "price" in FORM.fields(view)
    with pytest.raises(ReplyMistakeError, match='"price" is null; "offer" needs a whole number'):
        price_in("offer", {"price": None}, view)
