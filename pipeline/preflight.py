"""What is checked before any work: the corpus, and what each stage that would run asks for."""

from __future__ import annotations

from collections.abc import Sequence

from features.emotion_model.choice import resolve_emotion_model
from pipeline.assembly import open_engine
from pipeline.config import Config
from pipeline.engine.stage import BeforeRun


def check(config: Config, stages: Sequence[str] | None = None, *, sends: bool = True) -> tuple[str, ...]:
    """Check everything that can be known beforehand, for the given stages and what they need (all by default).

    ``sends`` is False where nothing will be sent: what requests would lack (a key, consent) is a warning then.

    Returns
    -------
    tuple of str
        Warnings about the corpus as a whole: no variance in the scores, too few sessions to tell methods apart; and
        those of the stages.

    Raises
    ------
    InputError
        Nothing can be done: see ``pipeline.engine.intake.take_in`` and the ``check`` of each stage (an unset key, a
        method that looks at faces where none is filmed, a model that does not load, an extra that is not installed).
    """
    engine = open_engine(config)
    # Every record names the model, whether or not a stage will read it.
    resolve_emotion_model(config.features.emotion_model)
    names = {name for stage in stages or engine.plan.stages for name in engine.plan.upstream(stage)}
    warnings: list[str] = [*engine.facts["warnings"](engine)]
    for name, stage in engine.plan.stages.items():
        if name in names:
            # As it was given, not the engine's copy: of that, every setting counts as set.
            before = BeforeRun(
                config, engine.corpus.root, engine.sessions, engine.plan.units[name], engine.tools, sends
            )
            warnings += stage.check(before)
    # Two stages can say the same: both ask the model.
    return tuple(dict.fromkeys(warnings))
