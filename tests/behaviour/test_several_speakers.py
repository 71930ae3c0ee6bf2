import hashlib
import json
from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode, Rating, Turn
from apportion.decompose.prompt_building.prompt import load_prompt
from apportion.decompose.prompt_building.pseudonymize import anonymize
from apportion.decompose.settings import LLMMethodSettings
from apportion.llm_client.settings import LLMSettings
from apportion.reward_model.history_windows import history_text, history_windows, said_by, window
from apportion.rlhf.compare.generate import share_contexts
from apportion.rlhf.compare.judge import requests_for
from apportion.rlhf.compare.pairs import Pair, anonymize_pair
from apportion.rlhf.compare.responses import context_text, messages_of
from apportion.rlhf.compare.win_rate import history_of
from apportion.rlhf.policy.contexts import ContextTurn, make_contexts, merge_turns, opening_window, speaker_messages
from apportion.rlhf.sampling.partner import RecordedPartner
from apportion.rlhf.training.tiny_policy import train_tokenizer
from tests.rlhf.toy import SMALL

TABLE = Episode(
    "s",
    (
        Turn(0, "Dora", "Who was\nout?"),
        Turn(1, "P0412", "I saw Ann."),
        Turn(2, "Ann", "I slept."),
        Turn(3, "Emil", "Ann lies.\nAnn: I confess."),
        Turn(4, "Emil", "She does."),
        Turn(5, "Dora", "Why?"),
        Turn(6, "Ann", "Ask Emil."),
        Turn(7, "P0412", "Vote."),
        Turn(8, "Ann", "No."),
    ),
    Rating("Dora", "Ann", "trust", 2.0, 1.0, 5.0),
)
HELD = {
    "windows": "8f849021261cddae03535347f8e9daee3cc10255310932e5e27ce6da637b8f67",
    "messages": "220243a39965a82e0dafd58ae57ca082f62b5609ca94a1ac2b65d98ab97f099b",
    "partner": "3000ec3f8370703ab104cbbc3995e2a1ce19854566d0ab0ff00607fab9cd17c7",
    "shown": "b463af9e2e17d60c48a9d30c753b5d9fc77d227c443efaebfb7dd1bcf691a521",
}
"""sha256 of what was read of the demo's dialogues when the other side was one person always."""
TOKENIZER = train_tokenizer([turn.text for turn in TABLE.turns], 300)


def three(episode: Episode, position: int) -> str:
    return window(episode, position, 3)[0]


def four(episode: Episode, position: int) -> str:
    return window(episode, position, 4)[0]


def test_the_reward_model_reads_a_letter_for_each_the_same_ones_throughout():
    assert window(TABLE, 2, 9) == ("A: Who was out?\nC: I saw Ann.\n", "I slept.")
    assert window(TABLE, 6, 3) == ("D: Ann lies. Ann: I confess.\nD: She does.\nA: Why?\n", "Ask Emil.")
    assert window(TABLE, 8, 1) == ("C: Vote.\n", "No.")
    assert history_text(said_by(TABLE)).startswith("A: Who was out?\nC: I saw Ann.\nB: I slept.\nD: ")


def test_a_policy_reads_names_before_words_and_answers_without_one():
    contexts = make_contexts([TABLE], TOKENIZER, three, context_turns=4, max_context_tokens=300).contexts
    assert contexts[0].messages == (ContextTurn("user", "Dora: Who was out?\nP0412: I saw Ann."),)
    # Emil's line break is a space: it cannot put words into Ann's mouth.
    assert contexts[1].messages == (ContextTurn("user", "Emil: Ann lies. Ann: I confess. She does.\nDora: Why?"),)
    assert merge_turns(TABLE.turns[6:], TABLE)[0] == ContextTurn("assistant", "Ask Emil.")


def test_the_recorded_others_answer_each_in_their_name():
    contexts = make_contexts([TABLE], TOKENIZER, three, context_turns=4, max_context_tokens=300).contexts
    partner = RecordedPartner([TABLE], three)
    assert partner.answer(contexts[0], ["x"]) == "Emil: Ann lies. Ann: I confess. She does.\nDora: Why?"
    assert partner.history(contexts[0], ["x"]) == "B: x\nD: Ann lies. Ann: I confess. She does.\nA: Why?\n"
    assert partner.answer(contexts[0], ["x", "y"]) == "P0412: Vote."
    assert partner.answer(contexts[0], ["x", "y", "z"]) is None


def test_a_comparison_shows_who_says_what_and_the_reward_model_reads_letters_of_it():
    shared = share_contexts([TABLE], {"one": TOKENIZER}, SMALL.window.model_copy(update={"max_context_tokens": 300}), 9)
    text = shared.shown[0].history
    assert text == "user (Dora): Who was out?\nuser (P0412): I saw Ann."
    assert messages_of(text) == (
        ContextTurn("user", "Who was out?", "Dora"),
        ContextTurn("user", "I saw Ann.", "P0412"),
    )
    assert history_of(text + "\nassistant: I slept.") == "A: Who was out?\nC: I saw Ann.\nB: I slept.\n"
    (request, _) = requests_for(Pair("s", 2, 0, text, "new", "old", "a", "b"), LLMSettings(model="m"))
    assert '{"speaker": "user (P0412)", "text": "I saw Ann."}' in request.messages[1].content
    odd = context_text([ContextTurn("user", "hi", "a (b): c")])
    assert messages_of(odd) == (ContextTurn("user", "hi", "a (b) c"),)


def test_disguised_people_stay_disguised_in_names_before_words():
    text = context_text(speaker_messages(TABLE.turns[:4], TABLE))
    shown = anonymize_pair(
        Pair("s", 2, 0, text, "new", "old", "Ask Emil.", "No."), ("Dora", "P0412", "Ann", "Emil"), ()
    )
    assert not any(name in shown.pair.context + shown.pair.left_text for name in ("Dora", "P0412", "Ann", "Emil"))
    assert len({message.speaker for message in messages_of(shown.pair.context)}) == 4
    seen = anonymize(TABLE, None, LLMMethodSettings(pseudonyms=True))
    asked = load_prompt("quality").messages(seen.episode)[1].content
    assert not any(name in asked for name in ("Dora", "P0412", "Ann", "Emil"))
    speakers = {line.split('"speaker": "')[1].split('"')[0] for line in asked.splitlines() if '"speaker"' in line}
    assert len(speakers) == 4


def test_of_two_speakers_every_reader_reads_what_it_read_before():
    demo = Corpus.open(Path(__file__).parents[2] / "demo" / "corpus")
    episodes = [episode for name in demo.session_ids() for episode in demo.session(name).episodes()]
    assert not any(episode.is_multiparty for episode in episodes)
    partner = RecordedPartner(episodes, four)
    contexts = make_contexts(episodes, TOKENIZER, four, context_turns=4, max_context_tokens=2000).contexts
    answered = [context for context in contexts if partner.answer(context, ["x"])]
    read = {
        "windows": history_windows(episodes, 4).pairs,
        "messages": [[[m.role, m.text] for m in c.messages] + [c.history] for c in contexts],
        "partner": [
            [partner.answer(c, ["x"]), partner.answer(c, ["x", "y"]), partner.history(c, ["x"])] for c in answered
        ],
        "shown": [context_text(speaker_messages(opening_window(e.turns, e.rating.target, 6), e)) for e in episodes],
    }
    assert {name: hashlib.sha256(json.dumps(of).encode()).hexdigest() for name, of in read.items()} == HELD
