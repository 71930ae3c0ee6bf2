import pytest

from apportion.corpus.importers import import_to
from apportion.corpus.importers.dealornodeal.importer import dialogues, import_corpus, other_side
from apportion.corpus.importers.dealornodeal.rows import row_of
from apportion.foundation.errors import InputError
from tests.corpus.importers.dealornodeal.test_rows import MINE, THEIRS
from tests.shared import shared


def test_two_rows_of_one_dialogue_are_one_session(tmp_path):
    (tmp_path / "data.txt").write_text(f"{THEIRS}\n{MINE}\n")
    new = import_corpus(tmp_path, {})
    said = [(r["speaker"], r["text"]) for r in new.tables["utterances"].to_pylist()]
    assert said == [("first", "i would like 4 hats"), ("second", "deal"), ("first", "[end] ends the talk")]
    rated = {(r["target"], r["name"]): r["score"] for r in new.tables["ratings"].to_pylist()}
    assert rated == {
        ("first", "points"): 8,
        ("first", "advantage"): 2,
        ("second", "points"): 6,
        ("second", "advantage"): -2,
    }
    known = {r["speaker"]: r["text"] for r in new.tables["backgrounds"].to_pylist()}
    assert known[None].startswith("Two divide 1 book, 4 hats, 1 ball.")
    assert known["second"] == "What one of each is worth to you: book 4, hat 1, ball 2."
    assert "CC BY-NC 4.0" in new.notes[0] and new.notes[1].endswith("2 train")


def test_the_two_sides_of_a_row():
    mine, theirs = row_of(MINE, "here"), row_of(THEIRS, "here")
    assert other_side(theirs) == mine and other_side(mine) == theirs
    assert dialogues([theirs, mine]) == [mine]


def test_somebody_gone_is_unrated_and_who_never_acts_has_nothing(tmp_path):
    gone = MINE.replace("item0=0 item1=4 item2=0 <eos> reward=8", "disconnect <eos> reward=disconnect")
    alone = MINE.replace(" <eos> THEM: deal", "").replace("agree 1", "disagree 1")
    (tmp_path / "data.txt").write_text(f"{gone}\n{alone}\n{MINE[:30]}\n")
    new = import_corpus(tmp_path, {})
    assert [(r["session_id"], r["target"], r["name"]) for r in new.tables["ratings"].to_pylist()] == [
        ("dealornodeal-train-0002", "first", "points"),
        ("dealornodeal-train-0002", "first", "advantage"),
    ]
    assert new.left_out[0].session_id == "dealornodeal-train-line-0003"


def test_options(tmp_path):
    (tmp_path / "data.txt").write_text(f"{MINE}\n{MINE.replace('deal <eos>', 'no <eos>')}\n")
    assert import_corpus(tmp_path, {"limit": "1"}).tables["sessions"].num_rows == 1
    with pytest.raises(InputError, match="unknown option 'limits'; did you mean 'limit'"):
        import_corpus(tmp_path, {"limits": "1"})


@pytest.mark.slow
def test_the_published_corpus(tmp_path):
    report = import_to("dealornodeal", shared("data/dealornodeal"), tmp_path / "corpus")
    assert report.notes[1] == "rows, one as each of the two sees a dialogue: 10,095 train, 1,087 val, 1,052 test"
    assert report.rows["sessions"] == 6318 and report.left_out == () and report.problems == ()
