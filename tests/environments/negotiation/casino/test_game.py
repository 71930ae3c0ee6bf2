import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.casino_points import ISSUES, points
from apportion.corpus.corpus import Corpus
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, AgentAction, InvalidActionError, Observation
from apportion.environments.episode_log import LOG
from apportion.environments.negotiation.action_encoding import AGREE, SPLIT_OF
from apportion.environments.negotiation.casino.agents import FORM
from apportion.environments.negotiation.casino.contexts import CONTEXTS, POOL, check, drawn
from apportion.environments.negotiation.casino.game import Casino
from apportion.environments.negotiation.casino.realization import in_issues, in_items
from apportion.environments.negotiation.casino.scripts import Conceding, Fair, Greedy, Random, TitForTat
from apportion.environments.negotiation.casino.simulation import CasinoChoice
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.realization import sentence, wordings
from apportion.environments.registry import identity_of, open_session
from apportion.environments.simulation import write_corpus
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from tests.environments.models import nobody

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


def test_a_corpus_whose_sessions_are_played_on(tmp_path):
    choice = CasinoChoice(("conceding", "fair"), games=3)
    report = write_corpus(choice, tmp_path / "a")
    assert report.rows["sessions"] == choice.total == 12 and report.problems == ()
    corpus = Corpus.open(tmp_path / "a")
    for session in map(corpus.session, corpus.session_ids()):
        opened = open_session(session, tmp_path / "a", nobody)
        target = session.ratings[0].target
        (ending,) = opened.play_on(target, {turn.turn for turn in session.turns if turn.speaker == target}, (0,))
        assert ending.problem is None and ending.ranges["points"] == (0.0, 36.0)
    assert identity_of(session, tmp_path / "a")["simulator"] == "casino"
    write_corpus(choice, tmp_path / "b")
    assert (tmp_path / "a" / LOG).read_bytes() == (tmp_path / "b" / LOG).read_bytes()


def test_a_log_of_another_game(tmp_path):
    write_corpus(CasinoChoice(games=1), tmp_path)
    session = Corpus.open(tmp_path).session("0-conceding-conceding-0")
    lines = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    lines[0]["begin"]["about"]["values"][0] = [9, 9, 9]
    (tmp_path / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UnitError, match=r"session 0-conceding-conceding-0: context"):
        open_session(session, tmp_path, nobody)


def test_nothing_to_play(tmp_path):
    with pytest.raises(InputError, match="nothing to play: 1 agents, games = 0"):
        _ = CasinoChoice(games=0).total
    with pytest.raises(InputError, match="no file has contexts of this game; leave it out"):
        _ = CasinoChoice(contexts=tmp_path).total
    assert CasinoChoice().record()["kind"] == "simulate casino"


def test_a_models_packages():
    view = Observation(begun(), "Alice")
    assert list(FORM.fields(view)["keep"]["properties"]) == ["Food", "Water", "Firewood"]
    assert FORM.data("propose", {"keep": {"Food": 1, "Water": 0, "Firewood": 3}}, view) == [1, 0, 3]
    assert FORM.record(Action("propose", "", [1, 0, 3]), view) == {"keep": {"Food": 1, "Water": 0, "Firewood": 3}}
    with pytest.raises(ReplyMistakeError, match="how many you keep of each: Food, Water, Firewood"):
        FORM.data("propose", {"keep": {"book": 1, "hat": 0, "ball": 3}}, view)
