import pytest

from apportion import decompose, llm_client
from apportion.corpus import import_to
from apportion.corpus.session import Episode, Rating, Session, Turn
from tests.behaviour.simulating_method import Haggled
from tests.decompose.session_methods.test_llm import good
from tests.docs.pages import fenced
from tests.llm_client.openai_server import OpenAIServer, serving


def test_one_conversation(capsys, tmp_path):
    first, second = fenced("docs/guides/chats.md", "python")
    names = {}
    exec(first, names)
    assert capsys.readouterr().out.startswith("0 1.57 0.6588")
    with serving(OpenAIServer(answer=good)) as server:
        exec(second.replace("http://localhost:11434/v1", server.url), names)
        names["cache_file"] = tmp_path / "cache.sqlite"
        (found,) = names["rewards"]([(names["chat"], 4)])
    assert sum(turn.reward for turn in found.turns) == pytest.approx(4)


def test_shapley_values_of_a_game(capsys):
    (game,) = fenced("docs/explanations/decompose.md", "python")
    exec(game, {})
    assert capsys.readouterr().out == "[0.6 0.6 0.6] exact 8\n"


def test_a_study_s_statistics(capsys):
    (block,) = fenced("docs/explanations/statistics.md", "python")
    exec(block, {})
    assert capsys.readouterr().out.startswith("0.5 ")


def test_a_reward_of_one_s_own():
    (block,) = fenced("docs/guides/reward-model-and-alignment.md", "python")
    exec(block, names := {})
    assert names["SHORT"].name == "short" and names["Short"](None, None)([None], [""], ["four"]) == [-0.04]


def test_an_importer_of_a_package(tmp_path, monkeypatch):
    importer, *_ = fenced("docs/guides/extend.md", "python")
    exec(importer, names := {"__name__": __name__})
    monkeypatch.setattr("apportion.corpus.importers.registry.find_importer", lambda kind: names["import_corpus"])
    (tmp_path / "a.log").write_text("ann: Is there a train?\n(a pause)\nbob: At nine.\n")
    report = import_to("mylogs", tmp_path / "a.log", tmp_path / "corpus")
    assert [(line.what, line.read, line.kept) for line in report.account] == [
        ("dialogues", 1, 1),
        ("turns", 3, 2),
        ("words", 6, 6),
    ]


def test_methods_of_a_package():
    _, length, asking, playing = fenced("docs/guides/extend.md", "python")
    names = {}
    exec(length, names)
    assert isinstance(names["LENGTH"], decompose.Method)
    exec(asking, names)
    assert names["KINDNESS"].asks
    exec(playing, names)
    turns = tuple(Turn(turn, "seller", f"I ask {amount}.") for turn, amount in enumerate((3, 5)))
    episode = Episode("s", turns, Rating("buyer", "seller", "goal", 8.0, 0.0, 16.0))
    played = Haggled(Session("s", turns, source="haggling"), None)
    judged = names["judge"](episode, None, None, None, played)
    assert [round(score.value, 9) for score in judged] == [3.0, 5.0]


@pytest.mark.parametrize("package", [decompose, llm_client])
def test_a_package_gives_every_name_that_it_announces(package):
    with pytest.raises(AttributeError, match=f"; it has {', '.join(sorted(package.__all__))}$"):
        package.nothing  # noqa: B018
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
