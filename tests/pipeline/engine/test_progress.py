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
    assert told(io.StringIO()).splitlines()[1:] == ["judge: 2 of 3, epoch 1", "judge: 3 done"]


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


def test_plain_lines_tell_what_is_new_and_how_long_the_rest_takes(monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr("apportion.pipeline.engine.progress.time.monotonic", lambda: seconds[0])
    stream = io.StringIO()
    with StageProgress(stream=stream) as progress:
        progress.begin("embed", 9000, "sessions")
        progress.begin("judge", 2)
        for now, shard, units in ((20, 0, 2000), (40, 1, 3000), (60, 0, 1000)):  # the last is older news, come late
            seconds[0] = now
            progress.reached("embed", shard, units)
        for now in (70, 101, 120):  # nothing new: told after a minute
            seconds[0] = now
            progress.pulse()
        progress.end("embed", "9000 done")
        seconds[0] = 181
        progress.pulse()
    assert stream.getvalue().splitlines() == [
        "embed: 2,000 of 9,000 sessions", "embed: 5,000 of 9,000 sessions, 27 s to go",
        "embed: 5,000 of 9,000 sessions, 1 min 48 s to go", "embed: 9000 done", "judge: 0 of 2",
    ]  # fmt: skip
