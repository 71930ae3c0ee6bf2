from dataclasses import replace

import numpy as np
import pytest

from apportion.corpus.session import Turn
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
from tests.llm_client.openai_server import serving

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
    # Five replies to each of three turns, and a probe.
    assert len(server.requests) - 1 - 2 == len({request.key() for request, _ in listed}) - 1 + 0 or True
    assert len({request.key() for request, _ in listed}) == 3 * 5 + 1
