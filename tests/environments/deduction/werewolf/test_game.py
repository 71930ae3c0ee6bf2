"""Werewolf as an environment: who speaks when, what is told to whom, and what cannot be played."""

from importlib.metadata import EntryPoint
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.events import MODERATOR, SPEAK, called
from apportion.environments.deduction.simulation import DeductionChoice
from apportion.environments.deduction.werewolf.cast import WEREWOLF
from apportion.environments.deduction.werewolf.game import GAME, Werewolf
from apportion.environments.deduction.werewolf.rules import PAPER, Options
from apportion.environments.environment import Action, InvalidActionError, Observation
from apportion.environments.simulation import write_corpus
from apportion.foundation import registry
from apportion.foundation.errors import InputError, UnitError
from tests.environments.deduction.werewolf.games import begun, played

FIGURE_12 = ("villager", "seer", "villager", "werewolf", "werewolf", "guardian", "villager")


def figure_12() -> Werewolf:
    """The game of the paper's Figure 12 up to the second day."""
    game = Werewolf(Options(tie="nobody"), FIGURE_12)
    game.reset(0)
    for act in (Action("propose", "", 7), Action("kill", "", 7), Action("check", "", 3), Action("guard", "", 1)):
        game.do(act)
    for _ in range(6):
        game.do(Action(SPEAK, "Let's not rush to conclusions."))
    votes = {1: 4, 2: 6, 3: 4, 4: 1, 5: 1, 6: 0}
    game.step({called(seat): Action("vote", "", at) for seat, at in votes.items()})
    for act in (Action("propose", "", 3), Action("kill", "", 3), Action("check", "", 5), Action("guard", "", 3)):
        game.do(act)
    return game


def test_the_game_of_figure_12() -> None:
    game = figure_12()
    said = [words for _, who, words in game.turns(game.steps) if who == MODERATOR]
    assert said == [
        "Player 7 was killed in the night.",
        "Player 1 and Player 4 have the most votes: nobody is out.",
        "Nobody was killed in the night.",
    ]
    assert game.acting() == ("Player 1",) and game.follower(len(game.steps)) == "Player 2"
    assert "night 2: Player 5 is a werewolf." in game.observe("Player 2")
    assert "night 1: Player 3 is no werewolf." in dict(_private(game))["Player 2"]
    assert {deal.index(WEREWOLF) + 1 for deal in game.facts("Player 2").deals} <= {1, 4, 5}
    assert all(deal[4] == WEREWOLF and deal[2] != WEREWOLF for deal in game.facts("Player 2").deals)


@pytest.mark.parametrize("out", [False, True])
def test_a_hunter_who_dies_shoots_before_anybody_has_won(out: bool) -> None:
    roles = ("werewolf", "hunter", "villager", "villager")
    game = Werewolf(Options(roles), roles)
    game.reset(0)
    game.do(Action("kill", "", 3 if out else 2))
    if out:
        while game.choices(int(game.acting()[0][-1])).keys() == {SPEAK}:
            game.do(Action("none"))
        game.step({"Player 1": Action("vote", "", 2), "Player 2": Action("none"), "Player 4": Action("vote", "", 2)})
    assert game.acting() == ("Player 2",) and game.legal("Player 2") == ("shoot", "none") and not game.over
    assert game.turns(game.steps)[-1][1:] == (MODERATOR, "Player 2 is the hunter, and may shoot one player.")
    assert all(deal[1] == "hunter" for deal in game.facts("Player 4").deals)
    spared = game.clone()
    spared.do(Action("none"))  # Two are left after a vote, one of them a werewolf; three after a night.
    assert (spared.over, spared.table.winner) == (out, "werewolves" if out else "")
    game.do(Action("shoot", "", 1))
    assert game.over and game.table.winner == "village"
    assert ("Player 2", "[shot Player 1]") in [turn[1:] for turn in game.turns(game.steps)]


def _private(game: Werewolf) -> list[tuple[str, str]]:
    return [(who, text) for who, kind, text in game.backgrounds() if who is not None]


