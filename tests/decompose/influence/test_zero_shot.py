from dataclasses import replace

import numpy as np
import pytest

from apportion.decompose import DecomposeSettings
from apportion.decompose.influence.chat_text import ChatText
from apportion.decompose.influence.follower import SILENCE, prompt_after
from apportion.decompose.influence.preflight import check_influence
from apportion.decompose.influence.scorer import Prompt
from apportion.decompose.influence.zero_shot import judge, judge_served, requests_for
from apportion.decompose.languages import understood
from apportion.decompose.methods import METHODS
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.request import ChatMessage
from apportion.llm_client.session import LLMSession
from tests.decompose.influence.measurers import measurer, small_model, tokenizer
from tests.decompose.influence.probability_server import ProbabilityServer
from tests.decompose.influence.test_local_scorer import load_copy, token_by_token
from tests.decompose.sessions import session
from tests.llm_client.openai_server import OpenAIServer, completion, serving

SESSION = session()
(EPISODE,) = SESSION.episodes()
"""The system says turns 1, 3 and 5, the last turn of all."""
WORDS = {"pleased": ["Good", "Good, I am the seer!"], "displeased": ["No", "No, player five lied.", "But"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("measurer")
    small_model().save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)


def settings(folder=None, llm=None, **chosen):
    method = "zero-shot" if llm is None else "zero-shot-served"
    return DecomposeSettings(method=method, zero_shot={"model": folder, **WORDS, **chosen}, llm=llm or {})


def by_hand(turn):
    """The log odds after so many turns, each reply's probability token by token, in a text that is written out."""
    said = [f"<|{'user' if i % 2 == 0 else 'assistant'}|>{one.text}<|end|>" for i, one in enumerate(EPISODE.turns)]
    before = "<|begin|>" + "".join(said[: turn + 1]) + "<|user|>"

    def log(reply):
        (sequence,) = [one for one in sequences if one[0] == reply]
        return token_by_token(small_model(), sequence[1])

    prompt = prompt_after(EPISODE, turn)
    assert ChatText("m", tokenizer()).before(prompt) == before
    replies = [*WORDS["pleased"], *WORDS["displeased"]]
    sequences = list(zip(replies, measurer().sequences(prompt, replies), strict=True))
    sums = [np.logaddexp.reduce([log(reply) for reply in WORDS[side]]) for side in ("pleased", "displeased")]
    return sums[0] - sums[1]


def test_every_turn_is_worth_the_log_odds_by_hand_the_last_one_too(folder):
    found = judge(EPISODE, None, settings(folder), None)
    assert [one.turn for one in found] == [1, 3, 5]
    assert [one.value for one in found] == [pytest.approx(by_hand(turn), abs=1e-4) for turn in (1, 3, 5)]
    assert "nats of a pleased next turn of the user; likeliest Good" in found[0].rationale


def test_neither_what_came_after_nor_the_score_counts_and_a_turn_without_words_has_no_value(folder):
    plain = judge(EPISODE, None, settings(folder), None)
    later = tuple(replace(one, text="Good!") if one.turn > 3 else one for one in EPISODE.turns)
    other = replace(EPISODE, turns=later, rating=replace(EPISODE.rating, score=1.0))
    found = judge(other, None, settings(folder), None)
    assert [one.value for one in found[:2]] == [pytest.approx(one.value, abs=1e-5) for one in plain[:2]]
    assert found[2].value != pytest.approx(plain[2].value, abs=1e-3)
    silent = replace(EPISODE, turns=tuple(replace(one, text=" ") if one.turn == 3 else one for one in EPISODE.turns))
    assert [one.value is None for one in judge(silent, None, settings(folder), None)] == [False, True, False]


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_server_gives_the_same_values_and_its_requests_are_foreseen(folder, endpoint):
    server = ProbabilityServer()
    with serving(server):
        llm = {"base_url": server.url, "model": "m", "max_retries": 0}
        chosen = settings(llm=llm, endpoint=endpoint, tokenizer=folder)
        with LLMSession(chosen.llm) as asker:
            found = judge_served(EPISODE, None, chosen, asker)
        listed = requests_for(SESSION, None, None, chosen)
    here = judge(EPISODE, None, settings(folder), None)
    assert [one.value for one in found] == [pytest.approx(one.value, abs=1e-4) for one in here]
    # Five replies to each of three turns, and a probe; where nothing is kept each turn asks it again.
    assert len(server.requests) - 2 == len({request.key() for request, _ in listed}) == 3 * 5 + 1
    assert {meta.turns for _, meta in listed} == {(1,), (3,), (5,)}


def test_of_several_users_lines_and_the_reply_begin_with_the_name(folder):
    turns = (*EPISODE.turns[:1], replace(EPISODE.turns[0], turn=9, speaker="BOB", text="Me, too."), *EPISODE.turns[1:2])
    several = replace(EPISODE, turns=turns)
    found = prompt_after(several, 2)
    assert [one.role for one in found.messages] == ["user", "assistant"]
    assert "USER: I want a table for two.\nBOB: Me, too." in found.messages[0].content
    assert (found.begun, found.speaker) == ("USER: ", "user")
    assert judge(several, None, settings(folder), None)[0].value is not None


def test_context_is_cut_and_a_target_that_opens_has_somebody_before_it():
    assert [one.content for one in prompt_after(EPISODE, 3, context_turns=1).messages] == [
        SILENCE,
        "There is no such place.",
    ]
    assert prompt_after(EPISODE, 3, context_turns=2).messages[0].content == "Rome, great!"


def test_a_template_without_a_user_after_the_assistant_is_refused():
    only_first = load_copy(template="{{ '<|user|>' + messages[0]['content'] }}")
    chat = (ChatMessage("user", "Hi."), ChatMessage("assistant", "Yes?"))
    with pytest.raises(InputError, match="shows no user's message after the assistant's"):
        ChatText("m", only_first).before(Prompt(chat, speaker="user"))


def test_a_server_that_leaves_out_what_the_user_says_is_told():
    def same(body):
        return {**completion("x"), "prompt_logprobs": [None, {"5": {"logprob": -1.0}}, {"6": {"logprob": -1.0}}]}

    with serving(OpenAIServer(answer=same)) as server:
        chosen = settings(llm={"base_url": server.url, "model": "m", "max_retries": 0})
        with (
            LLMSession(chosen.llm) as asker,
            pytest.raises(UnitError, match=r"3 of the prompt with another: .*leave out what the user says"),
        ):
            judge_served(EPISODE, None, chosen, asker)


def test_a_context_that_is_too_long_and_a_model_that_is_not_named_are_told(folder):
    with pytest.raises(UnitError, match=r"session s1, turn 1: .*decompose\.zero_shot\.context_turns"):
        judge(EPISODE, None, settings(folder, context_tokens=32), None)
    with pytest.raises(InputError, match=r"decompose\.zero_shot\.model: .*use zero-shot-served"):
        check_influence(settings())


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"pleased": ["Danke"]}, "one list is yours and one English"),
        ({"pleased": ["Danke"], "displeased": ["Danke "]}, "named twice"),
        ({"pleased": ["Danke"], "displeased": [" "]}, "empty"),
        ({"pleased": [], "displeased": ["Nein"]}, "at least 1 item"),
    ],
)
def test_lists_that_tell_nothing_are_refused(chosen, words):
    with pytest.raises(ValueError, match=words):
        DecomposeSettings(zero_shot=chosen)


def test_shipped_words_are_english_and_one_s_own_are_of_any_language():
    method = METHODS["zero-shot"]
    assert understood(method, DecomposeSettings()) == {"en"}
    assert understood(method, DecomposeSettings(zero_shot={"pleased": ["Danke"], "displeased": ["Nein"]})) is None
