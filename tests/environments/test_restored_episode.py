"""A session at any of its acts, played on."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.environments.agents.agent import RandomLegalAgent, ScriptedAgent
from apportion.environments.agents.language_model import TOKENS_AN_ACT, LanguageModelAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Environment, InvalidActionError
from apportion.environments.restored_episode import EpisodeLocation, MissingAgent, RestoredEpisode
from apportion.environments.role_assignment import BY_RULES
from apportion.environments.rollout_preview import PredictedRequests, kept_alone
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.scripted_agents import Conceding
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.foundation.errors import UnitError
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from tests.environments.games import Countdown, Matching, take

THREES = ScriptedAgent("threes", lambda view: take(3))


def played(environment: Environment, agent=THREES, seed=4) -> tuple[Environment, RestoredEpisode]:
    environment.reset(seed)
    begun = environment.clone()
    agents = dict.fromkeys(environment.agents, agent)
    play(environment, agents)
    return environment, RestoredEpisode("s1", begun, tuple(environment.steps), agents)


def social(agent=Conceding(), seed=4) -> tuple[Environment, RestoredEpisode]:  # noqa: B008 - is frozen
    return played(Sotopia(bundled_tasks.tasks()[0]), agent, seed)


def test_it_is_placed_after_any_prefix_and_goes_on_as_it_went() -> None:
    whole, restored = social()
    for steps in range(len(whole.steps) + 1):
        game = restored.after(steps)
        assert game.steps == whole.steps[:steps]
        play(game, restored.agents)
        assert game.steps == whole.steps and game.outcome() == whole.outcome()
    assert restored.before_turn(3).steps == whole.steps[:3]
    assert restored.places[3] == EpisodeLocation(3, whole.agents[1])
    for wrong in (-1, len(whole.steps) + 1):
        with pytest.raises(UnitError, match=f"session s1: {wrong} steps of"):
            restored.after(wrong)
    with pytest.raises(UnitError, match="turn 99 of"):
        restored.before_turn(99)


@given(st.sets(st.integers(0, 9)), st.integers(0, 3), st.sampled_from([0, 1]))
def test_a_history_has_the_kept_acts_with_their_replies_and_nothing_else(kept: set[int], seed: int, seat: int) -> None:
    """Against the definition, for two who speak in turns: pairs of an act and its reply, after what came before."""
    whole, restored = social(Conceding(), seed)
    target = whole.agents[seat]
    own = restored.turns_of(target)
    coalition = {own[i] for i in kept if i < len(own)}
    expected = whole.steps[: own[0]]
    for turn in own:
        if turn in coalition:
            expected = expected + whole.steps[turn : turn + 2]
    game, dropped = restored.history(target, coalition)
    assert game.steps == expected and dropped == 0
    assert restored.as_it_stands(target, coalition).scores == game.outcome()[target]


def test_the_same_seed_plays_on_the_same_and_others_otherwise() -> None:
    whole, restored = social(RandomLegalAgent())
    target = whole.agents[0]
    endings = restored.play_on(target, (), range(30))
    assert endings == restored.play_on(target, (), range(30))
    assert len({ending.acts for ending in endings}) > 1
    assert endings[3:5] == restored.play_on(target, (), (3, 4))


def test_what_was_dealt_before_stays_when_it_is_played_on_by_another_seed() -> None:
    whole, restored = played(Countdown(("ann", "bob")))
    piles = set()
    seen = ScriptedAgent("looks", lambda view: piles.add(view.text) or take(3))
    restored.played_by({"ann": seen, "bob": THREES}).play_on("ann", (), range(20))
    assert {text for text in piles if text.startswith(f"{restored.begun.pile} ")} == {f"{restored.begun.pile} are left"}
    assert whole.over and not restored.begun.steps


def test_acts_that_removal_makes_illegal_are_dropped_and_counted() -> None:
    class Strict(Countdown):
        """Nobody may take 1 right after a 1."""

        def _check(self, agent: str, act: Action) -> None:
            if act.text == "1" and self.steps and self.steps[-1][0].act.text == "1":
                raise InvalidActionError("1 after 1")

    game = Strict(("ann", "bob"))
    game.reset(4)
    begun = game.clone()
    for number in (2, 1, 2, 2, 1):
        game.do(take(number))
    placed, dropped = RestoredEpisode("s", begun, tuple(game.steps), {}).history("ann", {0, 4})
    assert [moves[0].act.text for moves in placed.steps] == ["2", "1"] and dropped == 1


def test_a_history_that_ends_early_drops_the_rest() -> None:
    """Three silent acts in a row end an episode: they come together where what stood between is left out."""
    game = Sotopia(bundled_tasks.tasks()[0])
    game.reset(0)
    begun = game.clone()
    for kind in ("speak", "none", "speak", "speak", "none", "none", "speak", "speak"):
        game.do(Action(kind, "" if kind == "none" else "Hm."))
    target = game.agents[0]
    restored = RestoredEpisode("s", begun, tuple(game.steps), {})
    placed, dropped = restored.history(target, {0, 4, 6})
    assert placed.over and dropped == 2
    assert restored.play_on(target, {0, 4, 6}, (0, 1))[1].dropped == 2


def test_acts_at_once_go_together() -> None:
    show = ScriptedAgent("shows", lambda view: Action("show", view.draws.choice("ab")))
    whole, restored = played(Matching(("ann", "bob")), show)
    assert [place.step for place in restored.places] == [0, 0, 1, 1, 2, 2]
    placed, _ = restored.history("ann", {2})
    assert placed.steps == [whole.steps[1]]
    assert restored.play_on("ann", {2}, (0,))[0].acts == 4


def test_who_is_nobody_in_it_and_turns_of_others_are_told() -> None:
    whole, restored = social()
    with pytest.raises(UnitError, match="session s1: nobody is called 'nobody'; there are"):
        restored.turns_of("nobody")
    with pytest.raises(UnitError, match="nobody is called"):
        restored.played_by({"nobody": THREES})
    with pytest.raises(UnitError, match=r"session s1: turn 1 is none of '.*'; it has \(0, 2"):
        restored.history(whole.agents[0], {0, 1})


def test_who_cannot_play_again_is_an_error_only_when_asked() -> None:
    whole, restored = social()
    target, other = whole.agents
    left = restored.played_by({other: MissingAgent("Mia at the keyboard", "people do not play on")})
    assert left.play_on(target, left.turns_of(target), (0,))[0].acts == 0
    with pytest.raises(UnitError, match=rf"'Mia at the keyboard' \({other}\) cannot play on: people do not"):
        left.play_on(target, (), (0,))


def test_steps_that_the_rules_do_not_allow_are_told_when_it_is_opened() -> None:
    whole, restored = social()
    wrong = (*whole.steps[:1], *whole.steps[:1])
    with pytest.raises(InvalidActionError, match="out of turn"):
        RestoredEpisode("s1", restored.begun, wrong, {})


SPOKEN = '{"act": "speak", "text": "So it goes."}'


def asking(complete, style="base"):
    return LanguageModelAgent("base@m", style, LLMSettings(model="m"), complete)


def session(find, style="base"):
    """A scripted session in which a model plays on for the first character, by what is kept alone."""
    game, restored = social()
    name = game.agents[0]
    return name, replace(restored, others={name: {name: asking(kept_alone(find), style)}})


def test_nothing_kept_says_what_is_asked_first_and_nothing_more() -> None:
    name, restored = session(lambda request: None)
    assert isinstance(restored, PredictedRequests) and restored.waits
    first = restored.ahead(name, (), 3)
    assert (first.begun, first.reached, first.over, first.most) == (0, 0, False, restored.begun.most_steps)
    assert "nothing yet" in first.request.messages[1].content
    turns = restored.turns_of(name)
    later = restored.ahead(name, turns[:1], 3)
    assert later.begun == later.reached == 2 and "nothing yet" not in later.request.messages[1].content
    whole = restored.ahead(name, turns, 3)
    assert whole.over and whole.request is None and whole.reached == len(restored.steps)
    assert restored.ahead(name, (), None).over and restored.ahead(name, (), None).request is None


def test_what_is_kept_is_played_to_the_first_reply_that_is_not() -> None:
    kept = {}

    def find(request):
        return kept.get(request.key())

    name, restored = session(find)
    reached = []
    for _ in range(30):
        ahead = restored.ahead(name, (), 3)
        reached.append(ahead.reached)
        if ahead.request is None:
            break
        kept[ahead.request.key()] = ChatReply(SPOKEN, "m")
    assert reached == sorted(set(reached)) and ahead.over and reached[-1] <= restored.begun.most_steps
    (ending,) = restored.play_on(name, (), (3,))
    assert ending.acts == reached[-1]


def test_a_session_s_own_acts_say_how_long_prompts_are_and_how_often_one_is_asked() -> None:
    for style, times in (("base", 1), ("refine", 2)):
        name, restored = session(lambda request: None, style)
        prompts = restored.prompts(name)
        assert [len(of_step) for of_step in prompts] == [1 - number % 2 for number in range(len(restored.steps))]
        assert {(p.times, p.output_tokens) for of_step in prompts for p in of_step} == {(times, TOKENS_AN_ACT)}
        texts = [p.request.messages[1].content for of_step in prompts for p in of_step]
        assert sorted(texts, key=len) == texts
    other = restored.begun.agents[1]
    assert not any(restored.prompts(other)) and restored.judged() == [] and restored.judge is BY_RULES
