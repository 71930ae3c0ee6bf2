"""What docs/start.md shows of `apportion start` is what it says; a line of three dots stands for lines left out."""

import io
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from tests.apportion.called import called
from tests.apportion.commands.start_inputs import INPUTS
from tests.behaviour.command import threads
from tests.docs.pages import fenced

BLOCKS = [block for block in fenced("docs/start.md", "text") if block.startswith("apportion start ")]


class Typist(io.StringIO):
    """Answers by the first choice, or names the score; shows what is typed as a terminal does."""

    def readline(self, *size):
        answer = "satisfaction\n" if sys.stderr.getvalue().endswith("[score]: ") else "1\n"
        sys.stderr.write(answer)
        return answer


def terminal(monkeypatch, arguments):
    """All that `apportion ARGUMENTS` shows."""
    monkeypatch.setattr("apportion.pipeline.execution.runner._process_pool", threads)
    monkeypatch.setattr("apportion.corpus.importers.reading.asking.is_answered", lambda: "--yes" not in arguments)
    monkeypatch.setattr("sys.stdin", Typist())
    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        called(*arguments)
    return shown.getvalue()


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0].partition("start ")[2])
def test_the_page_shows_what_the_terminal_shows(block, tmp_path, monkeypatch):
    command, _, page = block.partition("\n")
    arguments = shlex.split(command)[1:]
    INPUTS[arguments[1].rstrip("/")](tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = terminal(monkeypatch, arguments)
    pattern = ".*?".join(map(re.escape, re.split(r"^\.\.\.\n", page, flags=re.MULTILINE)))
    assert re.fullmatch(pattern, shown, flags=re.DOTALL), shown


def test_every_kind_of_input_is_shown():
    assert [shlex.split(block.partition("\n")[0])[2].rstrip("/") for block in BLOCKS] == list(INPUTS)
