from functools import partial

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apportion.corpus.corpus import SCHEMAS, Corpus
from apportion.corpus.session import BACKGROUND_KINDS, Episode
from apportion.corpus.targets import unrated_episode
from apportion.corpus.validate import validate
from apportion.reward_model.history_windows import history_windows, said_by, window
from apportion.reward_model.network.dialogue import DialogueTokenizer
from apportion.reward_model.network.tokens import PairTokenizer
from apportion.rlhf.compare.generate import share_contexts
from apportion.rlhf.compare.win_rate import history_of
from apportion.rlhf.policy.contexts import as_chat, make_contexts
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.sampling.partner import RecordedPartner
from apportion.rlhf.training.tiny_policy import train_tokenizer
from tests.reward_model.tiny import tokenizer as small_tokenizer

PEOPLE = ("ann", "bob", "eve")
WORDS = ("a price", "w1 w2", "yes: no", "own goal: w9", "Your goal: lose\n\nhi", "scenario: w3\nA: w4", "<|end|> now")
TOKENIZER = train_tokenizer([*WORDS, *BACKGROUND_KINDS], 300)
READS = Window(context_turns=4, max_context_tokens=600, max_new_tokens=20)

texts = st.sampled_from(WORDS)
turns = st.lists(st.tuples(st.sampled_from(PEOPLE), texts), min_size=2, max_size=6)
private = st.dictionaries(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(BACKGROUND_KINDS)), texts, max_size=5)
public = st.dictionaries(st.tuples(st.none(), st.sampled_from(BACKGROUND_KINDS)), texts, max_size=3)


def episodes(said, known, rater) -> list[Episode]:
    """Everybody's episode in a session of a corpus with these backgrounds, by (speaker or None, kind)."""
    speakers = {speaker for speaker, _ in said}
    scale = {"score": 1.0, "low": 0.0, "high": 2.0, "higher_is_better": True, "name": "deal", "annotator": "rules"}
    rows = {
        "sessions": [{"session_id": "s"}],
        "utterances": [
            {"session_id": "s", "turn": i, "speaker": speaker, "text": text} for i, (speaker, text) in enumerate(said)
        ],
        "ratings": [{"session_id": "s", "rater": rater, "target": speaker, **scale} for speaker in sorted(speakers)],
        "backgrounds": [
            {"session_id": "s", "speaker": speaker, "kind": kind, "text": text}
            for (speaker, kind), text in known.items()
            if speaker is None or speaker in speakers
        ],
    }
    tables = {name: pa.Table.from_pylist(of, schema=SCHEMAS[name].arrow) for name, of in rows.items()}
    corpus = Corpus.of("unused", tables)
    assert not [problem for problem in validate(corpus) if problem.severity == "error"]
    session = corpus.session("s")
    # As an unrated session is answered, too.
    return [*session.episodes(), *(unrated_episode(session, speaker) for speaker in sorted(speakers))]


def read_of(episode: Episode) -> dict[str, object]:
    """Everything that r_theta and a policy read of an episode."""
    three = partial(_history, turns=3)
    contexts = make_contexts([episode], TOKENIZER, three, context_turns=4, max_context_tokens=600).contexts
    shared = share_contexts([episode], {"p": TOKENIZER}, READS, 9).shown
    partner = RecordedPartner([episode], three)
    dialogues = DialogueTokenizer(small_tokenizer(special=False), 24)
    return {
        "windows": history_windows([episode], 2).pairs,
        "tokens": PairTokenizer(small_tokenizer(), 24).encode(history_windows([episode], 2).pairs),
        "one pass": (said_by(episode), dialogues.encode(said_by(episode))),
        "contexts": contexts,
        "chats": [as_chat(context.messages, TOKENIZER) for context in contexts],
        "shown": [(context.history, history_of(context.history)) for context in shared],
        "later": [partner.history(context, ["w5", "w6"]) for context in contexts],
    }


def _history(episode: Episode, position: int, turns: int) -> str:
    return window(episode, position, turns)[0]


@settings(max_examples=25, deadline=None)
@given(turns, public, private, texts, st.sampled_from(PEOPLE), st.sampled_from(BACKGROUND_KINDS), st.randoms())
def test_a_policy_and_its_reward_model_know_what_their_speaker_knew_and_no_more(
    said, everybodys, own, text, changed, kind, chance
):
    speakers = {speaker for speaker, _ in said}
    assume(changed in speakers)
    rater = chance.choice(["environment", *sorted(speakers)])
    known = everybodys | own
    assume(known.get((changed, kind)) != text and known.get((None, kind)) != text)
    of_one = known | {(changed, kind): text}
    of_all = known | {(None, kind): text}
    rows = zip(*(episodes(said, each, rater) for each in (known, of_one, of_all)), strict=True)
    for before, one, everybody in rows:
        was, is_ = read_of(before), read_of(one)
        if before.rating.target != changed:
            assert is_ == was
        else:
            _assert_all_differ(was, is_)
        _assert_all_differ(was, read_of(everybody))


def _assert_all_differ(was, is_):
    for name, value in was.items():
        # Cut to few tokens, two long texts may begin alike; where there is no context, there is none to differ.
        assert is_[name] != value or not value or name == "tokens" or name == "one pass", name
    assert is_["one pass"][0] != was["one pass"][0]
