"""Sessions of `simulate sotopia` find their environment again and are played on."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.environments.collect_episodes import play
from apportion.environments.registry import identity_of, maker_of, open_session
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import LOG, SimulationChoice
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.sources.space import TaskSpace
from apportion.environments.sotopia.sources.task_file import written
from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply
from tests.environments.models import nobody
from tests.environments.sotopia.test_simulation import talks
from tests.llm_client.openai_server import OpenAIServer, serving

CHOICE = SimulationChoice(
    ("conceding", "random"), ("used_bicycle", "surprise_party"), pairs=2, rules=Rules("paper", 14), seed=3
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("simulator") / "play"
    write_corpus(CHOICE, out)
    return out


def sessions(folder: Path) -> list[Session]:
    return list(Corpus.open(folder).iter_sessions())


def test_every_session_is_found_again_and_scored_as_it_was(folder: Path) -> None:
    for session in sessions(folder):
        maker = maker_of(session, folder)
        assert maker is not None and maker[0] == "sotopia"
        restored = open_session(session, folder, nobody)
        assert len(restored.places) == len(session.turns)
        for rating in session.ratings:
            ending = restored.as_it_stands(rating.target, restored.turns_of(rating.target))
            assert ending.scores[rating.name] == rating.score
        game = restored.before_turn(min(1, len(session.turns) - 1))
        assert game.rules == CHOICE.rules
        play(game, restored.agents)
        assert game.steps == list(restored.steps)  # Same task, seed and agents: the same words again.


def test_its_identity_is_plain_json_and_changes_with_what_was_done(folder: Path, tmp_path: Path) -> None:
    session = sessions(folder)[0]
    identity = identity_of(session, folder)
    assert json.loads(json.dumps(identity)) == identity and identity["simulator"] == "sotopia"
    assert identity == identity_of(session, folder)
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder, moved)
    assert identity_of(session, moved) == identity
    write_corpus(replace(CHOICE, seed=4), moved, overwrite=True)
    other = next(one for one in sessions(moved) if one.session_id == session.session_id)
    assert identity_of(other, moved) != identity
    assert identity_of(replace(session, source="a notebook"), folder) is None
    assert identity_of(replace(session, source=None), folder) is None


def test_others_play_on_where_they_are_named(folder: Path) -> None:
    session = next(one for one in sessions(folder) if "conceding and conceding" in one.source)
    target = session.turns[0].speaker
    usual = SIMULATOR.restore(session, folder, nobody)
    named = SIMULATOR.restore(session, folder, nobody, agents={target: "random"})
    assert usual.play_on(target, (), range(9)) != named.play_on(target, (), range(9))
    with pytest.raises(InputError, match="no agent 'nobody'"):
        SIMULATOR.restore(session, folder, nobody, agents={target: "nobody"})
    with pytest.raises(UnitError, match="nobody is called 'Nobody'"):
        SIMULATOR.restore(session, folder, nobody, agents={"Nobody": "random"})


def test_language_models_play_on_by_what_the_run_lends(tmp_path: Path) -> None:
    with serving(OpenAIServer(answer=talks)) as server:
        chosen = ModelSpec("m", base_url=server.url)
        choice = SimulationChoice(("base",), ("used_bicycle",), pairs=1, chosen=chosen, temperature=0.5)
        write_corpus(choice, tmp_path / "play")
    (session,) = sessions(tmp_path / "play")
    asked = []

    def lent(request):
        asked.append(request)
        return ChatReply(json.dumps({"act": "leave", "text": ""}), request.model)

    restored = SIMULATOR.open(session, tmp_path / "play", lent)
    target = session.turns[0].speaker
    assert [ending.acts for ending in restored.play_on(target, (), (0, 1))] == [1, 1]
    assert [(one.model, one.temperature) for one in asked] == [("m", 0.5)] * 2
    assert asked[0].sample != asked[1].sample
    (tmp_path / "play" / "import.json").write_text("no JSON")
    SIMULATOR.open(session, tmp_path / "play", lent).play_on(target, (), (0,))
    assert asked[-1].temperature == 1.0


def test_a_task_that_is_not_bundled_is_in_the_log_and_found_there(tmp_path: Path) -> None:
    task = bundled_tasks.tasks(pairs=1)[0]
    own = replace(task, scenario=replace(task.scenario, name="our_own", goals=("sell dear", "buy cheap")))
    file = tmp_path / "own.toml"
    file.write_text(written(TaskSpace("own", own.characters, (), (own.scenario,), (own,))))
    write_corpus(SimulationChoice(tasks=file), tmp_path / "play")
    file.unlink()
    (session,) = sessions(tmp_path / "play")
    assert SIMULATOR.open(session, tmp_path / "play", nobody).begun.task == own


def test_what_cannot_be_opened_is_told_and_has_an_identity_still(folder: Path, tmp_path: Path) -> None:
    session = sessions(folder)[0]

    def opened(change) -> str:
        place = tmp_path / "changed"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(folder, place)
        change(place / LOG)
        with pytest.raises(UnitError) as told:
            SIMULATOR.open(session, place, nobody)
        return str(told.value)

    def edited(old: str, new: str):
        return lambda log: log.write_text(log.read_text().replace(old, new))

    def without(log: Path) -> None:
        lines = log.read_text().splitlines(keepends=True)
        log.write_text("".join(line for line in lines if session.session_id not in line))

    assert "is not there, which holds what was played" in opened(Path.unlink)
    assert "line 1: no line of an episode log" in opened(lambda log: log.write_text("nonsense\n"))
    assert "holds no episode of this name" in opened(without)
    assert "no bundled scenario 'surprise_parties'" in opened(edited('"surprise_party"', '"surprise_parties"'))
    assert "unexpected keyword" in opened(edited('"most_silent"', '"most_quiet"'))
    said = session.turns[0].text
    assert "turn 0: the log has other words than the corpus" in opened(edited(said, "Something else."))
    missing = tmp_path / "missing"
    missing.mkdir()
    assert identity_of(session, missing)["identity"]["episode"] is None
    shorter = replace(session, turns=session.turns[:-1])
    with pytest.raises(UnitError, match=r"\d+ turns, and \d+ in the log"):
        SIMULATOR.open(shorter, folder, nobody)


def test_an_agent_that_is_gone_is_told_when_it_is_asked(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "play"
    shutil.copytree(folder, place)
    log = place / LOG
    log.write_text(log.read_text().replace('"conceding"', '"Mia at the keyboard"'))
    session = next(one for one in sessions(place) if "conceding and random" in one.source)
    restored = SIMULATOR.open(session, place, nobody)
    target = session.turns[0].speaker
    assert restored.as_it_stands(target, restored.turns_of(target)).scores
    with pytest.raises(UnitError, match=r"cannot play on: no agent 'Mia at the keyboard'.* Name another agent"):
        restored.play_on(target, (), (0,))
    assert restored.played_by({target: restored.agents[session.turns[1].speaker]}).play_on(target, (), (0,))
