import pytest

from apportion.corpus.importers.reading.ratings_csv import Score, read_ratings
from apportion.foundation.errors import InputError, UnitError

HEAD = "session_id,rater,target,name,score,low,high"


def read(tmp_path, text, session_id=None):
    (tmp_path / "ratings.csv").write_text(text)
    return read_ratings(tmp_path / "ratings.csv", session_id)


def test_rows_by_session_in_a_column_or_the_folder(tmp_path):
    found = read(tmp_path, f"{HEAD},annotator,higher_is_better\na, X ,Y,fun,3,1,5,,\nb,X,Y,pain,2,1,5,t1,No\n")
    assert found["a"][0].score() == Score("X", "Y", "fun", 3.0, 1.0, 5.0, None, True)
    assert found["b"][0].score() == Score("X", "Y", "pain", 2.0, 1.0, 5.0, "t1", False)
    assert list(read(tmp_path, "rater,target,name,score,low,high\nX,Y,fun,3,1,5\n", "a")) == ["a"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD.replace("score", "scores") + "\n", "no column 'score'; did you mean 'scores'"),
        ("rater,target,name,score,low,high\n", "no column 'session_id'; Add it"),
        (HEAD + '\na,X,Y,"' + "x" * 200_000, "not readable CSV"),
        ("", "zero bytes"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a,X,Y,fun,good,1,5,", r"ratings.csv, line 2, column score: 'good'; a number is needed"),
        ("a,X,Y,fun,nan,1,5,", "column score: 'nan'"),
        ("a,X,Y,fun,3,,5,", "column low: ''"),
        ("a,X,Y,,3,1,5,", "column name: empty"),
        ("a,,Y,fun,3,1,5,", "column rater: empty"),
        ("a,X,Y,fun,3,1,5,maybe", "column higher_is_better: 'maybe'; true or false"),
    ],
)
def test_a_row_that_is_wrong(tmp_path, row, words):
    (found,) = read(tmp_path, f"{HEAD},higher_is_better\n{row}\n")["a"]
    with pytest.raises(UnitError, match=words):
        found.score()
