import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.viewer.data.index import composed, decomposed, pattern_of, query_of, searchable

TEXTS = {
    1: "I want a refund, I am not happy at all.",
    2: "Happy to help! Is it about the invoice or a refund?",
    3: "我要退货，谢谢",
    4: "Où est le café? It's O'Brien's.",
    5: "ฉันไม่พอใจกับบริการนี้เลย",
    6: "ｱｲｳ ខ្ញុំមិនពេញចិត្ត foo_bar",
}


@pytest.fixture(scope="module")
def database():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (said, tokenize = 'unicode61 remove_diacritics 2')")
    connection.executemany(
        "INSERT INTO words (rowid, said) VALUES (?, ?)", [(n, searchable(t)) for n, t in TEXTS.items()]
    )
    yield connection
    connection.close()


def found(database: sqlite3.Connection, text: str) -> list[int]:
    query = query_of(text)
    assert query is not None
    return [row[0] for row in database.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid", (query,))]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("refund", [1, 2]),
        ("REFUND happy", [1, 2]),
        ('"not happy"', [1]),
        ('"happy not"', []),
        ("refund -invoice", [1]),
        ("refu", [1, 2]),
        ("refu ", []),
        ('refund "not happy', [1]),
        ("退货", [3]),
        ("货退", []),
        ("cafe", [4]),
        ("o'brien", [4]),
        ("บริการ", [5]),
        ("การบริ", []),
        ("ｲｳ", [6]),
        ("ពេញចិត្ត", [6]),
        ("bar", [6]),
        ("AND", []),
        ("said:refund", []),
        ("NEAR(refund happy)", []),
    ],
)
def test_words_phrases_and_what_must_not_be_there(database, text, numbers):
    assert found(database, text) == numbers


@given(st.text(max_size=60))
def test_any_text_is_a_query_or_none(database, text):
    query = query_of(text)
    if query is None:
        return
    rows = database.execute("SELECT count(*) FROM words WHERE words MATCH ?", (query,)).fetchone()
    assert 0 <= rows[0] <= len(TEXTS)


@pytest.mark.parametrize("text", ["", "   ", "-", '"', "...", "-only", '""', "( )"])
def test_nothing_to_search_for(text):
    assert query_of(text) is None


@given(st.text(max_size=40), st.text(max_size=80))
def test_a_pattern_of_any_text_is_harmless_and_finds_beginnings(typed, text):
    wanted = pattern_of(typed)
    if wanted is not None:
        for match in wanted.finditer(text):
            assert match[0].casefold() and match.end() > match.start()


@pytest.mark.parametrize(
    ("typed", "text", "found"),
    [
        ("cafe", "Un café, s'il vous plaît", "café"),
        ("café", "Cafe?", "Cafe"),
        ("resume", "a résumé", "résumé"),
        ("plait", "s'il vous plaît", "plaît"),
        ("bar", "foo_bar bär_foo", "bar"),
        ("บริการ", "ฉันไม่พอใจกับบริการนี้เลย", "บริการ"),
        ("sume", "a résumé", None),
        ("résu*", "a résumé", "résu"),
        ("what?", "So what is it", "what"),
        ("follow-up", "Follow up: follow-ups", "Follow up"),
        ('"don\'t know,"', "I don’t know", "don’t know"),
    ],
)
def test_accents_are_passed_over_as_the_index_passes_them_over(typed, text, found):
    match = pattern_of(typed).search(decomposed(text))
    assert (match and composed(match[0])) == found
