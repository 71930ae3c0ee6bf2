import gzip
import json
import subprocess
import sys

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.uss import import_corpus
from apportion.corpus.validate import validate
from apportion.foundation.errors import InputError
from tests.shared import shared

TEXT = (
    "\nUSER\tHi\tINFORM\t3,4\nSYSTEM\tWhere?\tREQUEST\t\nUSER\tHere\tINFORM\t2,4\nUSER\tand there\t\t4,4\n"
    "USER\tOVERALL\t\t3,5\n\n\nSYSTEM\tHello\t\t\nUSER\tBye\t\t1\nUSER\tOVERALL\t\t1\n"
)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "Toy.txt").write_text(TEXT)
    return tmp_path / "Toy.txt"


def rows(imported, table, *columns):
    return list(zip(*(imported.tables[table].column(name).to_pylist() for name in columns), strict=True))


def test_turns_ratings_and_labels(source):
    imported = import_corpus(source, {})
    assert rows(imported, "sessions", "session_id", "source", "language") == [
        ("toy-0001", "uss/toy", None),
        ("toy-0002", "uss/toy", None),
    ]
    assert imported.usual_language == "en"
    assert rows(imported, "utterances", "session_id", "turn", "speaker", "text")[:2] == [
        ("toy-0001", 0, "USER", "Hi"),
        ("toy-0001", 1, "SYSTEM", "Where?"),
    ]
    assert "OVERALL" not in imported.tables["utterances"].column("text").to_pylist()
    assert rows(imported, "ratings", "session_id", "annotator", "score") == [
        ("toy-0001", "0", 3.0),
        ("toy-0001", "1", 5.0),
        ("toy-0002", "0", 1.0),
    ]


def test_a_label_sits_on_the_system_turn_before_and_two_after_one_turn_are_averaged(source):
    imported = import_corpus(source, {})
    assert rows(imported, "turn_labels", "session_id", "turn", "annotator", "value") == [
        ("toy-0001", 1, "0", 3.0),
        ("toy-0001", 1, "1", 4.0),
        ("toy-0002", 0, "0", 1.0),
    ]


def test_windows_line_ends(source):
    source.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert rows(import_corpus(source, {}), "utterances", "text")[0] == ("Hi",)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("USER\tHi", "line 2: 2 tab-separated fields"),
        ("ROBOT\tHi\t\t", "line 2: role 'ROBOT'; allowed: USER, SYSTEM"),
        ("USER\tHi\t\t3,x", "line 2: scores '3,x'"),
        ("USER\tHi\t\tinf,-inf", "line 2: scores 'inf,-inf'"),
        ("USER\tHi\t\t1e999", "line 2: scores '1e999'"),
        ("USER\tOVERALL\t\t3\nUSER\tOVERALL\t\t4", "line 3: a second OVERALL"),
    ],
)
def test_a_broken_session_is_left_out_whole_and_the_others_stay(source, line, words):
    source.write_text(f"USER\tHm\t\t3\n{line}\n{TEXT}")
    imported = import_corpus(source, {})
    (left_out,) = imported.left_out
    assert left_out.session_id == "toy-0001" and words in str(left_out)
    assert rows(imported, "sessions", "session_id") == [("toy-0002",), ("toy-0003",)]
    assert {row[0] for row in rows(imported, "turn_labels", "session_id")} == {"toy-0002", "toy-0003"}


def test_a_folder_of_plain_and_gzip_files_and_the_same_name_twice(source):
    (source.parent / "Other.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert rows(import_corpus(source.parent, {}), "sessions", "session_id")[0] == ("other-0001",)
    (source.parent / "Toy.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    with pytest.raises(InputError, match=r"Toy.txt, Toy.txt.gz would give the same session ids"):
        import_corpus(source.parent, {})


def test_a_file_of_another_kind(tmp_path):
    (tmp_path / "chat.jsonl").write_text('{"messages": []}\n')
    with pytest.raises(InputError, match=r"not a USS file. Is it of another kind"):
        import_corpus(tmp_path / "chat.jsonl", {})


def test_a_score_off_its_scale_is_left_to_validation(source, tmp_path):
    source.write_text("SYSTEM\tHi\t\t\nUSER\tHm\t\t3\nUSER\tOVERALL\t\t7\n")
    report = import_to("uss", source, tmp_path / "corpus")
    assert "7 is outside its scale" in str(report.problems[0])


def test_sgd_whole(tmp_path):
    report = import_to("uss", shared("data/uss/SGD.txt.gz"), tmp_path / "sgd")
    assert report.rows == {
        "sessions": 1000,
        "utterances": 25666,
        "ratings": 3540,
        "media": 0,
        "turn_labels": 42146,
        "backgrounds": 0,
        "events": 0,
    }
    assert report.left_out == () and report.problems == ()
    corpus = Corpus.open(tmp_path / "sgd")
    first = corpus.session("sgd-0001")
    assert first.turns[0].text == "What is the weather like on the March 4th?"
    assert first.ratings[0].score == pytest.approx(11 / 3)
    assert validate(corpus) == []


def test_redial_has_no_scores_of_actions(tmp_path):
    report = import_to("uss", shared("data/uss/ReDial.txt.gz"), tmp_path / "redial")
    assert report.rows["sessions"] == 1000 and report.problems == () and report.left_out == ()
    report = import_to("uss", shared("data/uss/ReDial-action.txt.gz"), tmp_path / "action")
    assert report.rows["sessions"] == 336 and report.rows["ratings"] == 0


def test_the_importer_loads_no_heavy_library(source, tmp_path):
    """What keeps the import of a corpus fast to start."""
    code = (
        "import sys, json; from apportion.corpus.importers import import_to; "
        f"import_to('uss', {str(source)!r}, {str(tmp_path / 'corpus')!r}); "
        "print(json.dumps([m for m in ('torch', 'av', 'librosa', 'transformers') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
