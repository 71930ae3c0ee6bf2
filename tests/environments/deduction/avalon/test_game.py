"""Avalon as an environment: phases, what is said when, who hears what, and what the corpus has of it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.environments.deduction.avalon.game import Avalon
from apportion.environments.deduction.avalon.rules import EVIL_WINS, GOES
from apportion.environments.deduction.events import SPEAK
from apportion.environments.environment import Action, InvalidActionError
from apportion.foundation.errors import InputError
from tests.environments.deduction.avalon.plays import CASTS, DEAL, begun, some_game, until

FIVE = [f"Player {seat}" for seat in range(1, 6)]


def last_said(game: Avalon) -> str:
    return game.turns(game.steps)[-1][2]


def test_a_round_is_a_proposal_five_speeches_a_vote_and_a_quest() -> None:
    game = begun()
    leader = game.game.leader
    assert game.acting() == (FIVE[leader],)
    game.step({FIVE[leader]: Action("propose", "I talk meanwhile", [1, 3])})
    for seat, name in enumerate(FIVE):
        assert game.acting() == (name,)
        assert game.legal(name) == ("speak", "none")
        assert game.follower(len(game.steps)) == (FIVE[seat + 1] if seat < 4 else None)
        game.step({name: Action(SPEAK, f"I am {seat}.")})
    assert game.acting() == tuple(FIVE)
    game.step({name: Action("approve") for name in FIVE})
    assert last_said(game) == "5 of 5 votes are for the team: it goes."
    assert game.acting() == ("Player 1", "Player 3")
    assert game.legal("Player 1") == ("pass", "none")
    assert game.legal("Player 3") == ("pass", "fail", "none")
    assert game.legal("Player 2") == ()
    game.step({"Player 1": Action("pass"), "Player 3": Action("fail")})
    following = f"Player {(leader + 1) % 5 + 1} leads: team 1 of at most 5 for quest 2, with 3 players."
    assert (
        last_said(game) == f"1 let quest 1 pass and 1 failed it: it failed. So far 0 passed and 1 failed. {following}"
    )
    assert game.acting() == (FIVE[(leader + 1) % 5],)
    said = [text for _, _, text in game.turns(game.steps)]
    assert "[proposed Player 1 and Player 3]" in said and "I talk meanwhile" not in " ".join(said)
    assert not any("let the quest" in text or "failed the quest" in text for text in said)


@pytest.mark.parametrize(("target", "said", "good"), [(1, "is Merlin: evil wins", 0.0), (5, "is not Merlin", 1.0)])
def test_the_assassin_names_one_player_and_everybody_learns_who_it_was(target: int, said: str, good: float) -> None:
    game = until(begun(), "shot")
    assert game.acting() == ("Player 4",)
    assert game.choices(4) == {"assassinate": (1, 2, 3, 5)}
    game.step({"Player 4": Action("assassinate", "", target)})
    assert said in last_said(game) and "Player 4 is the Assassin" in last_said(game)
    assert [row["win"] for row in game.outcome().values()] == [good, good, 1 - good, 1 - good, good]
    assert all(deal[3] == "assassin" for deal in game.facts("Player 2").deals)


@pytest.mark.parametrize(
    ("phase", "seat", "act", "why"),
    [
        ("team", 0, Action("propose", "", [1, 2, 3]), "may not propose"),
        ("team", 0, Action("propose", "", [1, 6]), "may not propose"),
        ("team", 0, Action("propose", "", None), "may not propose"),
        ("team", 0, Action("approve"), "may not 'approve'"),
        ("discussion", 1, Action("approve"), "may not 'approve'"),
        ("vote", 1, Action("approve", "", 1), "may not approve 1: it is aimed at nobody"),
        ("vote", 1, Action("propose", "", [1, 2]), "may not 'propose'"),
        ("quest", 5, Action("fail"), "may not 'fail'"),
        ("shot", 4, Action("assassinate", "", 4), "may not assassinate 4: allowed: 1, 2, 3, 5"),
        ("shot", 4, Action("assassinate", "", True), "may not assassinate True"),
    ],
)
def test_acts_that_are_none_here_are_refused_and_nothing_is_done(phase: str, seat: int, act: Action, why: str) -> None:
    game = until(begun(), phase)
    name = FIVE[seat - 1] if seat else game.acting()[0]
    if phase == "quest":  # The teams of `until` are of the last seats.
        assert name in game.acting()
    before = (len(game.steps), len(game.events))
    with pytest.raises(InvalidActionError, match=why):
        game.check(name, act)
    others = {other: Action("none") for other in game.acting() if other != name}
    with pytest.raises(InvalidActionError, match=why):
        game.step({**others, name: act})
    assert before == (len(game.steps), len(game.events))


def test_whoever_does_nothing_does_what_the_rules_name_and_it_is_counted() -> None:
    game = begun()
    leader = game.game.leader
    while not game.over:
        game.step({name: Action("none") for name in game.acting()})
    said = [(speaker, text) for _, speaker, text in game.turns(game.steps)]
    team = sorted((leader, (leader + 1) % 5))
    assert said[1] == (FIVE[leader], f"[proposed Player {team[0] + 1} and Player {team[1] + 1}]")
    assert said[2] == ("Player 1", "[said nothing]")
    assert said[7] == ("Player 1", "[voted against the team]")
    # Nobody fails a quest; the first player after Player 4 who is not evil is Player 5.
    assert game.game.ending == "merlin hidden"
    assert said[-2] == ("Player 4", "[named Player 5 as Merlin]")
    counted = game.counted()
    # Three quests, each with its fifth team: 15 proposals, each with five speeches and five votes; seven cards.
    for phase, times in (("team", 15), ("discussion", 75), ("vote", 75), ("quest", 7), ("shot", 1)):
        assert [number for what, number in counted.items() if phase in what] == [times]


def test_a_silent_assassin_names_whoever_is_next_and_not_known_to_be_evil() -> None:
    deal = ("assassin", "oberon", "merlin", "servant", "servant")
    game = until(begun(deal, roles=CASTS[3]), "shot")
    assert game.default(1) == ("assassinate", 2)  # Who skipped Oberon would tell of him.
    game.step({"Player 1": Action("none")})
    assert game.game.ending == "merlin hidden"


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    options=st.fixed_dictionaries({"roles": st.sampled_from(CASTS), "last_team": st.sampled_from((GOES, EVIL_WINS))}),
)
def test_any_game_ends_in_time_with_one_team_that_has_won(seed: int, options: dict[str, Any]) -> None:
    game = some_game(seed, **options)
    assert game.over and not game.acting()
    assert game.most_steps is not None and len(game.steps) <= game.most_steps
    won = {game.teams[role] for role, row in zip(game.deal, game.outcome().values(), strict=True) if row["win"]}
    assert won == {game.game.winner}
    for seat, name in enumerate(game.agents, 1):
        acts = sum(move.agent == name for moves in game.steps for move in moves)
        assert acts <= game.most_acts(seat)
        assert game.deal in game.facts(name).deals
        assert game.legal(name) == ()
    again = begun(None, seed, **options)
    again.replay(seed, game.steps)
    assert again.events == game.events and again.outcome() == game.outcome()


def test_the_deal_is_drawn_with_the_seed_and_a_given_one_changes_nothing_else() -> None:
    assert len({begun(None, seed).deal for seed in range(800)}) == 60
    assert len({begun(None, seed).game.leader for seed in range(40)}) == 5
    assert {begun(deal, 7).game.leader for deal in (None, DEAL)} == {begun(None, 7).game.leader}


@pytest.mark.parametrize("deal", [("merlin",) * 5, DEAL[:4], (*DEAL[:4], "percival")])
def test_a_deal_has_the_roles_of_the_options(deal: Any) -> None:
    with pytest.raises(InputError, match="is no order of the roles"):
        Avalon(deal=deal)
