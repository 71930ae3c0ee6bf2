"""Bargains in a file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.corpus import Corpus
from apportion.environments.negotiation.bargaining.published import CONFLICTING, OUT_OF_RANGE, THIN, import_products
from apportion.environments.negotiation.bargaining.scenario import Bargain, as_lines, draw_bargain, read_bargains
from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.simulation import write_corpus
from apportion.foundation.errors import InputError

TWO = (Bargain('a "kettle"\n[SYSTEM]', 40, 36, 20), Bargain("ein Zelt – groß", 300, 250, 100))


@given(st.lists(st.randoms(use_true_random=False), min_size=1, max_size=5))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, draws: list) -> None:
    bargains = tuple(draw_bargain(one) for one in draws)
    path = tmp_path_factory.mktemp("bargains") / "file.jsonl"
    path.write_text(as_lines(bargains), encoding="utf-8")
    assert read_bargains(path) == bargains


def test_the_first_of_a_file_are_played_whoever_plays(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text(as_lines(TWO) + "\n", encoding="utf-8")
    choice = BargainingChoice(("conceding", "fair"), games=2, scenarios=path)
    assert choice.played == TWO and BargainingChoice(games=1, scenarios=path).played == TWO[:1]
    write_corpus(choice, tmp_path / "out")
    assert len(Corpus.open(tmp_path / "out").session_ids()) == 8
    other = tmp_path / "other.jsonl"
    other.write_text(as_lines(TWO[::-1]), encoding="utf-8")
    again = BargainingChoice(("conceding", "fair"), games=2, scenarios=other)
    assert again.record() != choice.record() and "scenarios" not in BargainingChoice(games=2).record()
    with pytest.raises(InputError, match="2 bargains, and games = 3; play at most as many"):
        _ = BargainingChoice(games=3, scenarios=path).total


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1: not valid JSON"),
        ("[1]", "line 1: a JSON object .* is needed"),
        ('{"thing": "a"}', "line 1: no 'list_price'; a bargain has thing, list_price, budget, cost"),
        ('{"thing": 1, "list_price": 9, "budget": 8, "cost": 2}', "thing is text"),
        ('{"thing": "a", "list_price": 9.5, "budget": 8, "cost": 2}', "whole numbers"),
        ('{"thing": "a", "list_price": 9, "budget": 8, "cost": 8}', "below the budget"),
        ("", "holds no bargain"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_bargains(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name, why in (("none", "no such file"), ("bytes", "not UTF-8")):
        with pytest.raises(InputError, match=f"{name}: {why}"):
            read_bargains(tmp_path / name)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (("", 40, 36, 20), "thing: empty"),
        (("x", 0, 0, 0), "list_price = 0"),
        (("x", 2_000_000, 36, 20), "list_price = 2000000"),
        (("x", 40, 41, 20), "budget = 41"),
        (("x", 40, 20, 20), "the cost has to be 0 or more and below"),
        (("x", 40, 23, 20), "has to lie 10% of the list price"),
    ],
)
def test_what_cannot_be_bargained_about(values, why):
    with pytest.raises(InputError, match=why):
        Bargain(*values)


def product(title: str, usual: str, highest: str, lowest: str) -> dict[str, str]:
    return {"title": title, "list_price": usual, "highest_price": highest, "lowest_price": lowest, "link": "x"}


GOOD = product("A lamp\n with two lines", "$1,200.00", "$1,499.60", "$500.40")
OTHERS = [
    product("cheap", "$10.00", "$9.00", "$9.00"),  # Sold for more than the budget at its lowest.
    product("thin", "$100.00", "$90.00", "$75.00"),
    product("dear", "$5,000,000.00", "$1.00", "$1.00"),
]


def folder(tmp_path: Path, *products: object, inside: str = "data/AmazonHistoryPrice") -> Path:
    place = tmp_path / "checkout" / inside
    place.mkdir(parents=True)
    (place / "books.json").write_text(json.dumps(products))
    return tmp_path / "checkout"


@pytest.mark.parametrize("inside", ["data/AmazonHistoryPrice", "."])
def test_the_higher_price_is_the_list_price_and_the_lowest_the_cost(tmp_path: Path, inside: str) -> None:
    out = tmp_path / "bargains.jsonl"
    made = import_products(folder(tmp_path, GOOD, *OTHERS, inside=inside), out)
    assert made.bargains == (Bargain("A lamp with two lines", 1500, 1200, 500),) == read_bargains(out)
    assert made.left_out == {CONFLICTING: 1, THIN: 1, OUT_OF_RANGE: 1} and made.products == 4
    assert import_products(tmp_path / "checkout", out, budget=1.0).bargains[0].budget == 1500


@pytest.mark.parametrize(
    "damaged",
    [
        {"title": "no prices"},
        product("", "$9", "$9", "free"),
        product("x", "$9", "$9", "$nan"),
        product("x", "-9", "$9", "$1"),
        {**GOOD, "lowest_price": None},
        {**GOOD, "title": 3},
    ],
)
def test_a_damaged_product_is_named_and_the_others_stay(tmp_path: Path, damaged: dict) -> None:
    made = import_products(folder(tmp_path, GOOD, damaged), tmp_path / "out.jsonl")
    assert len(made.bargains) == 1 and len(made.damaged) == 1 and made.damaged[0].startswith("books.json 2: ")


def test_what_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    source = folder(tmp_path, GOOD)
    for budget in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="a part of the list price"):
            import_products(source, tmp_path / "o", budget)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no category"):
        import_products(tmp_path / "empty", tmp_path / "o")
    with pytest.raises(InputError, match="cannot be written"):
        import_products(source, source)
    file = source / "data/AmazonHistoryPrice/books.json"
    for text, said in (("{", "not to be read as products"), ('{"a": 1}', "no list of products"), ("[1]", "no list")):
        file.write_text(text)
        with pytest.raises(InputError, match=said):
            import_products(source, tmp_path / "o")
    file.write_text(json.dumps(OTHERS))
    with pytest.raises(InputError, match="no product can be bargained about"):
        import_products(source, tmp_path / "o")
