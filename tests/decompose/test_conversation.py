import math
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.decompose import DecomposeSettings, Decomposition, decompose_dialogue
from apportion.decompose.method import SessionMethod, TurnScore
from apportion.decompose.methods import METHODS
from apportion.foundation.errors import InputError
from tests.decompose.session_methods.test_llm import good
from tests.llm_client.openai_server import OpenAIServer, serving

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "assistant", "content": "Which city?"},
    {"role": "user", "content": "Rome, great!"},
    {"role": "assistant", "content": "There is no such place."},
    {"role": "user", "content": "That is terrible, I hate this."},
]


def test_messages_and_a_score_give_turn_rewards():
    ours, scored = (
        decompose_dialogue(CHAT, 2, scale=(1, 5), rater=rater, target="assistant", method="sentiment")
        for rater in ("user", "environment")
    )
    assert scored.per_message() == ours.per_message()
    found = decompose_dialogue(CHAT, 2, scale=(1, 5), method="sentiment")
    assert isinstance(found, Decomposition)
    first, second = found.turns
    assert (first.index, second.index, first.speaker) == (1, 3, "assistant")
    assert first.reward > second.reward
    assert first.reward + second.reward == pytest.approx(2)
    # The scale of the score is 4 wide and that of VADER 2, so s = 4 / 2 / T.
    assert found.spread == 1.0
    assert first.reward - second.reward == pytest.approx(first.raw_reward - second.raw_reward)
    assert found.per_message() == [None, first.reward, None, second.reward, None]
    with pytest.raises(FrozenInstanceError):
        first.reward = 0.0


def test_uniform_shares_are_equal_turned_round_and_relative_to_the_mean_as_said():
    assert [turn.reward for turn in decompose_dialogue(CHAT, 2, scale=(1, 5), method="uniform").turns] == [1.0, 1.0]
    relative = decompose_dialogue(CHAT, 2, scale=(1, 5), method="uniform", mean_score=3)
    assert (relative.total, [turn.reward for turn in relative.turns]) == (-1.0, [-0.5, -0.5])
    assert decompose_dialogue(CHAT, 2, scale=(1, 5), method="uniform", higher_is_better=False).total == 4.0


def test_people_are_named_as_they_are():
    chat = [{"speaker": who, "content": text} for who, text in (("ann", "Hi."), ("bob", "Great!"), ("ann", "Bye."))]
    found = decompose_dialogue(chat, 7, scale=(0, 10), target="ann")
    assert [turn.index for turn in found.turns] == [0, 2]
    assert found.turns == decompose_dialogue(chat, 7, scale=(0, 10), rater="bob").turns
    assert decompose_dialogue(chat, 7, scale=(0, 10), rater="ann").turns[0].speaker == "bob"


def test_a_language_model_is_asked_with_the_settings_given():
    server = OpenAIServer(answer=good)
    with serving(server):
        chosen = DecomposeSettings(llm={"model": "m", "base_url": server.url, "samples": 2})
        found = decompose_dialogue(CHAT, 4, scale=(1, 5), method="llm", rating="goal", settings=chosen)
    assert [turn.raw_reward for turn in found.turns] == [-2.0, 0.0]
    assert [turn.rationale for turn in found.turns] == ["because 1", "because 3"]
    assert [turn.sd for turn in found.turns] == [0.0, 0.0]
    assert 'whether "assistant" reached the goal' in server.requests[0]["messages"][1]["content"]
    assert math.fsum(turn.reward for turn in found.turns) == pytest.approx(4)
    assert found.turns[1].reward - found.turns[0].reward == pytest.approx(4 / 10 / 2 * 2)


@pytest.mark.parametrize(("prompt", "values"), [("paper", [3.0, None]), ("attribution", [3, 1])])
def test_shares_and_attributions_sum_too(prompt, values):
    answers = dict(zip((1, 3), values, strict=True))
    server = OpenAIServer(answer=lambda body: good(body, answers.__getitem__))
    with serving(server):
        chosen = DecomposeSettings(llm={"model": "m", "base_url": server.url, "prompt": prompt})
        found = decompose_dialogue(CHAT, 2, scale=(1, 5), method="llm", settings=chosen)
    assert [turn.raw_reward for turn in found.turns] == values
    assert [turn.reward for turn in found.turns] == {"paper": [2.5, -0.5], "attribution": [1.5, 0.5]}[prompt]
    assert found.residual == {"paper": -1.0, "attribution": 0.0}[prompt]


def test_the_soft_constraint_keeps_the_method_s_own_numbers():
    soft = DecomposeSettings(constraint="soft")
    found = decompose_dialogue(CHAT, 2, scale=(1, 5), settings=soft)
    assert [turn.reward for turn in found.turns] == [turn.raw_reward for turn in found.turns]
    assert (found.spread, found.total) == (1.0, 2.0)
    assert found.residual == pytest.approx(2 - sum(turn.reward for turn in found.turns))
    server = OpenAIServer(answer=lambda body: good(body, {1: 3.0, 3: None}.__getitem__))
    with serving(server):
        soft = DecomposeSettings(constraint="soft", llm={"model": "m", "base_url": server.url, "prompt": "paper"})
        handed_out = decompose_dialogue(CHAT, 3, scale=(1, 5), method="llm", mean_score=2.5, settings=soft)
    assert [turn.reward for turn in handed_out.turns] == [3.0, 0.0]
    assert (handed_out.total, handed_out.residual) == (3.0, 0.0)


