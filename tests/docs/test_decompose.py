import re
from pathlib import Path

import pytest

from apportion import decompose, llm_client
from apportion.corpus.session import Episode, Rating, Session, Turn
from apportion.decompose import Method, RolloutMethod
from tests.behaviour.simulating_method import Haggled
from tests.decompose.session_methods.test_llm import good
from tests.llm_client.openai_server import OpenAIServer, serving

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_page_s_python_runs(capsys):
    first, game, second, asking, playing = blocks("decompose.md")
    exec(first, {})
    assert capsys.readouterr().out.startswith("[1.")
    exec(game, {})
    assert capsys.readouterr().out == "[0.6 0.6 0.6] exact 8\n"
    names = {}
    exec(second, names)
    assert isinstance(names["LENGTH"], Method)
    exec(asking, names)
    assert names["KINDNESS"].asks
    exec(playing, names)
    assert isinstance(names["PLAYED"], RolloutMethod) and judged_by_the_page(names["judge"]) == [3.0, 5.0]


def judged_by_the_page(judge):
    """What the page's judge says of a seller who named 3 and 5, which are worth their sum."""
    turns = tuple(Turn(turn, "seller", f"I ask {amount}.") for turn, amount in enumerate((3, 5)))
    episode = Episode("s", turns, Rating("buyer", "seller", "goal", 8.0, 0.0, 16.0))
    played = Haggled(Session("s", turns, source="haggling"), None)
    return [round(judgement.value, 9) for judgement in judge(episode, None, None, None, played)]


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


@pytest.mark.parametrize("package", [decompose, llm_client])
def test_a_package_gives_every_name_that_it_announces(package):
    assert set(package.__all__) == set(package._HOMES)
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
