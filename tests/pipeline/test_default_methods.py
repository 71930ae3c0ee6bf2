from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.session import Rating, Session, Turn
from apportion.foundation.errors import InputError
from apportion.pipeline.default_methods import FEWEST_TO_LEARN, TABLE, choose_methods
from tests.pipeline.benchmark.test_benchmark import RECORDED

SCORE = Rating("ann", "bob", "satisfaction", 3.0, 1.0, 5.0)
TURNS = {"reply": ("ann", "bob", "ann"), "none": ("ann", "ann", "bob")}


def sessions(languages="en", scores=0, turns="reply", media=()):
    return {
        f"s{place}": Session(
            f"s{place}",
            tuple(Turn(number, who, "hello") for number, who in enumerate(TURNS[turns])),
            ratings=(replace(SCORE, score=1.0 + place % 5),) if place < scores else (),
            media=media,
            language=languages.split()[place % len(languages.split())],
        )
        for place in range(8)
    }


@pytest.mark.parametrize(
    ("has", "row", "words"),
    [
        ({"scores": 8}, 0, "the scores move that as far as they carry"),
        ({"scores": FEWEST_TO_LEARN, "languages": "en de"}, 0, "; not in English: 4 German"),
        ({"scores": FEWEST_TO_LEARN - 1}, 2, "teach nothing"),
        ({"scores": 8, "languages": "de", "media": RECORDED.media}, 1, "in any language"),
        ({"scores": 8, "languages": "de"}, 3, "the same share; not in English: 8 German"),
        ({"scores": 8, "turns": "none"}, 3, "the same share"),
        ({}, 4, "needs no score"),
    ],
)
def test_the_first_row_whose_needs_are_met_counts(has, row, words):
    chosen = choose_methods(sessions(**has))
    assert (chosen.method, chosen.compare) == (TABLE[row].method, TABLE[row].compare)
    assert str(chosen).startswith(TABLE[row].method) and words in str(chosen)


def test_equal_scores_teach_nothing():
    alike = {name: replace(one, ratings=(SCORE,)) for name, one in sessions().items()}
    assert choose_methods(alike).method == "reactions-en"


def test_the_docs_show_the_table():
    lines = Path("docs/start.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| The corpus has | Method | Beside it |") + 2
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start : start + len(TABLE)]]
    code = ["–" if not row.compare else ", ".join(f"`{name}`" for name in row.compare) for row in TABLE]
    assert [method for _, method, _ in shown] == [f"`{row.method}`" for row in TABLE]
    assert [compare for *_, compare in shown] == code
    assert [set(needs.split(", ")) for needs, *_ in shown] == [set(row.needs) for row in TABLE]


def test_scores_of_another_name_do_not_count():
    assert choose_methods(sessions(scores=8), "liking").method == "reactions-en"


@pytest.mark.parametrize(("has", "words"), [({"languages": "de"}, "none is in English"), ({"turns": "none"}, "nobody")])
def test_without_scores_and_english_replies_there_is_nothing_to_make_rewards_of(has, words):
    with pytest.raises(InputError, match=words):
        choose_methods(sessions(**has))
