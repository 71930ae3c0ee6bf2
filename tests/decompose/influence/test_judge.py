import json
from dataclasses import replace

import numpy as np
import pytest

from apportion.decompose import DecomposeSettings
from apportion.decompose.influence.follower import SILENCE
from apportion.decompose.influence.judge import judge, judge_served, requests_for
from apportion.decompose.influence.preflight import check_influence
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.influence.measurers import small_model, tokenizer
from tests.decompose.influence.probability_server import ProbabilityServer
from tests.decompose.sessions import session
from tests.llm_client.openai_server import serving

SESSION = session("s1", 4.0)
(EPISODE,) = SESSION.episodes()
"""Turns 1 and 3 are replied to by turns 2 and 4, turn 5 by nobody. 4 of 1 to 5 counts for half."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("measurer")
    small_model().save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)


def settings(folder, method="influence", llm=None, **influence):
    return DecomposeSettings(method=method, influence={"model": folder, **influence}, llm=llm or {})


def values(folder, episode=EPISODE, **influence):
    return {j.turn: j.value for j in judge(episode, None, settings(folder, **influence), None)}


def by_hand(folder, turn, others, instead, per_token=False):
    """R(u) - mean R(u'), from log-probabilities that are measured one by one."""
    from apportion.decompose.influence.local_scorer import load_measurer
    from apportion.decompose.influence.scorer import Prompt
    from apportion.llm_client.request import ChatMessage

    said = [one.text for one in EPISODE.turns]
    measurer = load_measurer(folder)

    def reward(utterance):
        texts = [*said[:turn], utterance]
        # The rater is the assistant and opens, so that silence goes before.
        roles = ["assistant" if place % 2 == 0 else "user" for place in range(len(texts))]
        chat = (ChatMessage("user", SILENCE), *(ChatMessage(r, t) for r, t in zip(roles, texts, strict=True)))

        def log(reply):
            found = measurer.measure([Prompt(chat)], [reply])
            return float((found.means if per_token else found.sums)[0, 0])

        return log(said[turn + 1]) - (np.mean([log(other) for other in others]) if others else 0.0)

    return reward(said[turn]) - np.mean([reward(one) for one in instead])


def test_the_value_is_the_formula_by_hand_and_says_what_it_rests_on(folder):
    found = values(folder, signed=False)
    # The one other reply to turn 1 is turn 4, to turn 3 it is turn 2.
    assert found[1] == pytest.approx(by_hand(folder, 1, ["That is terrible, I hate this."], [SILENCE]), abs=1e-4)
    assert found[3] == pytest.approx(by_hand(folder, 3, ["Rome, great!"], [SILENCE]), abs=1e-4)
    assert found[5] is None
    first, _, last = judge(EPISODE, None, settings(folder), None)
    assert "beside 1 other replies), against silence; the score counts +0.50" in first.rationale
    assert last.rationale is None and last.value is None
    (exchanged, *_) = judge(EPISODE, None, settings(folder, baseline="others", signed=False, tokens="mean"), None)
    assert "nats a token" in exchanged.rationale and exchanged.rationale.endswith("against 2 other utterances")


def test_each_setting_is_its_part_of_the_formula(folder):
    alone = values(folder, signed=False, negatives=0)
    assert alone[1] == pytest.approx(by_hand(folder, 1, [], [SILENCE]), abs=1e-4)
    by_token = values(folder, signed=False, negatives=0, tokens="mean")
    assert by_token[1] == pytest.approx(by_hand(folder, 1, [], [SILENCE], per_token=True), abs=1e-5)
    exchanged = values(folder, signed=False, negatives=0, baseline="others")
    instead = ["There is no such place.", "Goodbye."]
    assert exchanged[1] == pytest.approx(by_hand(folder, 1, [], instead), abs=1e-4)


def test_the_score_says_whose_side_a_shift_is_on(folder):
    plain = values(folder, signed=False)
    assert values(folder)[1] == pytest.approx(0.5 * plain[1])
    low = replace(EPISODE, rating=replace(EPISODE.rating, score=1.0))
    assert values(folder, low)[1] == pytest.approx(-plain[1])
    turned = replace(EPISODE, rating=replace(EPISODE.rating, score=1.0, higher_is_better=False))
    assert values(folder, turned)[1] == pytest.approx(plain[1])
    middle = replace(EPISODE, rating=replace(EPISODE.rating, score=3.0))
    assert values(folder, middle)[1] == 0.0


def test_what_an_intent_is_about_is_measured_by_it_whatever_the_score(folder, tmp_path):
    path = tmp_path / "intents.jsonl"
    row = {"session_id": "s1", "turn": 1, "desired": ["Rome!", "Milan."], "undesired": ["No.", "Bye."]}
    path.write_text(json.dumps(row))
    found = judge(EPISODE, None, settings(folder, intents=path), None)
    from apportion.decompose.influence.judge import questions_of
    from apportion.decompose.influence.local_scorer import load_measurer
    from apportion.decompose.influence.scorer import shift_of

    question = questions_of(EPISODE, settings(folder, intents=path).influence)[0]
    with_, without = shift_of(
        load_measurer(folder).measure(question.prompts, [*row["desired"], *row["undesired"]]), len(row["desired"])
    )
    assert found[0].value == pytest.approx(with_ - without, abs=1e-4)
    assert "towards what was intended (2 desired and 2 undesired replies)" in found[0].rationale
    assert found[1].value == pytest.approx(values(folder)[3]) and "the reply that came" in found[1].rationale
    check_influence(settings(folder, intents=path))


def test_equal_utterances_move_nothing_and_are_no_nan(folder):
    said = (("USER", "Hi."), ("SYSTEM", "Yes."), ("USER", "Good."), ("SYSTEM", "Yes."), ("USER", "Good."))
    (same,) = session("s2", 5.0, said).episodes()
    found = values(folder, same, baseline="others")
    assert all(np.isfinite(value) for value in found.values())


def test_too_long_a_context_here_or_at_a_server_is_told_with_session_and_turn(folder):
    with pytest.raises(UnitError, match=r"session s1, turn 3: prompt and reply have \d+ tokens.*context_turns"):
        values(folder, context_tokens=90)
    assert values(folder, context_tokens=90, context_turns=1)[3] is not None
    with pytest.raises(UnitError, match=r"session s1, turn 3: .*context of 'm'.*context_turns"):
        served(ProbabilityServer(longest=90))


def test_no_model_is_told_before_any_work(tmp_path):
    with pytest.raises(InputError, match=r"decompose\.influence\.model: .* none is named.*influence-served"):
        check_influence(settings(None))
    with pytest.raises(InputError, match="no such folder"):
        check_influence(settings(str(tmp_path / "none")))
    with pytest.raises(InputError, match="intents"):
        check_influence(settings(None, "influence-served", intents=tmp_path / "none"))
    check_influence(settings(None, "uniform", intents=tmp_path / "none"))
    check_influence(settings(None, "influence-served"))


def served(server, cache=None, **llm):
    with serving(server):
        chosen = settings(None, "influence-served", {"base_url": server.url, "model": "m", "max_retries": 0, **llm})
        with LLMSession(chosen.llm, cache=cache) as asker:
            return judge_served(EPISODE, None, chosen, asker), requests_for(SESSION, None, None, chosen)


def test_a_server_gives_the_same_values_and_its_requests_are_foreseen(folder):
    server = ProbabilityServer()
    found, listed = served(server)
    here = judge(EPISODE, None, settings(folder), None)
    assert [j.value for j in found] == [pytest.approx(j.value, abs=1e-4) for j in here]
    assert [j.turn for j in found] == [1, 3, 5]
    foreseen = {request.key(): request for request, _ in listed}
    # Each of two turns: a prompt with the utterance and one without, each alone and with two replies; and a probe.
    assert len(server.requests) - 1 == len(foreseen) == 2 * 2 * 3 + 1
    assert {meta.turns for _, meta in listed} == {(1,), (3,)}
    assert all("session s1, turn" in r.subject or "whether" in r.subject for r in foreseen.values())


def test_names_stay_here_where_pseudonyms_are_asked_for():
    said = (("USER", "I am Winifred."), ("SYSTEM", "Hello Winifred."), ("USER", "Winifred is glad."))
    one = session("s3", 5.0, said)
    one = replace(
        one, turns=tuple(replace(t, speaker="Winifred" if t.speaker == "USER" else t.speaker) for t in one.turns)
    )
    one = replace(one, ratings=(replace(one.ratings[0], rater="Winifred"),))
    chosen = settings(None, "influence-served", {"pseudonyms": True})
    shown = [m.content for request, _ in requests_for(one, None, None, chosen) for m in request.messages]
    assert shown and not any("Winifred" in text for text in shown)


def test_a_server_s_bare_prompts_are_written_by_the_tokenizer_that_is_named(folder):
    chosen = settings(None, "influence-served", endpoint="completions", tokenizer=folder)
    bare = [request.messages[0].content for request, _ in requests_for(SESSION, None, None, chosen)]
    assert all(text.startswith("<|begin|><|user|>") and text.endswith("<|assistant|>") for text in bare)
