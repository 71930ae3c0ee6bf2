import io

from pipeline.engine.progress import StageProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO, **options) -> str:
    with StageProgress(stream=stream, **options) as progress:
        progress.warn("few sessions")
        progress.begin("judge", 3)
        progress.advance("judge", 2)
        progress.note("judge", "epoch 1")
        progress.advance("judge", 1)
        progress.end("judge", "3 done")
    return stream.getvalue()


def test_plain_lines_where_there_is_no_terminal():
    assert told(io.StringIO()) == "warning: few sessions\njudge: 3 done\n"


def test_a_live_bar_on_a_terminal():
    text = told(Terminal())
    assert "judge" in text and "3/3" in text and "3 done" in text


def test_nothing_when_quiet():
    assert told(io.StringIO(), quiet=True) == ""


def test_long_units_speak_now_and_then(monkeypatch):
    monkeypatch.setattr("pipeline.engine.progress.PLAIN_INTERVAL_S", 0.0)
    assert "judge: epoch 1\n" in told(io.StringIO())
