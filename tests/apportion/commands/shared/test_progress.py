import pytest

from apportion.commands.shared.progress import shown_progress
from apportion.pipeline.engine import progress as stages


@pytest.fixture(autouse=True)
def every_note(monkeypatch):
    monkeypatch.setattr(stages, "PLAIN_INTERVAL_S", -1.0)


def test_whole_units_are_told_once_each(capsys):
    with shown_progress("score", "sessions", False) as progress:
        progress(0, 2)
        progress(1, 2, "s1")
        progress(1.5, 2, "s1")
        progress(2, 2, "s2")
    assert capsys.readouterr().err.splitlines() == ["score: 1 of 2 sessions", "score: 2 of 2 sessions"]
