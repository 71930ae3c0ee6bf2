"""A person's negotiations as a corpus."""

from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.human_play.episode import PersonPlayed
from apportion.environments.human_play.negotiation import PersonNegotiates
from apportion.environments.negotiation.simulation import SIMULATOR
from apportion.foundation.errors import InputError, UnitError
from tests.environments.terminal.test_human_agent import Typist

CHOICE = PersonNegotiates(partner="fair", seed=3)


def play(out: Path, *lines: str, choice: PersonNegotiates = CHOICE) -> tuple[PersonPlayed, str]:
    typist = Typist(*lines)
    return choice.play(out, typist.screen), typist.text


def everything(choice: PersonNegotiates = CHOICE) -> str:
    return " ".join(map(str, choice.context.counts))


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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seat": 3}, r"seat 3: no such seat; there are 1 \(Alice\) and 2 \(Bob\)"),
        ({"person": "a b"}, "person 'a b': give 1 to 40 letters"),
        ({"person": "fair"}, "person 'fair' is an agent's name"),
        ({"person": "react"}, "person 'react' is an agent's name"),
        ({"partner": "fairly"}, "did you mean 'fair'"),
        ({"contexts": Path("nowhere")}, "nowhere: no such file"),
    ],
)
def test_what_cannot_be_played_is_told(tmp_path: Path, changed: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        play(tmp_path / "one", choice=replace(CHOICE, **changed))  # type: ignore[arg-type]
