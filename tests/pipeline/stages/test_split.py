"""What the stage `split` tells before any work, and what makes its work stale."""

from dataclasses import replace
from pathlib import Path

import pytest

from apportion.corpus.session import Rating, Session, Turn
from apportion.corpus.splits.splits import split_sessions
from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import BeforeRun, Unit
from apportion.pipeline.stages.decompose import FIT
from apportion.pipeline.stages.reward_model import TRAIN_REWARD
from apportion.pipeline.stages.split import SPLIT


def config(by: str) -> Config:
    return Config.model_validate({"corpus": "c", "rating": "mood", "split": {"by": by}})


def talk(name: str, first: str, second: str) -> Session:
    turns = (Turn(0, first, "hi"), Turn(1, second, "hello"))
    return Session(name, turns, (Rating(first, second, "mood", 3.0, 1.0, 5.0),))


def test_sessions_that_a_split_by_person_loses_are_told_before_any_work():
    everybody = Session("u", tuple(Turn(i, f"a{i}", "hi all") for i in range(10)))
    sessions = [*(talk(f"s{i}", f"a{i}", f"b{i}") for i in range(10)), everybody]
    before = BeforeRun(config("person"), Path(), {s.session_id: s for s in sessions}, (Unit(),), rating="mood")
    (told,) = SPLIT.check(before)
    assert told.startswith("split by person: 1 of 1 unrated sessions join persons of two splits and are left out")
    assert not list(SPLIT.check(BeforeRun(config("session"), Path(), before.sessions, (Unit(),), rating="mood")))


def test_a_pilot_trains_with_all_its_sessions_unless_something_learns():
    few = {name: talk(name, "ann", "bob") for name in ("s1", "s2")}
    before = BeforeRun(config("session"), Path(), few, (Unit(),), rating="mood")
    assert list(SPLIT.check(before)) == ["too few sessions to hold any back (2): all of them train"]
    table = split_sessions(tuple(few.values()), before.config.split, "mood", few=True).table
    assert set(table.column("split").to_pylist()) == {"train"}
    for stage, units in ((TRAIN_REWARD, (Unit(method="llm"),)), (FIT, (Unit(method="rrd"),))):
        with pytest.raises(InputError, match="2 rated sessions cannot be shared out"):
            list(stage.check(replace(before, units=units)))
    assert not list(TRAIN_REWARD.check(replace(before, units=())))


def test_the_key_of_a_split_by_session_is_what_it_was():
    assert SPLIT.settings(config("session"), Unit()).keys() == {"rating", "split"}
    assert SPLIT.settings(config("person"), Unit())["unrated"] == "joined"
