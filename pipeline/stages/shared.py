"""What the declarations of several stages have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from apportion.corpus.session import Session
from apportion.decompose.language_models import CALLED, cast_of
from apportion.decompose.method import Method, RolloutMethod, SessionMethod
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.prompt import load_prompt
from apportion.decompose.reward_models import reward_models
from apportion.environments.registry import asked_of
from apportion.foundation.errors import InputError, errors_called
from apportion.llm_client.transport.consent import who_reads
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import BeforeRun, Inputs, Unit
from apportion.pipeline.results.run_folder import CHOSEN


def method_of(unit: Unit) -> Method:
    """The method of a unit of a stage over methods."""
    return METHODS[name_of(unit)]


def session_method_of(unit: Unit) -> SessionMethod:
    """The method of a unit of a stage whose methods judge sessions."""
    method = method_of(unit)
    assert isinstance(method, SessionMethod), f"a unit of one session has a method of a corpus: {unit}"
    return method


def name_of(unit: Unit) -> str:
    """The name of that method."""
    assert unit.method is not None, f"a unit of a stage over methods has none: {unit}"
    return unit.method


def trained_models(config: Config) -> tuple[str, ...]:
    """The names of the reward models that the run trains, in the order of the methods that teach them."""
    model = config.train_reward
    return reward_models(config.decompose.methods, model.objective, model.teacher)


def seed_of(unit: Unit) -> int:
    """The seed of a unit of a stage over seeds."""
    assert unit.seed is not None, f"a unit of a stage over seeds has none: {unit}"
    return unit.seed


def has_episode(config: Config, unit: Unit, session: Session | None) -> bool:
    """Whether the unit's session has a score."""
    return session is not None and bool(session.episodes(config.rating))


def is_chosen(inputs: Inputs) -> bool:
    """Whether the unit's session is to be judged: it is where nothing was chosen."""
    chosen = inputs.artifacts("select-sessions")
    return not chosen or inputs.session.session_id in chosen[0].document(CHOSEN)


def chosen_count(inputs: Inputs) -> int | None:
    """How many sessions are to be judged for all; None where all are."""
    chosen = inputs.artifacts("select-sessions")
    return len(chosen[0].document(CHOSEN)) if chosen else None


def fix_threads(config: Config) -> None:
    """Let torch compute on as many threads as configured: a sum over another number of them has other bits."""
    import torch

    torch.set_num_threads(config.run.threads)


def wants_descriptors_or_features(unit: Unit, need: str) -> bool:
    """Whether the unit's method reads the behaviour in words (``need`` is "verbalize") or in numbers."""
    method = method_of(unit)
    return method.reads_descriptors if need == "verbalize" else method.reads_features


def asks(config: Config, unit: Unit, session: Session, root: Path) -> bool:
    """Whether judging a session by a unit's method asks a language model; ``root`` is the corpus' folder."""
    return method_of(unit).asks or bool(models_played(config, unit, session, root))


def models_played(config: Config, unit: Unit, session: Session, root: Path) -> tuple[str, ...]:
    """The language models that play ``session`` on or score it for the unit's method, as far as its environment says.

    Raises InputError: There is no such agent or judge as the configuration names.
    """
    method = method_of(unit)
    if not isinstance(method, RolloutMethod):
        return ()
    with errors_called(CALLED):
        return tuple(llm.model for llm in asked_of(session, root, cast_of(method, config.decompose)))


def requests_at_once(config: Config, unit: Unit, session: Session, root: Path) -> int:
    """How many units like this one may wait for the language model at once; 0 for one that asks none."""
    return config.decompose.llm.concurrency if asks(config, unit, session, root) else 0


def recorded_digest(config: Config) -> str | None:
    """sha256 of the file of recorded replies, None where replies are not recorded."""
    path = config.run.recorded
    if config.decompose.llm.provider != "recorded" or path is None or not path.is_file():
        return None
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_asking(before: BeforeRun) -> Iterator[str]:
    """Whether what the units ask could be asked now: the prompt, the key, consent, recorded replies."""
    config, sessions = before.config, before.sessions
    methods = {method_of(unit) for unit in before.units}
    models = dict.fromkeys(
        model
        for unit in before.units
        if unit.session_id is not None and isinstance(method_of(unit), RolloutMethod)
        for model in models_played(config, unit, sessions[unit.session_id], before.root)
    )
    if any(method.asks for method in methods):
        models[config.decompose.llm.model] = None
        load_prompt(config.decompose.llm.prompt)
    if not models:
        return
    try:
        before.tools.check(looks_only=not before.sends, models=tuple(models))
    except InputError as error:
        if before.sends:
            raise
        yield f"the run itself would stop: {error}"
    else:
        llm = config.decompose.llm
        if llm.provider == "openai" and llm.proxy_host is not None:
            yield f"text goes to {who_reads(llm)}"
