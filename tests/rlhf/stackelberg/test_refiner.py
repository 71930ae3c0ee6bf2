"""Any agent whose speeches are refined: by a model that is asked here; by trained adapters in test_training."""

import json

import pytest

from apportion.environments.agents.agent import UNREVISED, ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.agents import ROSTER
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.game import Negotiation
from apportion.environments.simulation.plan import Asking
from apportion.environments.sotopia.agents import ROSTER as CHARACTERS
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.sources.bundled_tasks import tasks
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.refiner import REFINER, PromptedRefiner, RefinedAgent, is_folder
from tests.environments.models import Asked, nobody

MODEL = LLMSettings(model="m", base_url="http://localhost:1/v1")
CHOSEN = ModelSpec(model="m", base_url="http://localhost:1/v1")


def negotiation() -> Negotiation:
    game = Negotiation(Context((2, 2, 1), ((2, 1, 4), (1, 4, 0))))
    game.reset(3)
    return game


def test_only_speeches_are_rewritten_and_what_binds_stays():
    game, asked = negotiation(), Asked("Analysis: hm\nResponse: Be sensible, and we both gain.")
    refined = ROSTER.asked_by("greedy+refiner", CHOSEN)
    roster = {name: ROSTER.asking("greedy+refiner", refined, asked) for name in game.agents}
    plain = negotiation()
    play(game, roster)
    play(plain, {name: ROSTER.scripted("greedy") for name in plain.agents})
    for moves, others in zip(game.steps, plain.steps, strict=True):
        for move, other in zip(moves, others, strict=True):
            assert move.act[::2] == other.act[::2]  # Kind and data.
            assert move.act.text == ("" if move.act.kind == "select" else "Be sensible, and we both gain.")
    assert len(asked) == len(game.steps) - 1


def test_a_reply_that_was_cut_off_leaves_the_speech_as_it_was():
    speak = ScriptedAgent("talker", lambda view: Action("speak", "Hello, you."))
    reply = ChatReply("Analysis: I have to", "m", finish_reason="length")
    agent = RefinedAgent("talker+refiner", speak, PromptedRefiner(MODEL, lambda request: reply), True)
    game = Sotopia(next(iter(tasks())))
    act = agent.act(Observation(game, game.agents[0]))
    assert act.text == "Hello, you." and "cut off" in act.data[UNREVISED]


def test_words_that_the_rules_refuse_leave_the_speech_as_it_was():
    game = negotiation()
    name = game.acting()[0]
    own = ROSTER.scripted("greedy")
    agent = RefinedAgent("x", own, PromptedRefiner(MODEL, Asked("long " * 1_000)), True)
    view = Observation(game, name)
    assert agent.act(view) == own.act(view)


def test_a_note_that_the_rules_would_read_is_left_out():
    game = negotiation()
    own = ROSTER.scripted("greedy")
    game.do(own.act(Observation(game, game.acting()[0])))
    view = Observation(game, game.acting()[0])
    reply = ChatReply("Analysis: I have to", "m", finish_reason="length")
    agree = ScriptedAgent("agreeing", lambda view: Action("agree", "Deal."))
    agent = RefinedAgent("agreeing+refiner", agree, PromptedRefiner(MODEL, lambda request: reply), True)
    assert agent.act(view) == Action("agree", "Deal.") and view.problem(agent.act(view)) is None


def test_silence_and_acts_are_not_refined():
    game = Sotopia(next(iter(tasks())))
    view = Observation(game, game.agents[0])
    for act in (Action("none"), Action("physical action", "waves"), Action("leave")):
        agent = RefinedAgent("x", ScriptedAgent("s", lambda view, act=act: act), PromptedRefiner(MODEL, nobody), True)
        assert agent.act(view) == act


@pytest.mark.parametrize(
    ("name", "called", "asks"),
    [
        ("greedy+refiner", "greedy+refiner@m", "m"),
        ("base+refiner", "base@m+refiner@m", "m"),
        ("base@other+refiner", "base@other+refiner@other", "other"),
        ("base@other+refiner@third", "base@other+refiner@third", "third"),
        ("fair~+refiner", "fair~@m+refiner@m", "m"),
    ],
)
def test_a_name_says_who_acts_and_who_refines(name, called, asks):
    asked = ROSTER.asked_by(name, CHOSEN)
    assert asked.called == called and asked.settings.model == asks
    assert ROSTER.called_as(name, CHOSEN) == called
    agent = ROSTER.asking(name, asked, nobody)
    assert agent.called == called and agent.paid and isinstance(agent, Asking)
    # The name in a log means the same again.
    again = ROSTER.asked_by(called, CHOSEN)
    assert again.called == called


def test_a_price_counts_both_requests():
    asked = ROSTER.asked_by("react+refiner", CHOSEN)
    agent = ROSTER.asking("react+refiner", asked, nobody)
    assert agent.requests_an_act == 2 and agent.tokens_an_act > 0
    game = negotiation()
    assert agent.request(Observation(game, game.acting()[0])) == agent.agent.request(
        Observation(game, game.acting()[0])
    )
    script = ROSTER.asking("fair+refiner", ROSTER.asked_by("fair+refiner", CHOSEN), nobody)
    assert (
        script.requests_an_act == 1 and "refined words" in script.request(Observation(game, game.acting()[0])).subject
    )


def test_prompts_of_both_are_part_of_what_rests_on_them():
    files = ROSTER.prompt_files(ROSTER.asked_by("react+refiner", CHOSEN))
    assert [path.stem for path in files] == ["react", "refine"]


def test_without_a_model_a_person_is_told_to_choose_one_or_a_folder():
    with pytest.raises(InputError, match=r"no language model is chosen for refiner.*NAME\+refiner@FOLDER"):
        ROSTER.asked_by("fair+refiner", ModelSpec())
    with pytest.raises(InputError, match=r"Around any of them: NAME\+refiner"):
        CHARACTERS.scripted("fairr")
    with pytest.raises(InputError, match="no language model is there"):
        REFINER.around(ROSTER.scripted("fair"), "", "fair+refiner", None, None)


def test_a_folder_without_a_refiner_is_told(tmp_path):
    with pytest.raises(InputError, match="no trained Refiner there"):
        ROSTER.scripted(f"fair+refiner@{tmp_path}")
    (tmp_path / "refiner.json").write_text(json.dumps({"stages": "two"}))
    with pytest.raises(InputError, match="no adapters"):
        ROSTER.scripted(f"fair+refiner@{tmp_path}")
    with pytest.raises(InputError, match="no trained Refiner there"):
        ROSTER.scripted("fair+refiner@./nowhere")
    assert is_folder("~/x") and not is_folder("gpt-5") and not is_folder("")
