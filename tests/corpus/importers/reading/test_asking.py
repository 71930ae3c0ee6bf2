import io

import pytest

from apportion.corpus.importers.reading.asking import choose, nobody_asked


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("typed", "chosen"), [("2\n", "nps"), ("9\nx\n1\n", "csat"), ("\n", None), ("", None), ("7\n" * 9, None)]
)
def test_a_person_chooses_by_number(monkeypatch, capsys, typed, chosen):
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert choose("Which is it?", ["csat", "nps"]) == chosen


def test_nobody_is_asked_without_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))
    assert choose("Which is it?", ["csat", "nps"]) is None


def test_nobody_is_asked_where_all_is_to_be_taken_as_suggested(monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("1\n"))
    monkeypatch.setattr("sys.stderr", Terminal())
    with nobody_asked():
        assert choose("Which is it?", ["csat", "nps"]) is None
    assert choose("Which is it?", ["csat", "nps"]) == "csat"
