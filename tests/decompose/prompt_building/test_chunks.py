import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.decompose.prompt_building.chunks import BYTES_A_TOKEN, averaged, divide, parts_of, reconcile
from apportion.decompose.prompt_building.prompt import load_prompt
from apportion.decompose.session_methods.llm import requests_for
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import UnitError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import of_length, session
from tests.llm_client.openai_server import OpenAIServer, completion, serving

LONG = tuple(
    (who, f"word {number} " * 12) for number in range(80) for who in ("SYSTEM", "USER")
)  # 160 turns, about 18 tokens each beside their frame


def small_context(server=None, **options):
    address = {"base_url": server.url, "max_retries": 0} if server else {}
    return DecomposeSettings(llm={"model": "m", "context_tokens": 4096, **address, **options})


def asked(body):
    return json.loads(re.search(r"(?:judge|null|once): (\[[\d, ]*\])$", body["messages"][-1]["content"])[1])


def truth(turn):
    return ((turn * 7) % 13) / 4 - 1.5


def answered(body, offset=lambda turns: 0.0, evidence="e"):
    turns = asked(body)
    values = [{"turn": t, "value": truth(t) + offset(turns), "evidence": evidence} for t in turns]
    return completion(json.dumps({"turns": values}))


def judged(server, cache=None, **options):
    with serving(server):
        settings = small_context(server, **options)
        with LLMSession(settings.llm, cache=cache) as asker:
            return judge_session("llm", session(turns=LONG), "satisfaction", None, settings, asker).judgements


def test_a_session_that_fits_is_asked_about_whole():
    episode = of_length("s", 4.0, 80)
    (whole,) = parts_of(load_prompt("default"), episode, None, None, 32_768, 8)
    assert whole.turns == episode.target_turns
    assert whole.messages == load_prompt("default").messages(episode)
    (request, meta), *others = requests_for(session(turns=LONG), None, None, DecomposeSettings())
    assert (others, meta.part, meta.parts, len(meta.turns)) == ([], 0, 1, 80)
    assert "Only turns" not in request.messages[1].content


def test_a_session_that_does_not_fit_is_asked_about_in_overlapping_parts():
    found = requests_for(session(turns=LONG), None, None, small_context())
    assert len(found) > 2
    assert len({request.key() for request, _ in found}) == len(found)
    assert {turn for _, meta in found for turn in meta.turns} == set(range(0, 160, 2))
    for (_, meta), (_, following) in pairwise(found):
        assert meta.turns[-8:] == following.turns[:8]
    for number, (request, meta) in enumerate(found):
        assert (meta.part, meta.parts) == (number, len(found))
        assert request.subject.endswith(f"sample 0, part {number + 1} of {len(found)}")
        size = sum(len(message.content.encode()) for message in request.messages)
        assert size + BYTES_A_TOKEN * 40 * len(meta.turns) <= BYTES_A_TOKEN * 4096
        # The reply to the last turn that is judged is shown.
        assert f'"turn": {meta.turns[-1] + 1},' in request.messages[1].content


def of_two_levels(prompt):
    """What becomes of a first turn of +1 and a null as second one, in a part judged 4 higher than the next."""

    def answer(body):
        turns = asked(body)
        values = dict.fromkeys(turns, 4.0 if turns[0] == 0 else 0.0) | ({0: 1.0, 2: None} if turns[0] == 0 else {})
        return completion(json.dumps({"turns": [{"turn": t, "value": values[t], "evidence": None} for t in turns]}))

    return judged(OpenAIServer(answer=answer), prompt=prompt)["raw_reward"].to_pylist()


def test_a_level_that_is_taken_away_turns_no_number_round_against_a_null(tmp_path):
    # Shares of the score have no levels: +1 stays above the null, which is a share of zero.
    first, null, *_ = of_two_levels("paper")
    assert (first, null) == (1.0, None)
    # A null that means zero is zero on its part's own scale.
    path = tmp_path / "mine.txt"
    path.write_text(load_prompt("default").path.read_text().replace("null: mean", "null: zero"))
    first, null, *others = of_two_levels(str(path))
    assert first - null == pytest.approx(1.0)
    assert max(others) - min(others) < 1e-9 < others[0] - first
    # A null that says nothing has no level.
    first, null, *others = of_two_levels("default")
    assert null is None and others[0] - first == pytest.approx(3.0)


