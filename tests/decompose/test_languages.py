"""What methods say of sessions in languages that they do not understand: nothing, and that is told by name."""

from dataclasses import replace

import numpy as np
import pytest

from apportion.corpus.session import Rating, Session, Turn
from apportion.decompose import decompose_dialogue
from apportion.decompose.corpus_methods.local_values import without_values
from apportion.decompose.languages import check_understood, language_notes, understood
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.prompt import SPOKEN, load_prompt
from apportion.decompose.reactions.cues import CUES
from apportion.decompose.reactions.extract import Reactions
from apportion.decompose.reactions.pretrained import Prior, PriorCard, TrainingProvenance
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError
from tests.corpus.languages.chats import dialogue
from tests.decompose.reactions.made_up import write_made_up

SETTINGS = DecomposeSettings()
ENGLISH_RULES = ("sentiment", "sentiment-raw", "sentiment-utterance", "sentiment-utterance-raw")
FOREIGN = ("de", "zh", "es", "de+en")


def spoken(language, number=0, said=None):
    turns = tuple(Turn(at, "ub"[at % 2], text) for at, text in enumerate(said or dialogue(language, number)))
    return Session(f"{language}-{number}", turns, (Rating("u", "b", "s", 1 + number % 5, 1, 5),), language=language)


def values(method, session, settings=SETTINGS):
    return judge_session(method, session, None, None, settings, None).judgements["raw_reward"].to_pylist()


@pytest.mark.parametrize("language", FOREIGN)
def test_no_english_rule_speaks_of_them_and_what_needs_no_words_does(language):
    session = spoken(language)
    assert all(set(values(name, session)) == {None} for name in ENGLISH_RULES)
    assert None not in values("uniform", session)
    local, episodes = METHODS["rrd-ls"].local, [spoken(language).episodes()[0], spoken("en").episodes()[0]]
    assert without_values(local, episodes, None, SETTINGS) == {episodes[0].key}


def test_every_method_says_what_it_understands():
    bound = {name for name, method in METHODS.items() if method.languages == {"en"}}
    assert bound == {*ENGLISH_RULES, "reactions-en", "zero-shot", "zero-shot-served"}


def test_a_classifier_that_somebody_names_and_a_model_that_learnt_elsewhere_are_taken_at_their_word(tmp_path):
    named = DecomposeSettings(sentiment={"classifier": "german-sentiment"})
    assert understood(METHODS["sentiment"], named) is None
    assert understood(METHODS["prior"], SETTINGS) is None
    made = DecomposeSettings(reaction={"pretrained": write_made_up(tmp_path / "m.safetensors")})
    assert understood(METHODS["prior"], made) is None


def prior(language):
    taught = TrainingProvenance(corpus="c", sessions=1, turns=1, language=language)
    size = 2 + len(CUES)
    card = PriorCard(
        name="p", learnt_from=(taught,), licence="CC0", reading={}, backbone="b", width=2, cues=CUES, adapts=False
    )
    return Prior(card, np.zeros(size), np.ones(size), np.ones(size))


@pytest.mark.parametrize(
    ("taught", "known"), [("en", [True, False]), ("en, de", [True, True]), ("de", [False, True]), (None, [True, True])]
)
def test_what_was_learnt_elsewhere_says_nothing_of_a_language_that_taught_it_nothing(taught, known):
    episodes = tuple(spoken(language).episodes()[0] for language in ("en", "de"))
    turns = sum(len(episode.target_turns) for episode in episodes)
    reactions = Reactions(
        episodes, np.ones((turns, len(CUES))), np.ones((turns, 2)), np.ones(turns, bool), np.zeros((turns, 0))
    )
    found = prior(taught).values(reactions)
    assert np.isfinite(found).reshape(2, -1).all(axis=1).tolist() == known


@pytest.mark.parametrize("name", ["default", "blind", "paper", "quality", "attribution"])
def test_a_prompt_names_the_language_unless_it_is_english(name):
    asked, episode = load_prompt(name), spoken("de").episodes()[0]
    plain = asked.messages(replace(episode, language=None))
    assert asked.messages(replace(episode, language="en-GB")) == plain
    for language, named in (("de", "German"), ("de+en", "German and English"), ("zh", "Chinese")):
        system, user = asked.messages(replace(episode, language=language))
        assert system.content == f"{plain[0].content}\n\n{SPOKEN.format(named)}" and user == plain[1]


SESSIONS = {one.session_id: one for one in (spoken("en"), spoken("en", 1), spoken("de"), spoken("zh"))}


@pytest.mark.parametrize(
    ("methods", "told"),
    [
        (["uniform"], []),
        (
            ["sentiment"],
            ["'sentiment' understands English alone and says nothing of 2 sessions (de-0, zh-0)"],
        ),
        (["rrd-ls"], ["'rrd-ls': its part 'sentiment' understands English alone"]),
        (["reactions-en"], ["'reactions-en' understands English alone"]),
        (
            ["reaction"],
            ["'reaction': the cues of a reply that are English words (tone, thanks, yes and no)"],
        ),
        (["mix"], ["'mix': its source 'reactions-en' understands English alone", "'mix': the cues of a reply"]),
    ],
)
def test_a_run_tells_what_each_method_leaves_out(methods, told):
    settings = DecomposeSettings(method=methods[-1], compare=methods[:-1])
    notes = language_notes(settings, SESSIONS, "s")
    assert len(notes) == len(told) and all(map(str.__contains__, notes, told))
    unsure = {**SESSIONS, "short": replace(spoken("en"), session_id="short", language=None)}
    short = [note for note in language_notes(settings, unsure, "s") if "1 session (short) too short to tell" in note]
    assert len(short) == any("understands" in one for one in told)
    english = {name: one for name, one in SESSIONS.items() if one.language == "en"}
    assert language_notes(settings, english, "s") == ()
    check_understood([METHODS[name] for name in methods], settings, SESSIONS, "s")


@pytest.mark.parametrize("name", ["sentiment", "reactions-en", "rrd-ls"])
def test_a_method_that_understands_no_session_is_refused(name):
    german = {one.session_id: one for one in (spoken("de"), spoken("de", 1))}
    with pytest.raises(InputError, match=rf"'{name}'.*English alone, and there is only 2 sessions .*2 German \(de\)\."):
        check_understood([METHODS[name], METHODS["mix"]], SETTINGS, german, "s")
    check_understood([METHODS[name]], SETTINGS, {}, "s")


def messages(language):
    return [
        {"role": "user" if at % 2 else "assistant", "content": text} for at, text in enumerate(dialogue(language, 1))
    ]


def test_one_conversation_in_python_is_refused_unless_its_language_is_said():
    assert decompose_dialogue(messages("en"), 4, scale=(1, 5), method="sentiment").turns
    with pytest.raises(InputError, match=r"'sentiment' understands English alone, and the messages are in German\."):
        decompose_dialogue(messages("de"), 4, scale=(1, 5), method="sentiment")
    assert decompose_dialogue(messages("de"), 4, scale=(1, 5), method="sentiment", language="en").turns
    assert decompose_dialogue(messages("de"), 4, scale=(1, 5), method="uniform").turns
    with pytest.raises(InputError, match="language '!!': no language"):
        decompose_dialogue(messages("de"), 4, scale=(1, 5), method="sentiment", language="!!")
