"""The engine on toy stages: keys, reuse, failures that stop nothing else, and errors that stop everything."""

import errno
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import TURN_LABELS
from apportion.corpus.session import Rating, Session, Turn
from apportion.foundation.errors import InputError, UnitError
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.plan import Plan
from apportion.pipeline.engine.stage import Outputs, Stage, Stages, Unit

CALLS: Counter[str] = Counter()


def session(name: str, text: str = "hello") -> Session:
    return Session(name, (Turn(0, "a", text), Turn(1, "b", "hi")), (Rating("b", "a", "mood", 3.0, 1.0, 5.0),))


def measure(inputs, config, work):
    CALLS[f"measure {inputs.session.session_id}"] += 1
    if inputs.session.turns[0].text == "broken":
        raise UnitError("the recording is truncated")
    if inputs.session.turns[0].text == "odd":
        raise ZeroDivisionError("by zero")
    return Outputs({"sizes": pa.table({"n": [len(inputs.session.turns[0].text)]})})


def total(inputs, config, work):
    CALLS["total"] += 1
    (work.out / "note.txt").write_text("a file")
    return Outputs(documents={"sum": sum(inputs.table("measure", "sizes").column("n").to_pylist())})


def last(inputs, config, work):
    CALLS["last"] += 1
    return Outputs()


STAGES = (
    Stage("measure", measure, needs=(), per="session", settings=lambda c, u: {"gain": c.gain}),
    Stage("total", total, needs=("measure",), per="corpus"),
    Stage("last", last, needs=("total",), per="corpus"),
)


def engine(tmp_path, sessions, stages=STAGES, gain=1) -> Engine:
    chosen = {"run": SimpleNamespace(sessions=None, store=None), "decompose": SimpleNamespace(methods=("uniform",))}
    config = SimpleNamespace(store=tmp_path, llm_cache=tmp_path / "no.sqlite", gain=gain, seeds=(0,), **chosen)
    corpus = Corpus.of(tmp_path, {})
    by_id = {s.session_id: s for s in sessions}
    return Engine(config, corpus, by_id, Plan(Stages.of(*stages), config, by_id))


def run_all(engine: Engine) -> dict[str, str]:
    CALLS.clear()
    outcomes = [
        engine.run(stage, unit, lambda *a: None)
        for stage in engine.plan.stages.values()
        for unit in engine.plan.units[stage.name]
    ]
    return {f"{o.stage} {o.unit.session_id or ''}".strip(): o.status for o in outcomes}


def test_every_unit_is_made_once_and_then_reused(tmp_path):
    sessions = [session("s1"), session("s2", "abc")]
    assert set(run_all(engine(tmp_path, sessions)).values()) == {"done"}
    assert CALLS == {"measure s1": 1, "measure s2": 1, "total": 1, "last": 1}
    again = engine(tmp_path, sessions)
    assert set(run_all(again).values()) == {"reused"}
    assert not CALLS
    assert again.artifact("total", Unit()).document("sum") == 8
    assert (again.artifact("total", Unit()).folder / "note.txt").read_text() == "a file"


def test_only_what_depends_on_a_changed_session_is_done_again(tmp_path):
    run_all(engine(tmp_path, [session("s1"), session("s2")]))
    run_all(engine(tmp_path, [session("s1"), session("s2", "longer")]))
    assert CALLS == {"measure s2": 1, "total": 1, "last": 1}


def test_an_unchanged_output_leaves_what_follows_valid(tmp_path):
    run_all(engine(tmp_path, [session("s1", "abc")]))
    run_all(engine(tmp_path, [session("s1", "xyz")]))
    assert CALLS["measure s1"] == 1
    # "total" reads the sessions too, so it runs; its output is the same, and "last" reads sessions as well.
    narrow = tuple(
        Stage(s.name, s.fn, s.needs, s.per, reads=("turns",) if s.name == "measure" else (), settings=s.settings)
        for s in STAGES
    )
    run_all(engine(tmp_path / "narrow", [session("s1", "abc")], narrow))
    run_all(engine(tmp_path / "narrow", [session("s1", "xyz")], narrow))
    assert CALLS == {"measure s1": 1}


def test_changed_settings_and_versions_change_the_key(tmp_path):
    one = engine(tmp_path, [session("s1")])
    other = engine(tmp_path, [session("s1")], gain=2)
    newer = engine(tmp_path, [session("s1")], (Stage("measure", measure, (), "session", version=2),))
    unit = Unit("s1")
    assert len({e.key("measure", unit) for e in (one, other, newer)}) == 3


def test_one_failure_is_recorded_and_stops_nothing_else(tmp_path):
    e = engine(tmp_path, [session("s1"), session("s2", "broken"), session("s3", "odd")])
    assert run_all(e) == {
        "measure s1": "done",
        "measure s2": "failed",
        "measure s3": "failed",
        "total": "done",
        "last": "done",
    }
    causes = {o.unit.session_id: o.cause for o in e.failures()}
    assert causes["s2"] == "the recording is truncated"
    assert causes["s3"].startswith("ZeroDivisionError: by zero (at test_engine.py:")
    assert e.artifact("total", Unit()).document("sum") == 5


def test_units_with_nothing_left_to_work_on_are_blocked_and_say_by_what(tmp_path):
    e = engine(tmp_path, [session("s1", "broken")])
    assert run_all(e) == {"measure s1": "failed", "total": "blocked", "last": "blocked"}
    assert "needs measure (s1)" in next(o.cause for o in e.failures() if o.stage == "total")


