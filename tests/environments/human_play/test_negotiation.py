"""A person's negotiations as a corpus."""

from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.human_play.episode import PersonPlayed
from apportion.environments.human_play.negotiation import PersonNegotiates
from apportion.environments.negotiation.bargaining.scenario import Bargain, as_lines
from apportion.environments.negotiation.bargaining.simulation import SIMULATOR as BARGAINING
from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.negotiation.casino.simulation import CasinoChoice
from apportion.environments.negotiation.simulation import SIMULATOR, NegotiationChoice
from apportion.foundation.errors import InputError, UnitError
from tests.environments.terminal.test_human_agent import Typist

CHOICE = PersonNegotiates(partner="fair", seed=3)
BARGAIN = Bargain("a lamp", 60, 50, 20)


@pytest.fixture
def bargains(tmp_path: Path) -> Path:
    path = tmp_path / "bargains.jsonl"
    path.write_text(as_lines([BARGAIN]))
    return path


def play(out: Path, *lines: str, choice: PersonNegotiates = CHOICE) -> tuple[PersonPlayed, str]:
    typist = Typist(*lines)
    return choice.play(out, typist.screen), typist.text


def everything(choice: PersonNegotiates = CHOICE) -> str:
    return " ".join(map(str, choice.drawn.counts))


def test_a_game_is_a_session_as_any_other(tmp_path: Path) -> None:
    played, screen = play(tmp_path / "one", f"/propose {everything()}", "/agree", "/take")
    corpus = Corpus.open(tmp_path / "one")
    (session,) = corpus.iter_sessions()
    assert session.source == "simulated: negotiation, agents person and fair, judge rules"
    assert played.report.problems == ()
    assert played.begun == 0
    scores = {one.name: one.score for one in session.ratings if one.target == "Alice"}
    assert scores == played.scores
    assert scores["points"] > 0
    assert "You are Alice" in screen
    reopened = SIMULATOR.open(session, tmp_path / "one", lambda request: pytest.fail("scripts ask nobody"))
    assert reopened.as_it_stands("Alice", reopened.turns_of("Alice")).scores == scores
    with pytest.raises(UnitError, match=r"'person' \(Alice\) cannot play on"):
        reopened.play_on("Alice", (), (0,))
    again, _ = play(tmp_path / "one")
    assert again.again
    assert again.scores == played.scores


def test_a_bargain_is_a_session_and_a_loss_is_told(tmp_path: Path, bargains: Path) -> None:
    choice = PersonNegotiates(BargainingChoice(scenarios=bargains), 2, "greedy", seed=1)
    played, screen = play(tmp_path / "one", "/offer 10", "/accept", "/accept", choice=choice)
    assert "a lamp" in screen and "your cost is 20" in screen and "50" not in screen
    session = next(iter(Corpus.open(tmp_path / "one").iter_sessions()))
    assert session.source == "simulated: bargaining, agents greedy and person, judge rules"
    scores = {one.name: one.score for one in session.ratings if one.target == "Seller"}
    assert scores == played.scores and scores["points"] < 0
    assert BARGAINING.identity(session, tmp_path / "one") is not None


def test_several_games_of_a_world_go_into_one_folder(tmp_path: Path) -> None:
    for seed in (0, 1):
        choice = PersonNegotiates(CasinoChoice(), partner="fair", seed=seed)
        # Whatever comes first is answered; the last ends it, without a deal.
        played, screen = play(tmp_path / "one", "/propose 3 3 3", "/end", "/take 3 3 3", choice=choice)
        assert played.scores["points"] == 5 and "packages" in screen
    assert played.report.rows["sessions"] == 2
    with pytest.raises(InputError, match="does not come from this"):
        play(tmp_path / "one")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seat": 3}, r"seat 3: no such seat; there are 1 \(Alice\) and 2 \(Bob\)"),
        ({"seat": 0, "choice": BargainingChoice()}, r"seat 0: no such seat; there are 1 \(Buyer\) and 2 \(Seller\)"),
        ({"person": "tit-for-tat", "choice": CasinoChoice()}, "person 'tit-for-tat' is an agent's name"),
        ({"choice": BargainingChoice(scenarios=Path("nowhere"))}, "nowhere: no such file"),
        ({"person": "a b"}, "person 'a b': give 1 to 40 letters"),
        ({"person": "fair"}, "person 'fair' is an agent's name"),
        ({"person": "react"}, "person 'react' is an agent's name"),
        ({"partner": "fairly"}, "did you mean 'fair'"),
        ({"choice": NegotiationChoice(contexts=Path("nowhere"))}, "nowhere: no such file"),
    ],
)
def test_what_cannot_be_played_is_told(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(tmp_path / "one", choice=replace(CHOICE, **changed))  # type: ignore[arg-type]
