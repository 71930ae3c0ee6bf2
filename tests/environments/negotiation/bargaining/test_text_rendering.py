from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.bargaining.game import Bargaining
from apportion.environments.negotiation.bargaining.scenario import Bargain
from apportion.environments.negotiation.bargaining.scripts import AnyAct, Conceding, Fair
from apportion.environments.negotiation.bargaining.text_rendering import BargainingRenderer
from apportion.environments.terminal.console import LineError

TELLING = BargainingRenderer()
SCRIPTS = (AnyAct(), Conceding(), Fair())


def begun(*acts: Action) -> Observation:
    """After some acts, as whoever is next sees it; the buyer starts."""
    game = Bargaining(Bargain("a lamp", 60, 50, 20))
    game.reset(next(seed for seed in range(99) if not game.reset(seed) and game.starter == 0))
    for act in acts:
        game.do(act)
    return Observation(game, game.acting()[0])


def typed(view: Observation, kind: str, words: str = "") -> Action:
    return TELLING.understood(view, Action(kind, words))


def test_each_side_reads_its_own_limit_and_what_was_done() -> None:
    view = begun(Action("offer", "", 30), Action("offer", "Take it!\x1b[2J", 45))
    rules, own = TELLING.opening(view)
    assert "wants to buy a lamp" in rules.text and own.label == "You are the buyer; "
    assert own.text.startswith("your budget is 50")
    mine, others = TELLING.events(view)
    assert (mine.label, mine.text, mine.own) == ("#1 You offered 30. ", "", True)
    assert (others.label, others.text) == ("#2 Seller offered 45. ", '"Take it!\x1b[2J"')
    assert TELLING.prompt(view) == "act 3 of 20> "


def test_the_rules_say_which_commands_there_are() -> None:
    assert list(TELLING.commands(begun())) == ["say", "offer"]
    after = begun(Action("offer", "", 30))
    assert list(TELLING.commands(after)) == ["say", "offer", "accept", "refuse", "leave"]
    assert TELLING.plain(after) == "say"
    refused = begun(Action("offer", "", 30), Action("refuse"))
    assert "accept" not in TELLING.commands(refused)


def test_own_words_and_prices_are_acts() -> None:
    view = begun(Action("offer", "", 30))
    assert typed(view, "offer", "45") == Action("offer", "", 45)
    assert typed(view, "say", "How about 45?") == Action("offer", "How about 45?", 45)
    assert typed(view, "say", "I accept that.") == Action("accept", "I accept that.")
    assert typed(view, "accept") == Action("accept")
    assert view.problem(typed(view, "offer", "61")) == "'Seller' offers 61: a whole number from 1 to 60 is a price"


@pytest.mark.parametrize("words", ["", "x", "-3", "4.5", "30 please", "1" * 10, "\u0663"])
def test_what_is_no_price_is_told(words: str) -> None:
    with pytest.raises(LineError, match="one whole number is needed, the price, as /offer 30"):
        typed(begun(), "offer", words)


def test_words_that_may_be_no_offer_bind_nobody() -> None:
    view = begun(Action("offer", "", 30))
    for words in ("No, 30 is too little", "30 or 40", "I can't take 30"):
        with pytest.raises(LineError, match="is that an offer, and of which price"):
            typed(view, "say", words)
    with pytest.raises(LineError, match="that is no act: say a price"):
        typed(view, "say", "Nice weather")


def test_the_price_that_is_complained_about_is_not_offered() -> None:
    view = begun(Action("offer", "", 30), Action("offer", "", 45))
    complaints = ("40 is too much", "40 would be steep", "You are 5 higher", "41: Expensive!", "35, little as it is")
    for words in ("45 is what you want", "45", *complaints):
        with pytest.raises(LineError, match=r"which price\? Say it as /offer PRICE, /accept or /refuse"):
            typed(view, "say", words)
    assert typed(view, "say", "My highest price is 40") == Action("offer", "My highest price is 40", 40)
    assert typed(view, "say", "I stay with 30").data == 30


def shown(game: Bargaining) -> list[Any]:
    view = Observation(game, "Buyer")
    return [TELLING.opening(view), TELLING.events(view), TELLING.prompt(view), TELLING.commands(view)]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 10**6))
def test_the_other_s_limit_changes_nothing_on_the_screen(cost: int, other: int, seed: int) -> None:
    games = [Bargaining(Bargain("a lamp", 60, 50, one)) for one in (cost, other)]
    for game in games:
        game.reset(seed)
    draws = Random(seed)
    while not games[0].over:
        assert shown(games[0]) == shown(games[1])
        (name,) = games[0].acting()
        act = draws.choice(SCRIPTS).act(Observation(games[0], name))
        for game in games:
            game.do(act)
    assert shown(games[0]) == shown(games[1])
