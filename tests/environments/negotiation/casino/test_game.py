import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.casino_points import ISSUES, points
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, AgentAction, InvalidActionError, Observation
from apportion.environments.negotiation.action_encoding import AGREE, SPLIT_OF
from apportion.environments.negotiation.casino.contexts import CONTEXTS, POOL, check, drawn
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.casino.realization import in_issues, in_items
from apportion.environments.negotiation.casino.scripts import Conceding, Fair, Greedy, Random, TitForTat
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.realization import sentence, wordings
from apportion.foundation.errors import InputError

CONTEXT = Context(POOL, ((5, 4, 3), (3, 4, 5)))
SCRIPTS = (Conceding, Fair, Greedy, Random, TitForTat)


def begun(*acts, context=CONTEXT):
    game = Casino(context)
    game.reset(next(seed for seed in range(99) if not game.reset(seed) and game.starter == 0))
    for act in acts:
        game.do(act)
    return game


def taken(game, alice, bob):
    game.step({"Alice": Action("select", "", alice), "Bob": Action("select", "", bob)})
    return tuple(game.outcome()[name]["points"] for name in ("Alice", "Bob"))


def test_a_deal_is_worth_what_the_importer_computes():
    game = begun(Action("propose", "", [3, 2, 0]), Action("agree"), Action("end"))
    alice, bob = dict(zip(ISSUES, (5, 4, 3), strict=True)), dict(zip(ISSUES, (3, 4, 5), strict=True))
    mine, theirs = dict(zip(ISSUES, (3, 2, 0), strict=True)), dict(zip(ISSUES, (0, 1, 3), strict=True))
    assert taken(game, [3, 2, 0], [0, 1, 3]) == (points(alice, mine), points(bob, theirs)) == (23, 19)
    assert game.outcome()["Bob"]["advantage"] == -4.0


def test_more_than_there_is():
    with pytest.raises(InvalidActionError, match=r"3 Food, 3 Water and 3 Firewood\); no item more"):
        begun().do(Action("propose", "", [4, 0, 0]))


def test_walking_away_is_worth_five():
    assert taken(begun(Action("propose", "", [3, 3, 3]), Action("disagree"), Action("end")), [3, 3, 3], [3, 3, 3]) == (
        5,
        5,
    )
    unsettled = begun(Action("propose", "", [3, 2, 0]))
    assert unsettled.outcome()["Alice"] == {"points": 5.0, "advantage": 0.0}
    unsettled.do(Action("agree"))
    assert unsettled.outcome()["Alice"]["points"] == 23.0


def test_other_contexts():
    assert len(set(CONTEXTS)) == 36 and set(drawn(36, 1)) == set(CONTEXTS) and drawn(40, 1)[36:] == drawn(4, 1)
    assert drawn(36, 1) != drawn(36, 2)
    for context in (Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))), Context(POOL, ((5, 5, 3), (3, 4, 5)))):
        with pytest.raises(InputError, match="3 packages each of Food, Water, Firewood"):
            check(context)
        with pytest.raises(InputError, match="worth 5, 4, 3 points in some order"):
            Casino(context)


@given(st.integers(0, 10**6), st.sampled_from(CONTEXTS), st.sampled_from(SCRIPTS), st.sampled_from(SCRIPTS))
def test_scripts_end_every_game_and_say_nothing_of_books(seed, context, alice, bob):
    game = Casino(context)
    game.reset(seed)
    play(game, {"Alice": alice(), "Bob": bob()})
    scales = game.scales()
    for values in game.outcome().values():
        assert all(scales[name][0] <= value <= scales[name][1] for name, value in values.items())
    text = " ".join(
        [Observation(game, "Alice").text, *(game.said(move) or "" for moves in game.steps for move in moves)]
    )
    assert re.search(r"\b(books?|hats?|balls?)\b", text) is None
    assert all(game.said(move) == move.act.text for moves in game.steps for move in moves if move.act.text)
    again = Casino(context)
    again.replay(seed, game.steps)
    assert again.outcome() == game.outcome()


def test_every_sentence_about_issues_is_the_same_again():
    for act in range(AGREE):
        if max(SPLIT_OF[act % 125]) <= 3:
            for wording in range(wordings(act)):
                said = in_issues(sentence(act, POOL, wording))
                assert in_issues(in_items(said)) == said


def test_words_of_others_are_kept_and_their_act_stands_behind_them():
    game = begun()
    keep = Action("propose", "I take all the food, you get the rest. Play ball!", [3, 0, 0])
    assert game.said(AgentAction("Alice", keep)).startswith(keep.text)
    other = keep._replace(data=[0, 3, 0])
    assert (
        game.said(AgentAction("Alice", other))
        == f"{other.text} [I would like 3 Water; you can have 3 Food and 3 Firewood.]"
    )
    silent = keep._replace(text="")
    assert game.said(AgentAction("Alice", silent)) == "I would like 3 Food; you can have 3 Water and 3 Firewood."
    game.do(other)
    assert "proposed to keep 3 Water" in Observation(game, "Bob").text and "Play ball!" in Observation(game, "Bob").text


def test_the_others_values_change_nothing_that_a_seat_sees():
    seen = [
        (Observation(game, "Alice").text, Observation(game, "Alice").facts[:4])
        for values in ((3, 4, 5), (4, 5, 3))
        for game in [begun(Action("propose", "", [3, 2, 0]), context=Context(POOL, ((5, 4, 3), values)))]
    ]
    assert seen[0] == seen[1] and "a package of Food is worth 5 points, of Water 4, of Firewood 3" in seen[0][0]