def test_what_is_made_after_its_own_failure_is_found_again(tmp_path):
    """A report that tells failures must not be lost because it was itself blocked before."""
    stages = (*STAGES[:2], Stage("last", last, needs=("total",), per="corpus", facts=("quarantine",)))

    def made(*sessions):
        e = engine(tmp_path, sessions, stages)
        e.facts = {"quarantine": lambda e: [{"stage": o.stage, "cause": o.cause} for o in e.failures()]}
        return e

    assert run_all(made(session("s1", "broken")))["last"] == "blocked"
    assert run_all(made(session("s1", "fine")))["last"] == "done"
    assert made(session("s1", "fine")).artifact("last", Unit()) is not None
    # The failures of others are a part of what it reads.
    assert run_all(made(session("s1", "fine"), session("s2", "broken")))["last"] == "done"


def test_a_mended_session_is_no_longer_in_quarantine(tmp_path):
    run_all(engine(tmp_path, [session("s1", "broken")]))
    e = engine(tmp_path, [session("s1", "fine")])
    run_all(e)
    assert e.failures() == []


@pytest.mark.parametrize(
    ("number", "message"), [(errno.ENOSPC, "no space left on the disk"), (errno.EACCES, "no permission to write")]
)
def test_a_full_or_closed_disk_ends_the_run(tmp_path, number, message):
    def fails(inputs, config, work):
        raise OSError(number, "the system's own words", str(tmp_path))

    e = engine(tmp_path, [session("s1")], (Stage("measure", fails, (), "session"),))
    with pytest.raises(InputError, match=message):
        run_all(e)
    assert not any((tmp_path / "tmp").iterdir())


def test_another_disk_fault_is_one_units_failure(tmp_path):
    def fails(inputs, config, work):
        raise OSError(errno.EIO, "input/output error")

    e = engine(tmp_path, [session("s1")], (Stage("measure", fails, (), "session"),))
    assert run_all(e) == {"measure s1": "failed"}


def test_an_unset_key_ends_the_run(tmp_path):
    def fails(inputs, config, work):
        raise InputError("OPENAI_API_KEY is not set")

    e = engine(tmp_path, [session("s1")], (Stage("measure", fails, (), "session"),))
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        run_all(e)


def test_turn_labels_reach_only_a_stage_that_declares_them(tmp_path):
    seen = {}

    def look(inputs, config, work):
        seen[inputs.unit] = inputs.turn_labels
        return Outputs()

    stages = (
        Stage("measure", look, (), "session"),
        Stage("total", look, ("measure",), "corpus", turn_labels=lambda config: True),
    )
    run_all(engine(tmp_path, [session("s1")], stages))
    assert seen[Unit("s1")] is None
    assert seen[Unit()] is not None


def test_checkpoints_outlive_a_failure_and_go_when_the_unit_is_finished(tmp_path):
    seen = []

    def train(inputs, config, work):
        seen.append(sorted(path.name for path in work.checkpoints.glob("*")))
        work.checkpoints.mkdir(parents=True, exist_ok=True)
        (work.checkpoints / f"step-{len(seen)}").write_text("state")
        if len(seen) < 3:
            raise UnitError("stopped")
        return Outputs()

    stages = (Stage("train", train, needs=(), per="corpus"),)
    for status in ("failed", "failed", "done", "reused"):
        made = engine(tmp_path, [session("s1")], stages)
        kept = made.store.checkpoints("train", made.key("train", Unit()))
        if status == "reused":
            # A kill between the last two acts of a unit, the rename of its artifact and this, leaves them behind.
            kept.mkdir(parents=True)
        assert run_all(made) == {"train": status}
        assert kept.exists() == (status == "failed")
    assert seen == [[], ["step-1"], ["step-1", "step-2"]]


def test_where_several_others_are_told_apart_what_was_made_before_is_made_anew(tmp_path):
    def key(told_apart, *speakers):
        turns = tuple(Turn(number, who, "hello") for number, who in enumerate(speakers))
        stage = Stage("measure", measure, needs=(), per="session", tells_others_apart=told_apart)
        return engine(tmp_path, [Session("s", turns)], (stage,)).key("measure", Unit("s"))

    assert key(True, "a", "b", "a") == key(False, "a", "b", "a")
    assert key(True, "a", "b", "c") != key(False, "a", "b", "c")


def test_an_evaluation_with_computed_labels_is_made_anew_and_others_keep_their_keys(tmp_path, monkeypatch):
    contents = []
    monkeypatch.setattr("apportion.pipeline.engine.engine.digest", lambda content: contents.append(content) or "key")

    def parts(*annotators):
        rows = [{"session_id": "s1", "turn": 0, "annotator": by, "name": "q", "value": 1.0} for by in annotators]
        made = engine(tmp_path, [session("s1")], (replace(STAGES[0], turn_labels=lambda config: True),))
        made.corpus = Corpus.of(tmp_path, {"turn_labels": pa.Table.from_pylist(rows, schema=TURN_LABELS.arrow)})
        made.key("measure", Unit("s1"))
        return set(contents[-1])

    assert parts("ann", "computed:rules") - parts("ann", None) == {"computed_labels"}


def test_a_unit_that_another_is_making_is_waited_for_and_reused(tmp_path):
    one, other = (engine(tmp_path, [session("s1")]) for _ in range(2))
    stage, unit = one.plan.stages["measure"], Unit("s1")
    assert not other.is_made_elsewhere("measure", unit) and not other.is_made_elsewhere("total", Unit())
    CALLS.clear()
    with ThreadPoolExecutor(1) as pool, one.leases.hold(one.key("measure", unit)):
        assert other.is_made_elsewhere("measure", unit)
        waiting = pool.submit(other.run, stage, unit, lambda *a: None)
        time.sleep(0.1)
        one._make(stage, unit, one.key("measure", unit), lambda *a: None, {})
        assert not waiting.done()
    assert waiting.result().status == "reused" and CALLS["measure s1"] == 1
    assert not other.is_made_elsewhere("measure", unit)
