"""Every row of the standing corpus of strangers' faults: none goes wrong in silence."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from tests.apportion.called import called
from tests.corpus.strangers.row import Row

FILES = sorted(path.stem for path in Path(__file__).parent.glob("*_rows.py") if path.name != "test_rows.py")
ROWS: list[Row] = [row for name in FILES for row in import_module(f"tests.corpus.strangers.{name}").ROWS]


@pytest.mark.parametrize("row", ROWS, ids=map(str, ROWS))
def test_it_is_read_refused_or_told(row, tmp_path, capsys):
    source, corpus = tmp_path / "source", tmp_path / "corpus"
    source.mkdir()
    code = called("import", *row.write(source), str(corpus))
    said = " ".join("".join(capsys.readouterr()).split())
    assert code in ((2,) if row.outcome == "refused" else (0, 1)), said
    assert re.search(row.says, said), said
    if row.outcome == "refused":
        assert not corpus.exists() or not any(corpus.iterdir())
    elif row.holds is not None:
        assert row.holds(Corpus.open(corpus))
