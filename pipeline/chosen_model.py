"""The reward model of a run that stands for it: the one that its policy is, or would be, trained against."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from apportion.foundation.errors import InputError
from apportion.pipeline.config import Config
from apportion.pipeline.results.run_folder import read_record

MODELS = "reward_models"
"""The folder of reward models in a run's."""


def chosen_model(source: Path) -> Path:
    """The folder of the reward model that ``source`` means: itself, or of a run's folder the run's own choice.

    That is the model of `apportion.pipeline.stages.align.aligned_method` with the first seed, or the only one there is.
    Raises InputError: no such folder, neither a run's nor a model's, a run without the model that it chooses.
    """
    if not source.is_dir():
        raise InputError(f"{source}: no such folder. Name a run's, or a reward model's (RUN/{MODELS}/METHOD-seedN).")
    if (source / "run.json").is_file():
        return _of_run(source)
    if not (source / "config.json").is_file():
        raise InputError(
            f"{source}: neither a run's folder (run.json) nor a reward model's (config.json). Make a run with "
            f"`apportion run CONFIG`, or name one of RUN/{MODELS}."
        )
    return source


def _of_run(run: Path) -> Path:
    from apportion.pipeline.stages.align import aligned_method

    record = read_record(run)
    context = {"checked": (), "base": run, "source": str(run / "run.json")}
    found = sorted(path for path in (run / MODELS).glob("*") if path.is_dir())
    if not found:
        raise InputError(f"{run}: the run has no reward model. Train one: apportion run CONFIG --only train-reward.")
    try:
        config = Config.model_validate({**record["config"], "corpus": "."}, context=context)
        chosen = run / MODELS / f"{aligned_method(config)}-seed{config.seeds[0]}"
    except (
        ValidationError,
        InputError,
        KeyError,
    ):  # A run of another version; what it trained may be read all the same.
        chosen = found[0]
        if len(found) > 1:
            raise InputError(
                f"{run / 'run.json'}: made by another version, so its choice of reward model is not known. Name one: "
                f"{', '.join(map(str, found))}."
            ) from None
    if chosen in found or len(found) == 1:
        return chosen if chosen in found else found[0]
    raise InputError(
        f"{run}: the run's choice, {chosen.name}, is not trained. Run `apportion run CONFIG --only train-reward`, or "
        f"name one: {', '.join(map(str, found))}."
    )