@given(st.lists(st.sampled_from(["user", "assistant"]), min_size=1, max_size=40), st.floats(-50, 50), st.data())
@settings(max_examples=50)
def test_rewards_sum_to_the_total_and_line_up_with_the_messages(roles, mean, data):
    chat = [{"role": role, "content": data.draw(st.sampled_from(["great", "awful", "", "yes"]))} for role in roles]
    score = data.draw(st.floats(-7, 93))
    if "assistant" not in roles:
        return
    found = decompose_dialogue(chat, score, scale=(-7, 93), mean_score=mean)
    column = found.per_message()
    if not found.turns:  # Nobody replied to any message.
        assert (column, found.residual) == ([None] * len(chat), found.total)
        return
    assert abs(math.fsum(turn.reward for turn in found.turns) - (score - mean)) < 1e-6
    assert [value is not None for value in column] == [role == "assistant" for role in roles]


@pytest.mark.parametrize(
    ("messages", "options", "problem"),
    [
        (CHAT, {"method": "rrd"}, "method 'rrd' is learned from the scores of many conversations"),
        (CHAT, {"method": "affect"}, "method 'affect' reads the rater's behaviour in recordings"),
        (CHAT, {"method": "llm"}, r"api\.openai\.com.*Nothing was sent"),
        (CHAT, {"method": "sentimnt"}, "did you mean 'sentiment'"),
        ("hello", {}, "messages: a str; give a list"),
        ([], {}, "speakers are none: say who gave the score"),
        (["hello"], {}, "message 0: no role or speaker"),
        ([*CHAT, {"role": "assistant", "content": None}], {}, "message 5: its content is NoneType; text is needed"),
        ([{"speaker": "ann", "content": "x"}], {}, r"speakers are ann: say who gave the score \(rater=…\)"),
        (CHAT, {"target": "bob"}, "target = 'bob' says nothing in these messages"),
        ([{"role": "user", "content": "x"}], {}, "target = 'assistant' says nothing in these messages"),
        (CHAT, {"target": "user", "rater": "user"}, "rater and target are both 'user'"),
        ([*CHAT, {"speaker": "environment", "content": "x"}], {}, "a speaker is called 'environment'"),
        (CHAT, {"scale": (5, 1)}, "its low end must be below its high end"),
        (CHAT, {"scale": (1, math.inf)}, "its low end must be below its high end"),
        (CHAT, {"scale": 5}, r"score = 2, scale = 5: give a number, and the scale as \(low, high\)"),
        (CHAT, {"scale": None}, r"score = 2 without a scale: say what its ends are, such as scale=\(1, 5\)"),
        (CHAT, {"scale": (3, 5)}, "score = 2 is outside the scale 3 to 5"),
        (CHAT, {"mean_score": math.nan}, "mean_score = nan, spread = None: give finite numbers"),
    ],
)
def test_what_cannot_be_used_is_told(messages, options, problem):
    with pytest.raises(InputError, match=problem):
        decompose_dialogue(messages, 2, **{"scale": (1, 5), **options})


def lengths(episode, descriptors, settings, asker):
    return [TurnScore(turn, float(turn)) for turn in episode.target_turns]


def test_a_method_that_does_not_say_its_scale_needs_a_spread(monkeypatch):
    brought = SessionMethod("lengths", "Lengths", "tests.decompose.test_conversation:lengths")
    monkeypatch.setattr(type(METHODS), "_ours", {**METHODS._ours, "lengths": brought})
    with pytest.raises(InputError, match=r"method 'lengths' does not say how wide its scale is .*give spread="):
        decompose_dialogue(CHAT, 2, scale=(1, 5), method="lengths")
    assert [turn.reward for turn in decompose_dialogue(CHAT, 2, scale=(1, 5), method="lengths", spread=0.5).turns] == [
        0.5,
        1.5,
    ]


def test_attributions_share_out_what_is_above_the_lower_end_of_the_scale():
    server = OpenAIServer(answer=lambda body: good(body, {1: 3, 3: 1}.__getitem__))
    with serving(server):
        chosen = DecomposeSettings(llm={"model": "m", "base_url": server.url, "prompt": "attribution"})
        found = decompose_dialogue(CHAT, 2, scale=(1, 5), method="llm", mean_score=1, settings=chosen)
        with pytest.raises(InputError, match=r"mean_score = 3 with attributions: .* the lower end of the scale, 1\."):
            decompose_dialogue(CHAT, 2, scale=(1, 5), method="llm", mean_score=3, settings=chosen)
    assert [turn.reward for turn in found.turns] == [0.75, 0.25]


def test_text_parts_are_joined_and_nothing_to_judge_by_has_no_rewards():
    found = decompose_dialogue(CHAT[:2], 2, scale=(1, 5), method="sentiment")
    assert (found.turns, found.per_message(), found.total, found.residual) == ((), [None, None], 2.0, 2.0)
    assert decompose_dialogue(CHAT[:2], 2, scale=(1, 5), method="uniform").per_message() == [None, 2.0]
    parts = [{"type": "text", "text": "Rome,"}, {"type": "text", "text": "great!"}]
    chat = [*CHAT[:2], {"role": "user", "content": parts}, *CHAT[3:]]
    assert decompose_dialogue(chat, 2, scale=(1, 5)) == decompose_dialogue(CHAT, 2, scale=(1, 5))


def test_importing_the_packages_imports_nothing_else():
    code = "import sys, apportion.decompose; print(sorted(m for m in sys.modules if m.partition('.')[0] in HEAVY))"
    heavy = "HEAVY = {'pyarrow', 'numpy', 'torch', 'pydantic', 'jinja2', 'openai', 'corpus', 'click'}; "
    done = subprocess.run([sys.executable, "-c", heavy + code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