def test_each_part_is_kept_by_itself(tmp_path):
    bad = OpenAIServer(answer=lambda body: completion("no") if asked(body)[0] else answered(body))
    with pytest.raises(UnitError, match=r"sample 0, part 2 of \d+: no usable reply"):
        judged(bad, cache=tmp_path / "cache.sqlite", max_reply_attempts=1)
    assert len(bad.requests) == 2
    good = OpenAIServer(answer=answered)
    judged(good, cache=tmp_path / "cache.sqlite", max_reply_attempts=2)
    assert 0 not in [asked(body)[0] for body in good.requests]  # the first part was there already
    assert "cannot be used" in good.requests[0]["messages"][-1]["content"]
    assert [len(body["messages"]) for body in good.requests[1:]] == [2] * (len(good.requests) - 1)


def test_attributions_of_parts_stay_within_their_scale():
    def answer(body):
        turns = asked(body)
        high = 3 if turns[0] else 0
        return completion(json.dumps({"turns": [{"turn": t, "value": high, "evidence": None} for t in turns]}))

    values = judged(OpenAIServer(answer=answer), prompt="attribution")["raw_reward"].to_pylist()
    assert min(values) >= 0
    assert max(values) <= 3


def test_a_context_without_room_for_two_turns_is_refused():
    huge = session(turns=(("SYSTEM", "word " * 5000), ("USER", "yes"), ("SYSTEM", "bye"), ("USER", "bye")))
    with pytest.raises(UnitError, match=r"session s1: .* context of 4,096 tokens does not hold .* 2 of 2 turns"):
        requests_for(huge, None, None, small_context())


@given(
    st.lists(st.integers(1, 400), min_size=4, max_size=120),
    st.lists(st.booleans(), min_size=120, max_size=120),
    st.integers(600, 4000),
    st.integers(1, 20),
)
def test_parts_cover_every_target_turn_overlap_and_fit(costs, targets, room, overlap):
    turns = tuple(("SYSTEM" if target else "USER", "x") for _, target in zip(costs, targets, strict=False))
    episode = session(turns=turns).episodes()[0]
    if len(episode.target_turns) < 2:
        return
    parts = divide(episode, costs, room, overlap)
    if parts is None:
        return
    assert {turn for part in parts for turn in part.asked} == set(episode.target_turns)
    for part in parts:
        asked_turns = [t.turn for t in episode.turns[part.start : part.stop] if t.speaker == "SYSTEM"]
        assert set(part.asked) <= set(asked_turns)
        assert len(part.asked) >= 2
        assert sum(costs[part.start : part.stop]) + 132 * len(part.asked) <= room
    for part, following in pairwise(parts):
        shared = set(part.asked) & set(following.asked)
        assert 1 <= len(shared) <= max(1, min(overlap, len(part.asked) // 2))
        assert following.asked[-1] > part.asked[-1]


@given(st.data())
def test_planted_offsets_are_removed_exactly(data):
    turns = data.draw(st.integers(4, 60))
    number = st.floats(-5, 5)
    constant = data.draw(st.booleans())
    values = [2.0] * turns if constant else data.draw(st.lists(number, min_size=turns, max_size=turns))
    size = data.draw(st.integers(2, turns))
    overlap = data.draw(st.integers(1, size - 1))
    windows = [range(start, min(start + size, turns)) for start in range(0, turns, size - overlap)]
    offsets = data.draw(st.lists(number, min_size=len(windows), max_size=len(windows)))
    judged = [{t: values[t] + b for t in window} for window, b in zip(windows, offsets, strict=True)]
    found = reconcile(judged)
    assert sorted(found) == list(range(turns))
    levels = [found[t] - values[t] for t in range(turns)]
    assert max(levels) - min(levels) < 1e-9


def test_a_null_says_nothing_of_a_level_or_is_a_share_of_zero():
    found = reconcile([{1: 1.0, 2: None, 3: 2.0}, {2: None, 3: 4.0, 4: None, 5: 5.0}])
    assert found == pytest.approx({1: 2.0, 2: None, 3: 3.0, 4: None, 5: 4.0})
    assert reconcile([{1: 1.0, 2: None}, {2: 3.0, 3: 4.0}]) == {1: 1.0, 2: 3.0, 3: 4.0}
    parts = [{1: 1.0, 2: None, 3: 4.0, 4: None}, {3: 0.0, 4: None, 5: 2.0}]
    assert averaged(parts, 0.0) == {1: 1.0, 2: None, 3: 2.0, 4: None, 5: 2.0}
    assert averaged([{1: 3.0}, {1: None}], 0.0) == {1: 1.5}
    assert averaged([{1: 3.0}, {1: None}], None) == {1: 3.0}
