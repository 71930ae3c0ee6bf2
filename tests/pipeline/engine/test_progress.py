import io
import re

import pytest

from apportion.pipeline.engine.progress import StageProgress


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
    monkeypatch.setattr("apportion.pipeline.engine.progress.PLAIN_INTERVAL_S", 0.0)
    assert "judge: epoch 1\n" in told(io.StringIO())


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_a_long_note_leaves_names_bars_and_counts_whole(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    with StageProgress(stream=stream) as progress:
        for stage in ("train-reward", "align"):
            progress.begin(stage, 12)
            progress.reached(stage, 0, 4)
        progress.note("align", "4/25 PPO step 4: " + "reward 0.123, KL 0.06, 31.0 tokens, " * 4)
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]", stream.getvalue())]
    shown = {name: [line for line in lines if name in line][-1] for name in ("train-reward", "align")}
    assert all("━━━" in line and " 4/12 " in line for line in shown.values()), lines
    assert "4/25 PPO step 4: rewa" in shown["align"] and max(map(len, lines)) <= columns


def test_a_stage_whose_units_say_nothing_is_not_silent_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr("apportion.pipeline.engine.progress.PLAIN_INTERVAL_S", 0.0)
    stream = io.StringIO()
    with StageProgress(stream=stream) as progress:
        progress.begin("embed", 9)
        progress.reached("embed", 0, 2)
        progress.reached("embed", 1, 3)
        progress.reached("embed", 0, 1)  # older news, come late
        progress.begin("judge", 2)
        progress.pulse()
        progress.end("embed", "9 done")
        progress.pulse()
    told = stream.getvalue().splitlines()
    assert told == [
        "embed: 2 of 9", "embed: 5 of 9", "embed: 5 of 9", "embed: 5 of 9", "judge: 0 of 2", "embed: 9 done",
        "judge: 0 of 2",
    ]  # fmt: skip
