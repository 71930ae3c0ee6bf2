"""The tables among the inputs that real people met: each as its last column says."""

import pytest

from apportion.corpus.corpus import Corpus
from tests.apportion.called import called
from tests.shared import shared


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("t01_csv_comma", "transcript.csv, line 3: 5 cells; the first line names 4 columns"),
        ("t30_ratings_decimal", "ratings.csv, line 2: 8 cells; the first line names 7 columns"),
        ("t46_csv_ms", "-o time_unit=ms"),
    ],
)
def test_what_cannot_be_read_is_refused_by_line_or_with_the_option(case, says, tmp_path, capsys):
    assert called("import", "media", shared(f"cases/strangers/{case}"), tmp_path / "corpus") == 2
    assert says in capsys.readouterr().err and not (tmp_path / "corpus").exists()


def test_milliseconds_are_read_where_they_are_named(tmp_path):
    source = shared("cases/strangers/t46_csv_ms")
    assert called("import", "media", source, tmp_path / "corpus", "-o", "time_unit=ms") == 0
    turns = Corpus.open(tmp_path / "corpus").session("s1").turns
    assert [(turn.start_s, turn.end_s) for turn in turns] == [(0.0, 10.32), (10.32, 18.1)]
