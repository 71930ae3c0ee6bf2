import pytest

from apportion.corpus.importers.dealornodeal.rows import read_rows, row_of
from apportion.foundation.errors import InputError, UnitError
from tests.shared import shared

MINE = (
    "1 0 4 2 1 2 YOU: i would like 4 hats <eos> THEM: deal <eos> YOU: <selection> "
    "item0=0 item1=4 item2=0 <eos> reward=8 agree 1 4 4 1 1 2"
)
THEIRS = (
    "1 4 4 1 1 2 THEM: i would like 4 hats <eos> YOU: deal <eos> THEM: <selection> "
    "item0=1 item1=0 item2=1 <eos> reward=6 agree 1 0 4 2 1 2"
)
TAGGED = (
    "<input> 1 0 4 2 1 2 </input> <dialogue> YOU: i would like 4 hats <eos> THEM: deal <eos> YOU: <selection> "
    "</dialogue> <output> item0=0 item1=4 item2=0 item0=1 item1=0 item2=1 </output> "
    "<partner_input> 1 4 4 1 1 2 </partner_input>"
)


def test_both_forms_of_a_row_are_one():
    row = row_of(MINE, "here")
    assert row == row_of(TAGGED, "here") and row.key == row_of(TAGGED, "there").key
    assert (row.counts, row.own, row.other) == ((1, 4, 1), (0, 2, 2), (4, 1, 2))
    assert row.said == ((True, "i would like 4 hats"), (False, "deal")) and row.ended_by_you
    assert (row.end, row.selected, row.points) == ("agreed", (0, 4, 0), (8, 6))


@pytest.mark.parametrize(
    ("old", "new", "end", "points"),
    [
        ("agree 1", "disagree 1", "disagreed", (0, 0)),
        ("item0=0 item1=4 item2=0 <eos> reward=8", "no agreement <eos> reward=no agreement", "none", (0, 0)),
        ("item0=0 item1=4 item2=0 <eos> reward=8", "disconnect <eos> reward=disconnect", "left", None),
    ],
)
def test_the_other_ends(old, new, end, points):
    row = row_of(MINE.replace(old, new), "here")
    assert (row.end, row.points) == (end, points)


def test_rows_that_contradict_themselves():
    told = "no agreement <eos> reward=no agreement disagree 1"
    assert row_of(MINE.replace("item0=0 item1=4 item2=0 <eos> reward=8 agree 1", told), "here").end == "disagreed"
    with pytest.raises(UnitError, match="what both selected is not the pool"):
        row_of(TAGGED.replace("item0=1 item1=0", "item0=0 item1=0"), "here")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("1 0 4 2 1 2 YOU", "1 0 4 3 1 2 YOU", "worth 14 together, not 10"),
        ("1 0 4 2 1 2 YOU", "0 0 4 2 1 2 YOU", "there are 1 to 4 of each"),
        ("1 0 4 2 1 2 YOU", "1 0 9 2 1 2 YOU", "there are 1 to 4 of each"),
        ("1 0 4 2 1 2 YOU", "1 0 4 2 1 YOU", "a count and a value of each"),
        ("agree 1 4 4 1 1 2", "agree 1 3 3 2 1 1", "the counts are"),
        ("item1=4", "item1=5", "is selected, and there are"),
        ("reward=8", "reward=7", "reward=7, and what was selected is worth 8"),
        ("reward=8", "reward=disconnect", "reward=disconnect, and what"),
        ("item0=0 item1=4 item2=0 <eos> reward=8", "perhaps <eos> reward=8", "selection 'perhaps'"),
        ("THEM: deal", "THEM:", "YOU: or THEM: and words"),
        ("YOU: i would like 4 hats <eos> THEM: deal <eos> ", "", "does not end with <selection> after"),
        ("1 0 4", "x", "no row of counts"),
    ],
)
def test_a_damaged_row(old, new, why):
    with pytest.raises(UnitError, match=why):
        row_of(MINE.replace(old, new), "here")


def test_damaged_rows_are_named_and_the_others_kept(tmp_path):
    (tmp_path / "data.txt").write_text(f"{MINE}\n\n{MINE[:40]}\n{THEIRS}\n")
    parts, (damaged,) = read_rows(tmp_path)
    assert len(parts["train"]) == 2 and (damaged.part, damaged.line) == ("train", 3)
    assert damaged.message.startswith("data.txt, line 3: no row of counts")


def test_training_rows_are_those_that_are_held_out_nowhere(tmp_path):
    (tmp_path / "data.txt").write_text(f"{MINE}\n{THEIRS}\n")
    (tmp_path / "val.txt").write_text(f"{TAGGED}\n")
    parts, _ = read_rows(tmp_path)
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 1, "val": 1}
    assert list(read_rows(tmp_path / "val.txt")[0]) == ["val"]


def test_other_files(tmp_path):
    (tmp_path / "val.txt").write_text("hello\n")
    with pytest.raises(InputError, match=r"there is no data.txt in it"):
        read_rows(tmp_path)
    with pytest.raises(InputError, match="no row of Deal or No Deal in it"):
        read_rows(tmp_path / "val.txt")
    (tmp_path / "other.txt").write_text(MINE)
    with pytest.raises(InputError, match=r"the files of Deal or No Deal are data.txt, val.txt, test.txt"):
        read_rows(tmp_path / "other.txt")


def test_the_published_rows():
    parts, damaged = read_rows(shared("data/dealornodeal"))
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 10095, "val": 1087, "test": 1052}
    assert damaged == [] and sum(row.end == "agreed" for row in parts["test"]) == 804
