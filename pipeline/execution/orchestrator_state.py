"""What was decided when a run under an orchestrator began, for its tasks on other machines.

Machines may hold different files (the face mesh here, none there), and tasks load the configuration anew. What the
first task has decided lies in the run folder or bucket that all of them share; those after it obey.
"""

from __future__ import annotations

import json
from typing import get_args

from apportion.features.settings import AUTO, AutoDetector
from apportion.foundation.errors import InputError
from apportion.pipeline.assembly import decided
from apportion.pipeline.config import Config
from apportion.pipeline.shared_place import shared_place

FILE = "decided.json"


def decide(config: Config) -> None:
    """Decide by the files of this machine, and leave it in the run folder for the tasks that follow.

    Raises ``InputError`` where the run folder cannot be written.
    """
    chosen = decided(config).features.auto_detector
    try:
        shared_place(config.run.store, config.output).write(FILE, json.dumps({"auto_detector": chosen}) + "\n")
    except OSError as error:
        raise InputError(
            f"{config.output / FILE}: cannot be written ({error.strerror}). Set `output` to a folder of yours."
        ) from None


def as_decided(config: Config) -> Config:
    """The configuration as `decide` left it; where nobody has decided yet, by the files of this machine.

    Raises ``InputError`` for a record that cannot be read.
    """
    if config.features.detector != AUTO:
        return config
    chosen = _read(config)
    if chosen is None:
        return decided(config)
    return config.changed("features", auto_detector=chosen)


def _read(config: Config) -> AutoDetector | None:
    path = f"{config.run.store or config.output}/{FILE}"
    try:
        content = shared_place(config.run.store, config.output).read(FILE)
        if content is None:
            return None
        chosen: AutoDetector | None = json.loads(content)["auto_detector"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}). Delete it and start the run again.") from None
    if chosen is not None and chosen not in get_args(AutoDetector):
        raise InputError(f"{path}: auto_detector = {chosen!r}. Delete it and start the run again.")
    return chosen
