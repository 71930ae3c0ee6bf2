"""What is checked before any work: the corpus, and what each stage that would run asks for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from apportion.corpus.recordings.mirrored import named
from apportion.features.emotion_model.choice import resolve_emotion_model
from apportion.foundation.errors import InputError
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import Config
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.plan import check_choice
from apportion.pipeline.engine.stage import BeforeRun
from apportion.pipeline.shared_place import check_bucket


def check(config: Config, stages: Sequence[str] | None = None, *, sends: bool = True) -> tuple[str, ...]:
    """Check everything that can be known beforehand, for the given stages and what they need (all by default).

    ``sends`` is False where nothing will be sent: what requests would lack (a key, consent) is a warning then.

    Returns: Warnings about the corpus as a whole: no variance in the scores, too few sessions to tell methods apart;
    and those of the stages. Raises InputError: Nothing can be done: see
    ``apportion.pipeline.engine.load_corpus.take_in`` and the ``check`` of each stage (an unset key, a method that looks
    at faces where none is filmed, a model that does not load, an extra that is not installed).
    """
    check_output(config)
    check_bucket(config.run.store, writes=sends)
    engine = open_engine(config)
    # Every record names the model, whether or not a stage will read it.
    resolve_emotion_model(config.features.emotion_model)
    plan = engine.plan
    wanted = list(stages or plan.stages)
    if all(name in plan.left_out for name in wanted):
        raise InputError("; ".join(f"{name}: left out, since {plan.left_out[name]}" for name in wanted) + ".")
    names = plan.leading_to(wanted)
    check_choice(plan, names)
    warnings: list[str] = [*engine.facts["warnings"](engine)]
    for name in names:
        stage = plan.stages[name]
        tools = engine.tools if stage.asks else None
        before = BeforeRun(
            config, engine.corpus.root, engine.sessions, plan.units[name], tools, sends,
            rating=engine.config.rating, finished=partial(_is_finished, engine, name),
        )  # fmt: skip
        warnings += stage.check(before)
    # Two stages can say the same: both ask the model.
    return tuple(dict.fromkeys(warnings))


def check_output(config: Config) -> None:
    """Raise InputError where the run folder and the corpus are one, or one lies in the other.

    Of a bucket: where whoever empties the run's part of it would delete the corpus.
    """
    if (store := config.run.store) is not None and f"{named(config.corpus)}/".startswith(f"{store}/"):
        raise InputError(
            f"run.store = {store!r}: the corpus {named(config.corpus)} lies there, and to start afresh is to empty it. "
            "Set run.store to a folder beside the corpus."
        )
    output, corpus = config.output.resolve(), config.corpus.resolve()
    if output == corpus:
        where = "the corpus itself, whose tables a run would write over"
    elif output.is_relative_to(corpus):
        where = f"inside the corpus {config.corpus}"
    elif corpus.is_relative_to(output):
        where = f"around the corpus {config.corpus}, so that deleting the run would delete it"
    else:
        return
    raise InputError(f"output = '{config.output}': {where}. Set output to a folder beside the corpus.")


def _is_finished(engine: Engine, stage: str) -> bool:
    with engine.keys_forgotten():
        return len(engine.finished(stage)) == len(engine.plan.units[stage])