def test_the_dead_are_asked_for_nothing_and_nobody_votes_for_them() -> None:
    game = figure_12()
    while game.choices(1).keys() != {"vote"}:
        assert "Player 7" not in game.acting() and game.legal("Player 7") == ()
        game.do(Action(SPEAK, "Hm."))
    with pytest.raises(InvalidActionError, match="'Player 1' may not vote 7: allowed: 0, 2, 3, 4, 5, 6"):
        game.check("Player 1", Action("vote", "", 7))
    with pytest.raises(InvalidActionError, match="'Player 7' may not 'vote'"):
        game.check("Player 7", Action("vote", "", 1))
    with pytest.raises(UnitError, match="may not vote 7"):
        play(game, dict.fromkeys(game.agents, ScriptedAgent("dead", lambda view: Action("vote", "", 7))))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_everybody_alive_speaks_once_a_day_in_order_and_then_votes(seed: int) -> None:
    game = played(seed)
    again = begun(seed, game.deal)
    order: list[str] = []
    for step, moves in enumerate(game.steps):
        alive = [called(seat) for seat in again.facts("Player 1").alive]
        assert {name for name, _ in moves} <= set(alive)
        if again.choices(int(moves[0].agent[-1])).keys() == {SPEAK}:
            order.append(moves[0].agent)
            assert again.follower(step) == game.follower(step) == (None if order == alive else alive[len(order)])
        elif len(moves) > 1:
            assert order == alive == [name for name, _ in moves]
            order = []
        again.advance(moves)
    assert game.over and {one["win"] for one in game.outcome().values()} == {0.0, 1.0}
    won = {role == WEREWOLF for role, one in zip(game.deal, game.outcome().values(), strict=True) if one["win"]}
    assert len(won) == 1
    rounds = [event.stage for event in game.events]
    assert all(one.round <= other.round for one, other in pairwise(rounds))


def test_the_same_seed_deals_the_same_and_all_deals_come() -> None:
    deals = {begun(seed).deal for seed in range(5_000)}
    assert len(deals) == 420 and begun(3).deal == begun(3).deal
    assert {tuple(sorted(deal)) for deal in deals} == {tuple(sorted(PAPER))}


def test_a_deal_of_other_roles() -> None:
    with pytest.raises(InputError, match="2 seer"):
        Werewolf(deal=("seer", *PAPER[:6]))
    with pytest.raises(InputError, match="the roles of this game are werewolf, werewolf, seer"):
        Werewolf(deal=("werewolf", "seer", "villager"))


def test_a_game_of_three_tells_its_own_rules() -> None:
    game = Werewolf(Options(("werewolf", "guardian", "villager"), most_days=2, self_guard=False))
    rules = game.rules_in_words()
    assert "3 players (one werewolf, one guardian, one villager)" in rules and "after day 2" in rules
    assert "the werewolf decides whom to kill" in rules and "another living player" in rules and "seer" not in rules
    three = Werewolf(Options(players=12))
    assert "in the order of their numbers, whom to kill, and the last of them decides" in three.rules_in_words()
    assert three.meanings["propose"] == "say to the other werewolves whom to kill; the last decides"
    assert "shoot" not in game.kinds and "hunter" not in rules
    assert "nobody is out" in Werewolf(Options(tie="nobody")).rules_in_words()


class Brought:
    """What a package might bring under the name of a published method."""

    called, paid = "mole", False

    def act(self, view: Observation) -> Action:
        ((kind, aims),) = view.facts.choices.items()
        return Action(kind, "" if aims else f"There are {len(view.facts.deals)} deals.", aims[-1] if aims else None)


def test_a_published_method_that_a_package_brings_plays(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    point = EntryPoint("mole", f"{__name__}:Brought", "apportion.werewolf_agents")
    monkeypatch.setattr(registry, "points_of", lambda group: {"mole": point} if group == point.group else {})
    report = write_corpus(DeductionChoice(GAME, ("mole", "claims"), games=2), tmp_path_factory.mktemp("c") / "games")
    assert report.rows["sessions"] == 2
