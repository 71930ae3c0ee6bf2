"""Who has which role changes no byte of what a player who cannot know it is shown, asked, told or draws."""

from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.chooser import Choosing, mind_of
from apportion.environments.deduction.events import called
from apportion.environments.deduction.latent_strategies import LatentSpeaker
from apportion.environments.deduction.learned_table import LearnedTable
from apportion.environments.deduction.scripts import Random as AnyAct
from apportion.environments.deduction.werewolf.cast import cast
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import PAPER, VOTE
from apportion.environments.deduction.werewolf.scripts import BayesianAgent, Claims
from apportion.environments.deduction.werewolf.strategist import Strategist
from apportion.environments.environment import Action, Observation
from tests.environments.deduction.seen import seen_by
from tests.environments.deduction.werewolf.games import begun, every_deal, played, told_by


def learned(method: str, roles: tuple[str, ...] = PAPER) -> Choosing:
    """One that has learned nothing yet, and speaks of one cluster."""
    table = LearnedTable(
        method, "werewolf", tuple(sorted(roles)), {"cluster 0": (1.0,) * 64} if method == "lspo" else {}
    )
    return (LatentSpeaker if method == "lspo" else Choosing)(method, mind_of(method, "werewolf"), table, best=False)


SCRIPTS = (AnyAct(), Claims(), BayesianAgent(), Strategist(simulations=3))


def settled(seed: int, steps: int, seat: int, roles: tuple[str, ...]) -> Werewolf | None:
    """A game that is in a day, or at an act of the seat; None: it is not, or over."""
    game = played(seed, steps, roles=roles)
    at_rest = game.table.phase == VOTE or called(seat) in game.acting()
    return game if at_rest and not game.over else None


def compared(
    seed: int, steps: int, seat: int, most: int | None, roles: tuple[str, ...] = PAPER
) -> tuple[int, list[tuple[str, ...]]]:
    """How many deals a seat cannot rule out, and under which of them it sees something else."""
    game = settled(seed, steps, seat, roles)
    if game is None:
        return 0, []
    tried = set(every_deal(game.deal))
    others = {deal: other for deal in tried if (other := told_by(game, deal, seat)) is not None}
    view = Observation(game, called(seat))
    assert game.deal in others
    # What the engine says is possible is what can be told so, no more and no less.
    assert set(view.facts.deals) & tried == set(others)
    chosen = sorted(others)
    if most is not None and len(chosen) > most:
        chosen = Random(seed).sample(chosen, most)
    scripts = (*SCRIPTS, learned("sla", roles), learned("lspo", roles))
    here = seen_by(game, called(seat), scripts)
    return len(others), [deal for deal in chosen if seen_by(others[deal], called(seat), scripts) != here]


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 24), st.integers(1, 7))
@example(1389, 14, 3)  # A werewolf that is out: nobody is killed, and it does not know why.
def test_another_deal_changes_no_byte(seed: int, steps: int, seat: int) -> None:
    deals, seen_otherwise = compared(seed, steps, seat, 5)
    assume(deals)
    assert not seen_otherwise


@pytest.mark.parametrize("roles", [cast(5), cast(6), cast(10), cast(12), (*cast(5), "hunter")])
def test_nor_does_it_in_other_casts(roles: tuple[str, ...]) -> None:
    players = len(roles)
    tried = [(seat, steps) for seat in (1, players) for steps in (6, 2 * players, 3 * players)]
    found = [compared(players + steps, steps, seat, 3, roles) for seat, steps in tried]
    assert sum(deals for deals, _ in found) > 2 and not [deal for _, otherwise in found for deal in otherwise]


@pytest.mark.slow
def test_no_deal_that_is_possible_changes_a_byte() -> None:
    draws = Random(5)
    found = [compared(draws.randrange(10**6), draws.randrange(3, 24), draws.randrange(1, 8), None) for _ in range(60)]
    hunted = (*cast(5), "hunter")
    found += [
        compared(draws.randrange(10**6), draws.randrange(9, 24), draws.randrange(1, 7), 9, hunted) for _ in range(60)
    ]
    assert not [deal for _, seen_otherwise in found for deal in seen_otherwise]
    counts = [deals for deals, _ in found]
    assert sum(one > 1 for one in counts) > 20 and max(counts) == 180


def test_the_comparison_finds_a_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were one byte of another's role in what a seat reads, it would be told."""
    role = Werewolf.role_in_words
    monkeypatch.setattr(Werewolf, "role_in_words", lambda game, seat: role(game, seat) + game.deal[seat % 7][0])
    game = begun(0)
    seat = game.deal.index("villager") + 1
    assert any(compared(0, steps, seat, 20)[1] for steps in range(5, 12))


@given(st.integers(0, 10**6), st.sampled_from((cast(7), cast(10), (*cast(7), "hunter"))))
@settings(max_examples=5, deadline=None)
def test_canaries_in_every_role_and_night_result_reach_whom_they_are_for(seed: int, roles: tuple[str, ...]) -> None:
    class Marked(Werewolf):
        """Every role, secret act and secret result has a mark of its own."""

        def role_in_words(self, seat: int) -> str:
            return f"{super().role_in_words(seat)} <<role {seat}>>"

        def tell(self, kind: str, text: str, data: Any = None, to: Any = None, stage: Any = None) -> None:
            mark = "" if to is None else f" <<told {len(self.events)}>>"
            super().tell(kind, text + mark, data, to, stage)

        def _event(self, seat: int, act: Action) -> Any:
            event, aim = super()._event(seat, act)
            mark = "" if event.to is None else f" <<did {len(self.events)}>>"
            return event._replace(text=event.text + mark), aim

    plain = played(seed, roles=roles)
    game = Marked(plain.options, plain.deal)
    game.reset(seed)
    checked = set()
    for moves in plain.steps:
        for seat, name in enumerate(game.agents, 1):
            shown = repr(seen_by(game, called(seat), SCRIPTS)) if name in game.acting() else game.observe(name)
            shown += repr(Observation(game, name).known)
            for number, event in enumerate(game.events):
                if event.to is not None:
                    mine = any(mark in shown for mark in (f"<<told {number}>>", f"<<did {number}>>"))
                    assert mine == (seat in event.to)
                    checked.add(event.kind)
            assert [one for one in range(1, len(roles) + 1) if f"<<role {one}>>" in shown] == [seat]
        game.advance(moves)
    public = repr(game.turns(game.steps))
    assert "<<" not in public and checked >= {"pack", "kill", "propose"}
