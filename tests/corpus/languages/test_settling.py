"""The language of each session: as asked for, as the data say, as the corpus is known to be, by the words."""

import pytest

from apportion.corpus.builder import CorpusBuild, CorpusRows
from apportion.corpus.languages.settling import languages_found, with_languages
from apportion.corpus.session import Session, Turn
from tests.corpus.languages.chats import dialogue


def build(usual=None, **sessions):
    """By id the language that the data say, and the turns."""
    rows = CorpusRows()
    for id_, (language, texts) in sessions.items():
        rows.session(id_, "test", language=language)
        for turn, text in enumerate(texts):
            rows.utterance(id_, turn, "ub"[turn % 2], text)
    return CorpusBuild(rows.tables(), usual_language=usual)


GERMAN = {f"g{number}": (None, dialogue("de", number)) for number in range(3)}
ENGLISH = {f"e{number}": (None, dialogue("en", number)) for number in range(3)}
SHORT = {"s": (None, ["ok", "hm"])}


@pytest.mark.parametrize(
    ("made", "given", "found", "note"),
    [
        (build(**GERMAN), None, ["de"] * 3, "by the words: 3 German (de); -o language=CODE"),
        (build(**GERMAN), "fr", ["fr"] * 3, "said to be French, but the words look German"),
        (build(**GERMAN, **SHORT), None, ["de"] * 4, "4 German (de)"),
        (build(**SHORT), None, [None], "1 too short to tell"),
        (build("en", **ENGLISH, **SHORT), None, ["en"] * 4, ""),
        (build("en", **GERMAN, **SHORT), None, ["de"] * 4, "4 German (de)"),
        (build("en", **ENGLISH, g=GERMAN["g0"]), None, ["en"] * 3 + ["de"], "3 English (en), 1 German (de)"),
        (build(a=("German", ["ok"]), b=("en", ["ok"])), None, ["de", "en"], ""),
        (build(a=("??", dialogue("es", 1))), None, ["es"], "1 session (a): language '??': no language."),
    ],
)
def test_where_a_language_comes_from(made, given, found, note):
    settled = with_languages(made, given)
    assert settled.tables["sessions"]["language"].to_pylist() == found
    assert note in " ".join(settled.notes) and bool(note) == bool(settled.notes)


def test_of_a_large_known_corpus_all_are_looked_at_once_one_of_another_language_is_found(monkeypatch):
    monkeypatch.setattr("apportion.corpus.languages.settling.SAMPLE", 2)
    settled = with_languages(build("en", **GERMAN, **ENGLISH))
    assert settled.tables["sessions"]["language"].to_pylist() == ["de"] * 3 + ["en"] * 3


def test_a_loaded_session_keeps_the_language_that_it_has():
    said = {"a": ("fr", "de"), "b": (None, "de"), "c": ("??", "en")}
    sessions = {
        id_: Session(id_, tuple(Turn(i, "u", t) for i, t in enumerate(dialogue(of, 1))), language=language)
        for id_, (language, of) in said.items()
    }
    assert [session.language for session in languages_found(sessions).values()] == ["fr", "de", "en"]
