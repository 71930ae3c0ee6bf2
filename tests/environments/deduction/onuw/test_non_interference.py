"""Whatever deal and night fit what a player knows: not a byte of what it reads, is asked or sees on its screen differs.

Which of them fit is enumerated by `oracle`, which knows nothing of the engine.
"""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.chooser import Choosing, mind_of
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.learned_table import LearnedTable
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.onuw.rules import PLAYERS
from apportion.environments.deduction.onuw.scripts import Bayesian, Claiming
from apportion.environments.deduction.scripts import Random as Drawn
from apportion.environments.environment import Action, Observation
from tests.environments.deduction.onuw import oracle
from tests.environments.deduction.onuw.playing import ONE_ROUND, at_dawn, played
from tests.environments.deduction.seen import seen_by

RL_INS = Choosing("rl-ins", mind_of("rl-ins", "onuw"), LearnedTable("rl-ins", "onuw", ()), best=False)
SCRIPTS = (Drawn(), Claiming(), Bayesian(), RL_INS)
Known = tuple[Any, ...]
SOME = 7


@lru_cache(maxsize=1)
def by_what_is_known(every: int) -> dict[Known, list[tuple[oracle.Dealt, dict[str, tuple[int, ...]]]]]:
    """Every so many-th deal with every night, by each player and what it knows of them, told apart from the engine."""
    found: dict[Known, list[tuple[oracle.Dealt, dict[str, tuple[int, ...]]]]] = defaultdict(list)
    for deal in oracle.dealt()[::every]:
        for chosen in oracle.nights(deal):
            _, shown = oracle.told(deal, chosen)
            for player in oracle.PLAYERS:
                role = deal[player - 1]
                # The centre's two cards are turned over together: which lay left is not told.
                found[player, role, chosen.get(role, ()), tuple(sorted(shown.get(player, ())))].append((deal, chosen))
    return found


def begun(deal: oracle.Dealt, chosen: dict[str, tuple[int, ...]], seed: int) -> OneNight:
    return at_dawn(deal, {role: tuple(place - 1 for place in choice) for role, choice in chosen.items()}, seed=seed)


def act_alike(games: Iterable[OneNight], draws: Random) -> None:
    """The next speech or vote, in all games the same: what the others know may move them, and nothing else reaches."""
    games = list(games)
    acting = games[0].acting()
    assert all(game.acting() == acting for game in games)
    if SPEAK in games[0].legal(acting[0]):
        speeches = {acting[0]: draws.choice(SCRIPTS).act(Observation(games[0], acting[0]))}
    else:
        speeches = {
            name: Action(
                VOTE, "", draws.choice([0, *[other for other in range(1, PLAYERS + 1) if f"Player {other}" != name]])
            )
            for name in acting
        }
    for game in games:
        game.step(speeches)


@given(st.integers(0, 10**9), st.integers(1, PLAYERS), st.integers(0, 10**6))
@settings(max_examples=5, deadline=None, phases=(Phase.generate,))  # an example takes too long to shrink it
def test_what_fits_is_not_told_apart(number: int, player: int, seed: int) -> None:
    draws, name = Random(number), f"Player {player}"
    known = draws.choice([one for one in by_what_is_known(SOME) if one[0] == player])
    fitting = by_what_is_known(SOME)[known]
    games = [begun(*one, seed) for one in draws.sample(fitting, min(4, len(fitting)))]
    while not games[0].over:
        expected = seen_by(games[0], name, SCRIPTS, deals=False)
        for game in games[1:]:
            assert seen_by(game, name, SCRIPTS, deals=False) == expected
        act_alike(games, draws)
    # The end shows cards: where it shows the same, nothing else does.
    told = [game.events[-1] for game in games]
    for game in games[1:]:
        if game.events[-1] == told[0]:
            assert seen_by(game, name, SCRIPTS, deals=False) == seen_by(games[0], name, SCRIPTS, deals=False)


@pytest.mark.slow
def test_every_deal_and_night_that_fits_reads_the_same() -> None:
    """All 116,280 nights, in the 64 kinds of what one player can know of them."""
    player, worlds = 4, 0
    name = f"Player {player}"
    for known, fitting in by_what_is_known(1).items():
        if known[0] != player:
            continue
        texts = set()
        for one in fitting:
            game = begun(*one, 7)
            view = Observation(game, name)
            texts.add((view.text, view.legal, view.step, view.number))
            worlds += 1
        assert len(texts) == 1, known
    assert worlds == 116_280


def test_before_the_night_one_s_card_alone_is_read() -> None:
    texts: dict[tuple[str, str], set[tuple[Any, ...]]] = defaultdict(set)
    for deal in oracle.dealt():
        game = OneNight(ONE_ROUND, deal)
        for name in game.agents:
            view = Observation(game, name)
            texts[name, deal[view.seat]].add((view.text, view.legal, view.step, view.number))
    assert len(texts) == 5 * 6 and all(len(one) == 1 for one in texts.values())


def test_what_each_was_dealt_and_shown_reaches_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A canary in every role and every night's result, over whole games of all scripts."""
    monkeypatch.setattr(OneNight, "role_in_words", lambda self, seat: f"CANARY-{seat}-dealt")
    plain = OneNight.tell

    def tell(self: OneNight, kind: str, text: str, data: Any = None, to: tuple[int, ...] | None = None) -> None:
        plain(self, kind, text if to is None else f"CANARY-{to[0]}-shown {text}", data, to)

    monkeypatch.setattr(OneNight, "tell", tell)
    shown = 0
    for seed in range(12):
        game = played(SCRIPTS[seed % 3 :] or SCRIPTS, seed)
        public = str(game.utterances(game.steps)) + str(game.outcome()) + str(game.counted())
        assert "CANARY" not in public
        for seat, name in enumerate(game.agents, 1):
            others = [f"CANARY-{other}-" for other in range(1, PLAYERS + 1) if other != seat]
            everything = str(seen_by(game, name, SCRIPTS, deals=False))
            assert f"CANARY-{seat}-dealt" in everything
            shown += f"CANARY-{seat}-shown" in everything
            assert not any(canary in everything for canary in others)
            rows = [text for who, _, text in game.backgrounds() if who in (None, name)]
            assert not any(canary in str(rows) for canary in others)
    assert shown > 12
