"""Scripted players: what they do, and who beats whom, game by game on the same deals."""

from collections.abc import Callable
from random import Random
from statistics import fmean, stdev

import pytest

from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.onuw.claims import Card, all_accounts, claimed, sentence
from apportion.environments.deduction.onuw.game import OneNight
from apportion.environments.deduction.onuw.observation import lived
from apportion.environments.deduction.onuw.rules import PLAYERS, WEREWOLF, ClaimedHistory
from apportion.environments.deduction.onuw.scripts import Bayesian, Claiming, believable
from apportion.environments.deduction.scripts import Random as Drawn
from apportion.environments.environment import Action, Observation
from tests.environments.deduction.onuw.playing import ONE_ROUND, at_dawn, played


@pytest.mark.parametrize("script", [Claiming(), Bayesian()])
def test_villagers_tell_their_night_and_stick_to_it(script: Claiming) -> None:
    for seed in range(8):
        game = played((script,), seed)
        for seat, name in enumerate(game.agents):
            said = [event.text for event in game.events if event.kind == SPEAK and event.seat == seat + 1]
            claims = [claimed(seat, words) for words in said]
            assert len(said) == 3 and len(set(claims)) == 1 and isinstance(claims[0], ClaimedHistory)
            known = lived(game.facts(name))
            assert (claims[0] == known) == (known.last != WEREWOLF)
            assert claims[0].last != WEREWOLF


def test_the_bayesian_follows_the_card_that_was_moved() -> None:
    """The Seer saw the Werewolf before Player 5, and the Troublemaker says that the card is before Player 1 now.

    Player 5 says nothing: a lie that fits would make the Seer's claim look like one.
    """
    deal = ("villager", "seer", "troublemaker", "villager", "werewolf", "robber", "insomniac")
    game = at_dawn(deal, {"seer": (4,), "troublemaker": (0, 4)})
    for name in game.agents:
        game.step({name: Bayesian().act(Observation(game, name)) if name != "Player 5" else Action(SPEAK, "Hello.")})
    votes = {name: Bayesian().act(Observation(game, name)) for name in game.agents}
    assert all(vote.kind == VOTE for vote in votes.values())
    assert [votes[f"Player {seat}"].data for seat in (2, 3, 4)] == [1, 1, 1]
    # Who was dealt the Werewolf has heard that its card is another's now.
    assert votes["Player 5"].data == 1


def wins(village: Agent, wolf: Agent, seed: int) -> tuple[float, float]:
    """Of one game, the part of those who were dealt the village's cards that wins, and whether the Werewolf's does."""
    game = OneNight(ONE_ROUND)
    game.reset(f"match/{seed}")
    dealt = dict(zip(game.agents, game.deal, strict=False))
    play(game, {name: wolf if role == WEREWOLF else village for name, role in dealt.items()})
    won = {name: float(one["win"] or 0) for name, one in game.outcome().items()}
    return fmean(won[name] for name in dealt if dealt[name] != WEREWOLF), next(
        won[name] for name in dealt if dealt[name] == WEREWOLF
    )


def gained(better: Callable[[int], float], than: Callable[[int], float], games: int) -> tuple[float, float]:
    """Mean of the paired differences, and how many standard errors it lies above zero."""
    differences = [better(seed) - than(seed) for seed in range(games)]
    return fmean(differences), fmean(differences) / (stdev(differences) / games**0.5)


def test_the_bayesian_village_beats_the_random_one() -> None:
    drawn, bayes = Drawn(), Bayesian()
    mean, errors = gained(lambda n: wins(bayes, drawn, n)[0], lambda n: wins(drawn, drawn, n)[0], 120)
    assert mean > 0.2 and errors > 4


def test_the_bayesian_werewolf_beats_the_random_one_before_a_village_that_listens() -> None:
    drawn, bayes, claims = Drawn(), Bayesian(), Claiming()
    mean, errors = gained(lambda n: wins(claims, bayes, n)[1], lambda n: wins(claims, drawn, n)[1], 200)
    assert mean > 0.05 and errors > 2


VILLAGER = ClaimedHistory("villager")


def test_a_lie_is_innocent_and_claims_a_card_that_is_free() -> None:
    claims = {1: VILLAGER, 2: VILLAGER, 3: ClaimedHistory("seer")}
    lies = [believable(claims, 0, Random(seed)) for seed in range(200)]
    assert {lie.role for lie in lies} == {"robber", "troublemaker", "insomniac"}
    assert all(lie in all_accounts(0) and WEREWOLF not in (lie.last, *lie.seen) for lie in lies)


def test_every_account_is_read_as_it_is_said() -> None:
    for seat in range(PLAYERS):
        assert len({sentence(one) for one in all_accounts(seat)}) == len(all_accounts(seat)) == 64
        for one in all_accounts(seat):
            assert claimed(seat, f"Well. {sentence(one)} I think Player 2 has the Werewolf's card.") == one


@pytest.mark.parametrize(
    "words",
    [
        "",
        "I am not the Werewolf, trust me!",
        "Player 2 says: the Seer am I",
        "I am the Seer's friend.",
        "vote 3",
    ],
)
def test_other_words_claim_nothing(words: str) -> None:
    assert claimed(0, words) is None


@pytest.mark.parametrize(
    ("words", "role"),
    [
        ("I am the Seer, trust me!", "seer"),
        ("i'm a villager. Who are you?".capitalize(), "villager"),
        ("Well, I started as the robber and took something.", "robber"),
        ("I was dealt the Seer; I looked at Player 1's card: Seer.", "seer"),  # nobody sees a second Seer
        ("I was dealt the Robber; I took Player 1's card and am the Villager now.", "robber"),  # its own card
        ("I am the Seer. No, I was the Insomniac.", "insomniac"),
    ],
)
def test_of_free_words_the_card_is_read(words: str, role: str) -> None:
    assert claimed(0, words) == Card(role) != ClaimedHistory(role)
