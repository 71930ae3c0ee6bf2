"""From a choice of a game and agents to a corpus, and its sessions played on."""

from pathlib import Path
from random import Random

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.validate import validate
from apportion.environments.corpus_export import RULES
from apportion.environments.deduction.events import MODERATOR
from apportion.environments.deduction.games import GAMES, game_called
from apportion.environments.deduction.simulation import DeductionChoice, seated
from apportion.environments.registry import maker_of, open_session
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.role_assignment import RoleAssignment
from apportion.environments.simulation import plan, write_corpus
from apportion.environments.simulation.plan import preview, price
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.model_spec import ModelSpec
from tests.environments.deduction.toy import MOLE
from tests.environments.models import nobody

CASTS = (
    ("avalon", "roles=merlin,percival,servant,servant,morgana,oberon,assassin"),
    ("werewolf", "roles=werewolf,werewolf,seer,guardian,hunter,villager,villager,villager"),
)


@pytest.mark.parametrize(
    ("kind", "rules"), [*((kind, ()) for kind in GAMES.names()), *((k, (one,)) for k, one in CASTS)]
)
def test_a_game_is_a_session_that_can_be_played_on(kind: str, rules: tuple[str, ...], tmp_path: Path) -> None:
    game = game_called(kind)
    choice = DeductionChoice(game, ("random",), games=4, seed=4, rules=game.options_of(rules))
    report = write_corpus(choice, tmp_path / "c")
    assert not report.problems and report.rows["sessions"] == 4
    corpus = Corpus.open(tmp_path / "c")
    assert not [problem for problem in validate(corpus) if problem.severity == "error"]
    for session in corpus.iter_sessions():
        speakers = {turn.speaker for turn in session.turns}
        seats = speakers - {MODERATOR}
        assert {rating.target for rating in session.ratings} == seats
        assert {rating.name for rating in session.ratings} == {"win"}
        assert {one.score for one in session.ratings} <= {0.0, 1.0}
        known = {one.speaker for one in session.backgrounds if one.kind == "role"}
        assert known == seats and sum(one.kind == "rules" for one in session.backgrounds) == 1
        found = maker_of(session, tmp_path / "c", RoleAssignment())
        assert found is not None and found[0] == kind
        restored = open_session(session, tmp_path / "c", nobody)
        assert isinstance(restored, RestoredEpisode)
        target = sorted(seats)[0]
        turns = restored.turns_of(target)
        scores = {one.name: one.score for one in session.ratings if one.target == target}
        assert restored.as_it_stands(target, turns).scores == scores
        (one, other) = restored.play_on(target, turns[:1], (1, 2))
        assert {one.scores["win"], other.scores["win"]} <= {0.0, 1.0} and one.dropped == other.dropped
    assert set(corpus.ratings["annotator"].to_pylist()) == {RULES}
    again = write_corpus(choice, tmp_path / "c")
    assert again.rows == report.rows


def test_everybody_sits_as_often_as_another() -> None:
    for number in range(50):
        sitting = seated(("a", "b", "c"), 7, Random(number))
        assert sorted(map(sitting.count, "abc")) == [2, 2, 3]
    assert {seated(("a", "b"), 3, Random(number)) for number in range(99)} > {("a", "b", "a"), ("b", "a", "b")}


def test_what_cannot_be_played_is_told() -> None:
    for bad in (DeductionChoice(MOLE, games=0), DeductionChoice(MOLE, ()), DeductionChoice(MOLE, limit_s=0.0)):
        with pytest.raises(InputError, match="nothing to play"):
            _ = bad.total
    with pytest.raises(InputError, match="did you mean 'werewolf'"):
        game_called("werwolf")
    with pytest.raises(InputError, match="rules: tie = 'x'"):
        MOLE.of_log({"rules": {"tie": "x"}})
    assert MOLE.of_log(MOLE.about(MOLE.options(), ("cat", "dog", "mole"))).facts("Player 3").role == "mole"
    with pytest.raises(InputError, match="scored by its rules"):
        MOLE.simulator.recast(RoleAssignment(judge="paper@m"))


def test_the_price_of_models_that_play_is_told_before(tmp_path: Path) -> None:
    chosen = ModelSpec("m", base_url="http://127.0.0.1:9/v1", prices=None)
    choice = DeductionChoice(MOLE, ("recon",), games=2, chosen=chosen, limit_s=60.0)
    assert choice.record()["limit_s"] == 60.0 and choice.record()["temperature"] == 1.0
    (priced,) = plan.price(choice)
    assert priced.requests == 2 * 3 * 3 * 2
    shown = plan.preview(choice, 1)
    assert "You are Player" in shown.text() and "peek: see the role of one player (players: [1] or" in shown.text()


def test_a_log_that_is_gone_or_of_another_game(tmp_path: Path) -> None:
    write_corpus(DeductionChoice(MOLE, games=1), tmp_path / "c")
    (session,) = Corpus.open(tmp_path / "c").iter_sessions()
    simulator = MOLE.simulator
    assert simulator.identity(session, tmp_path / "c") and simulator.asked(session, tmp_path / "c") == ()
    (tmp_path / "c" / "episodes.jsonl").unlink()
    with pytest.raises(UnitError, match="is not there"):
        simulator.open(session, tmp_path / "c", nobody)


CHOSEN = ModelSpec("gpt-4.1-mini")


def test_the_most_requests_are_counted_by_model() -> None:
    choice = SimulationChoice(
        ("base", "base@other", "conceding"), ("used_bicycle",), pairs=2, rules=Rules(most_acts=7), chosen=CHOSEN
    )
    mini, other = price(choice)
    # Nine seatings of two tasks; a model sits in the first seat (4 of 7 acts) in three of them, in the second in three.
    assert (mini.requests, other.requests) == (2 * (3 * 4 + 3 * 3),) * 2
    assert mini.usd is not None and mini.usd > 0 and other.usd is None
    assert "at most 42 requests" in mini.text() and "cost unknown" in other.text()
    assert mini.to_json()["input_tokens"] > 42 * 300


def test_scripts_cost_nothing_and_have_nothing_to_show() -> None:
    assert price(SimulationChoice()) == []
    with pytest.raises(InputError, match="nothing would be sent"):
        preview(SimulationChoice(), 3)


def test_what_would_be_sent_is_shown_word_for_word() -> None:
    shown = preview(SimulationChoice(("base",), ("used_bicycle",), pairs=1, chosen=CHOSEN, called="<{}>".format), 1)
    assert (shown.in_all, len(shown.requests)) == (2, 1)
    text = shown.text()
    assert "You play one person" in text and "<allow_host> api.openai.com" in text and "<preview>" in text
