"""What a player reads, is asked and sees depends on nothing that it may not know: byte for byte, over every deal."""

from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.avalon.rules import Options
from apportion.environments.deduction.avalon.scripts import Bayesian, Claims
from apportion.environments.deduction.avalon.strategist import Strategist
from apportion.environments.deduction.events import Aim, Event, called
from apportion.environments.deduction.scripts import Random as Drawing
from apportion.environments.environment import Action, Step
from tests.environments.deduction.avalon.plays import CASTS, EVIL, any_step, begun, shown, some_game
from tests.environments.deduction.seen import seen_by

SCRIPTS = (Claims(), Bayesian(), Drawing(), Strategist(simulations=3))


def deals_that_fit(game: Avalon, seat: int) -> Iterator[tuple[str, ...]]:
    """Those that a player's own role, night, and what went wrong on quests allow; nothing of the engine is asked."""
    teams = [event.data for event in game.events if event.kind == "propose"]
    voted_for = [event.data for event in game.events if event.kind == "result"]
    gone = [team for team, goes in zip(teams, voted_for, strict=False) if goes]
    quests = [moves for number, moves in enumerate(game.steps) if number in _quests(game)]
    failed = [
        ([one - 1 for one in team], sum(move.act.kind == "fail" for move in moves if move.agent != called(seat + 1)))
        for team, moves in zip(gone, quests, strict=False)
    ]
    for deal in sorted(set(permutations(game.deal))):
        if deal[seat] != game.deal[seat] or shown(deal, seat) != shown(game.deal, seat):
            continue
        if all(sum(deal[one] in EVIL for one in team if one != seat) >= fails for team, fails in failed):
            yield deal


def _quests(game: Avalon) -> set[int]:
    return {event.step for event in game.events if event.kind == "went"}


def as_if(game: Avalon, deal: tuple[str, ...], seat: int) -> Avalon:
    """The same public course under another deal: who may have failed a quest did, as often; the own cards stay."""
    other = begun(deal, game.seed, roles=game.rules.roles)
    for moves in game.steps:
        phase, acts = other._stage().phase, dict(moves)
        if phase == "quest":
            acts = _cards(moves, deal, seat)
        elif phase == "shot":  # A silent Assassin names whoever is next and not evil: all have seen whom.
            acts = {moves[0].agent: Action("assassinate", "", game.events[-1].data[1])}
        other.step(acts)
    return other


def _cards(moves: Step, deal: tuple[str, ...], seat: int) -> dict[str, Action]:
    acts = {move.agent: move.act for move in moves}
    own = f"Player {seat + 1}"
    left = sum(act.kind == "fail" for name, act in acts.items() if name != own)
    for name in acts:
        if name != own:
            fails = left > 0 and deal[int(name.split()[1]) - 1] in EVIL
            left -= fails
            acts[name] = Action("fail") if fails else Action("pass")
    assert left == 0
    return acts


def check_every_deal(seed: int, steps: int, until: str, roles: tuple[str, ...] = CASTS[0]) -> int:
    """Whatever the deals that fit are, all look the same from every seat; ``until`` a phase, such as that of cards."""
    game, compared = some_game(seed, steps, roles=roles), 0
    draws = Random(seed)
    while until and game._stage().phase not in (until, "over"):
        game.step(any_step(game, draws))
    for seat, name in enumerate(game.agents):
        expected = list(deals_that_fit(game, seat))
        if game.over and game.game.ending != "quests failed":
            # The shot has told who the Assassin is, and who is or is not Merlin.
            shooter, target, hit = game.events[-1].data
            expected = [
                deal for deal in expected if deal[shooter - 1] == "assassin" and (deal[target - 1] == "merlin") == hit
            ]
        seen = seen_by(game, name, SCRIPTS)
        assert game.deal in expected
        assert sorted(game.facts(name).deals) == expected
        for deal in expected if len(expected) < 25 else draws.sample(expected, 4):
            assert seen_by(as_if(game, deal, seat), name, SCRIPTS) == seen
        compared += len(expected)
    return compared


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32), steps=st.integers(0, 60), until=st.sampled_from(("", "quest", "shot")))
def test_every_deal_that_fits_gives_the_same_bytes(seed: int, steps: int, until: str) -> None:
    assert check_every_deal(seed, steps, until) >= 5


@pytest.mark.parametrize("roles", CASTS[1:])
@pytest.mark.parametrize("until", ["quest", "shot"])
def test_so_it_does_in_other_casts(roles: tuple[str, ...], until: str) -> None:
    assert check_every_deal(3, 5, until, roles) >= 5


def test_so_it_does_at_the_end() -> None:
    assert check_every_deal(1, 10_000, "") >= 5


@pytest.mark.slow
def test_every_deal_that_fits_gives_the_same_bytes_in_many_games() -> None:
    draws = Random(4)
    compared = [
        check_every_deal(seed, draws.randrange(90), "quest" * (seed % 2), CASTS[seed % 4]) for seed in range(120)
    ]
    assert sum(compared) > 3_000


class Marked(Avalon):
    """A game whose every secret carries a mark of its own."""

    def role_in_words(self, seat: int) -> str:
        return f"{super().role_in_words(seat)} CANARY{seat}-role."

    def _event(self, seat: int, act: Action) -> tuple[Event, Aim]:
        event, aim = super()._event(seat, act)
        if event.to is not None:
            event = event._replace(text=f"{event.text} CANARY{seat}-card", data=f"CANARY{seat}-data")
        return event, aim

    def tell(self, kind: str, text: str, data: Any = None, to: tuple[int, ...] | None = None, **how: Any) -> None:
        super().tell(kind, text if to is None else f"{text} CANARY{to[0]}-night", data, to, **how)


@pytest.mark.parametrize(("roles", "shown_to"), [(CASTS[0], 3), (CASTS[-1], 4)])
def test_marks_in_every_role_night_and_card_reach_their_owner_alone(roles: tuple[str, ...], shown_to: int) -> None:
    game, draws = Marked(Options(roles)), Random(1)
    game.reset(1)
    marked = set()
    while game.acting():
        for seat, name in enumerate(game.agents, 1):
            seen = (
                repr(seen_by(game, name, SCRIPTS)) if game.legal(name) else repr((game.observe(name), game.facts(name)))
            )
            foreign = [other for other in range(1, len(roles) + 1) if other != seat and f"CANARY{other}" in seen]
            assert not foreign
            marked |= {(seat, what) for what in ("role", "card", "night") if f"CANARY{seat}-{what}" in seen}
        game.step(any_step(game, draws))
    assert {seat for seat, what in marked if what == "role"} == set(range(1, len(roles) + 1))
    assert len([seat for seat, what in marked if what == "night"]) == shown_to
    assert any(what == "card" for _, what in marked)
    assert "CANARY" not in repr(game.turns(game.steps))
    for who, _, text in game.backgrounds():
        assert "CANARY" not in (text if who is None else text.replace(f"CANARY{who.split()[1]}", ""))
