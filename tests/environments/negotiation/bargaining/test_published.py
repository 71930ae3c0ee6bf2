"""Products in the layout of AmazonHistoryPrice, made up here."""

import json
from pathlib import Path

import pytest

from apportion.environments.negotiation.bargaining.published import CONFLICTING, OUT_OF_RANGE, THIN, import_products
from apportion.environments.negotiation.bargaining.scenario import Bargain, read_bargains
from apportion.foundation.errors import InputError


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
