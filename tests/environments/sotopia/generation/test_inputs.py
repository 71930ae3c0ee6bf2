"""Files of vignettes and of things for sale."""

from pathlib import Path

import pytest

from apportion.environments.sotopia.generation.inputs import Vignette, read_items, read_vignettes
from apportion.foundation.errors import InputError

HEAD = "title,description,price,buyer_price"


def file(tmp_path: Path, text: str, name: str = "f.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_vignettes_are_lines_or_a_column(tmp_path: Path) -> None:
    assert read_vignettes(file(tmp_path, "one\n\n two \n", "f.txt")) == (
        Vignette("one", "f.txt, line 1"),
        Vignette("two", "f.txt, line 3"),
    )
    table = file(tmp_path, 'source,vignette\nx,"a, b"\n')
    assert read_vignettes(table) == (Vignette("a, b", "f.csv, line 2", "x"),)
    assert read_vignettes(file(tmp_path, "vignette\na\n"))[0].source == ""


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("\n", "f.txt", "f.txt: "),
        ("a\n", "f.csv", "no column 'vignette'"),
        ("vignette\n", "f.csv", "no vignette; write one a line"),
        ("vignette,source\n,x\n", "f.csv", "f.csv, line 2: vignette is empty"),
        ("x" * 5000, "f.txt", "f.txt, line 1: 5,000 characters; at most 4,000"),
        ("vignette\n" + "x" * 5000, "f.csv", "f.csv, line 2: 5,000 characters"),
    ],
)
def test_what_is_no_vignette_is_named(tmp_path: Path, text: str, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_vignettes(file(tmp_path, text, name))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("boat,,10,7", "line 2: description is empty"),
        ("boat,old,ten,7", "line 2: price: 'ten'; a price in dollars is needed"),
        ("boat,old,0,7", "line 2: price is 0; a price is above 0"),
        ("boat,old,10,1e12", "line 2: buyer_price is 1e[+]12"),
        ("boat,old,10", "3 cells"),
        ("", "no item"),
    ],
)
def test_what_is_no_item_is_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_items(file(tmp_path, f"{HEAD}\n{row}\n"))


def test_limits_stand_together_and_below_what_is_hoped_for(tmp_path: Path) -> None:
    head = f"{HEAD},seller_least,buyer_most"
    with pytest.raises(InputError, match="seller_least and buyer_most are given both or not at all"):
        read_items(file(tmp_path, f"{head}\nboat,old,10,7,1,\n"))
    with pytest.raises(InputError, match="buyer_most 7 is not above buyer_price 7"):
        read_items(file(tmp_path, f"{head}\nboat,old,10,7,1,7\n"))
    with pytest.raises(InputError, match=r"must end in .csv or .tsv"):
        read_items(file(tmp_path, "x", "f.txt"))
