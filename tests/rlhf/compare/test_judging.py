"""Judging from Python, without a command: what is asked, what comes of it, and what errors call things."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apportion.rlhf.compare
from apportion.corpus.corpus import Corpus
from apportion.corpus.files.tablefile import write_table
from apportion.corpus.schema import RESPONSES, SPLITS
from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatReply
from apportion.rlhf.compare import JudgeSettings, Judging, LanguageModelJudge, read_pairs
from apportion.rlhf.compare.choice import GenerationRequest, choose_placement, choose_sessions, name_policies
from apportion.rlhf.compare.generate import share_contexts
from apportion.rlhf.compare.judge import read_reply
from apportion.rlhf.compare.responses import write_rows
from apportion.rlhf.training.tiny_policy import train_tokenizer
from tests.behaviour.small import write_small_corpus
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving
from tests.rlhf.toy import ANSWERS, QUESTIONS, RATING, SMALL, chats, episode


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    rows = [
        {"session_id": f"s{n}", "turn": 1, "context": "user: Hello.", "policy": policy, "response": text, "seed": 0}
        for n in range(3)
        for policy, text in (("new", f"good {n}"), ("old", f"bad {n}"))
    ]
    write_rows(pa.Table.from_pylist(rows, schema=RESPONSES.arrow), tmp_path / "r.jsonl", RESPONSES)
    return tmp_path / "r.jsonl"


def prefers_good(body: Body) -> Body:
    text = body["messages"][-1]["content"]
    better = "first" if text.index("good") < text.index("bad") else "second"
    return completion(json.dumps({"reason": "it is good", "better": better}))


def test_a_language_model_judges_and_tells_how_far_it_is(responses):
    heard: list[tuple[int, int]] = []
    with serving(OpenAIServer(answer=prefers_good)) as server:
        pairs = read_pairs(responses)
        asked = LanguageModelJudge.of(pairs, responses, JudgeSettings("judge-1", base_url=server.url))
        assert "6 requests, 0 answered already, 6 to ask" in asked.planned().price().text()
        assert (asked.planned().preview(2).in_all, len(asked.planned().preview(2).requests)) == (6, 2)
        judging = Judging(pairs, bootstrap=100)
        judging.by_language_model(asked, lambda done, total, place: heard.append((done, total)))
    (rate,) = judging.win_rates().rates
    assert (rate.judge, rate.left, rate.wins, judging.failed) == ("judge-1", "new", 3, [])
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert [row["better"] for row in judging.verdict_rows()] == ["left"] * 3
    assert asked.cache == responses.with_name("r.judge.sqlite") and asked.cache.exists()


def test_errors_call_things_as_the_caller_does(responses):
    pairs = read_pairs(responses)
    settings = JudgeSettings("judge-1", budget=-1.0)
    with pytest.raises(InputError, match=r"^budget -1\.0: give a number"):
        LanguageModelJudge.of(pairs, responses, settings)
    with pytest.raises(InputError, match=r"^<budget> -1\.0: give a number"):
        LanguageModelJudge.of(pairs, responses, settings, "<{}>".format)
    with pytest.raises(InputError, match=r"^base_url = 'nowhere': "):
        LanguageModelJudge.of(pairs, responses, JudgeSettings("judge-1", base_url="nowhere"))
    gone = JudgeSettings(recorded=responses.with_name("gone.jsonl"))
    with pytest.raises(InputError, match=r"^model: the recorded replies .* cannot be read"):
        LanguageModelJudge.of(pairs, responses, gone).planned().price()


def test_the_names_for_others_are_there():
    assert all(getattr(apportion.rlhf.compare, name) is not None for name in apportion.rlhf.compare.__all__)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (ChatReply("{", "m", finish_reason="length"), "cut off"),
        (ChatReply("no", "m", finish_reason="refusal"), "declined"),
        (ChatReply("[" * 100_000, "m"), "nested too deeply"),
        (ChatReply('{"better": "first", "reason": NaN}', "m"), "NaN is not allowed"),
        (ChatReply('{"better": "first", "reason": ' + "9" * 5000 + "}", "m"), "a number that cannot be used"),
        (ChatReply('{"better": ' + "[" * 950 + "]" * 950 + "}", "m"), "not an object|nested too deeply"),
        (ChatReply('["first"]', "m"), "not an object"),
        (ChatReply('{"better": "first", "better": "second"}', "m"), 'the key "better" stands twice'),
        (ChatReply('{"better": ["first"]}', "m"), "not an object"),
    ],
)
def test_replies_that_cannot_be_used(reply, problem) -> None:
    with pytest.raises(ValueError, match=problem):
        read_reply(reply)
    assert read_reply(ChatReply('```json\n{"better": "tie", "reason": 3}\n```', "m")) == ("tie", "")
    assert read_reply(ChatReply('<think>Hm.</think>{"better": "tie"}', "m")) == ("tie", "")


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(10**400), 10**400) | st.text() | st.just("first"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | values.map(json.dumps), values, values)
def test_any_reply_is_a_verdict_or_a_mistake(text, better, reason) -> None:
    for given_text in (text, json.dumps({"better": better, "reason": reason}), f"<think>{text}</think>{text}"):
        try:
            answer, why = read_reply(ChatReply(given_text, "m"))
        except ReplyMistakeError as mistake:
            assert len(str(mistake)) < 300
        else:
            assert answer in ("first", "second", "tie") and isinstance(why, str)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus.open(write_small_corpus(tmp_path_factory.mktemp("choice") / "corpus", sessions=12))


def write_splits(folder: Path, tests: int) -> Path:
    rows = [{"session_id": f"s{n:02d}", "split": "test" if n < tests else "train"} for n in range(12)]
    folder.mkdir(parents=True, exist_ok=True)
    write_table(pa.Table.from_pylist(rows, schema=SPLITS.arrow), folder / "splits.parquet", SPLITS)
    return folder / "splits.parquet"


def test_a_policy_is_called_as_it_is_given_or_by_a_name_before_it():
    named = name_policies(["RUN/policy", "old=org/model"], blind=False)
    assert named == {"RUN/policy": "RUN/policy", "old": "org/model"}
    with pytest.raises(InputError, match=r"^--blind with 1 policies"):
        name_policies(["one"], True, "--{}".format)


def test_the_splits_are_those_given_else_those_beside_a_policy_else_the_default_shares(corpus, tmp_path):
    policy = tmp_path / "run" / "policy"
    policy.mkdir(parents=True)
    write_splits(tmp_path / "run", 2)

    def sessions(wanted: GenerationRequest, source: Path = policy) -> list[str]:
        return sorted({e.session_id for e in choose_sessions(corpus, {"p": str(source)}, wanted).episodes})

    assert sessions(GenerationRequest()) == ["s00", "s01"]
    assert sessions(GenerationRequest(splits_file=write_splits(tmp_path / "other", 1))) == ["s00"]
    assert len(sessions(GenerationRequest(split="all"))) == 12
    alone = choose_sessions(corpus, {"p": "org/model"}, GenerationRequest())
    assert alone.notes[0].endswith("give its table with splits_file") and alone.episodes


def test_a_device_that_is_not_here_is_called_as_the_caller_does(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for called, name in ((str, "device"), ("--{}".format, "--device")):
        with pytest.raises(InputError, match=f"^{name} = 'cuda': torch sees no CUDA device here"):
            choose_placement(GenerationRequest(device="cuda"), called)
    with pytest.raises(InputError, match="dtype = 'float8'"):
        choose_placement(GenerationRequest(dtype="float8"))


COARSE = train_tokenizer([*QUESTIONS, *ANSWERS], 400)
FINE = train_tokenizer(["x"], 262)
"""A tokenizer that has seen nothing writes every letter as a token of its own."""
TIGHT = SMALL.window.model_copy(update={"max_context_tokens": 48})


def test_all_policies_get_the_contexts_that_each_has_room_for():
    long = episode("long", [("ann", " ".join(QUESTIONS)), ("bot", "no")])
    shared = share_contexts([*chats(2), long], {"one": COARSE, "two": FINE}, TIGHT, 100)
    places = [[(c.session_id, c.turn) for c in contexts] for contexts in shared.by_policy.values()]
    assert places[0] == places[1] == [(f"chat-{n}", turn) for n in range(2) for turn in (1, 3, 5)]
    assert (shared.no_room, shared.of_all, shared.sessions) == (1, 6, 2)
    one, two = shared.by_policy["one"][2], shared.by_policy["two"][2]
    assert one.history == two.history and len(one.history.splitlines()) == 3
    assert len(two.messages) < len(one.messages) == 3


def test_contexts_are_spread_and_two_ratings_of_one_speaker_count_once():
    both = [rated for chat in chats(4) for rated in (chat, replace(chat, rating=replace(RATING, name="trust")))]
    shared = share_contexts(both, {"one": COARSE}, SMALL.window, 4)
    assert [c.session_id for c in shared.shown] == ["chat-0", "chat-1", "chat-2", "chat-3"]
    assert shared.of_all == 12


def test_the_shown_context_opens_with_the_other_side():
    chat = episode("s", [("bot", "welcome"), ("ann", "a\ntrain?"), ("bot", "yes")])
    (context,) = share_contexts([chat], {"one": COARSE}, SMALL.window, 9).shown
    assert context.history == "user: a train?"
