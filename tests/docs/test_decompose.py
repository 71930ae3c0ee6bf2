import doctest
import re
from pathlib import Path

import pytest

import decompose
from decompose.methods import Method
from tests.decompose.judging.test_llm import good
from tests.llm_client.openai_server import OpenAIServer, serving

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_page_s_python_runs(capsys):
    first, game, second = blocks("decompose.md")
    exec(first, {})
    assert capsys.readouterr().out.startswith("[1.")
    exec(game, {})
    assert capsys.readouterr().out == "[0.6 0.6 0.6] exact 8\n"
    names = {}
    exec(second, names)
    assert isinstance(names["LENGTH"], Method)


def test_the_python_page_s_code_runs(capsys, tmp_path):
    first, second = blocks("python.md")
    names = {}
    exec(first, names)
    assert capsys.readouterr().out.startswith("0 1.57 0.6588")
    with serving(OpenAIServer(answer=good)) as server:
        exec(second.replace("http://localhost:11434/v1", server.url), names)
        names["cache_file"] = tmp_path / "cache.sqlite"
        (found,) = names["rewards"]([(names["chat"], 4)])
    assert sum(turn.reward for turn in found.turns) == pytest.approx(4)


def test_the_package_s_example_is_true():
    assert doctest.testmod(decompose) == (0, 3)
