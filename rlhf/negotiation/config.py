"""A training of negotiators as a TOML file: read, held to its settings, and carried out."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from apportion.corpus.files.textfile import read_text
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, locked, make_folder
from apportion.foundation.progress import Progress
from apportion.foundation.settings import problems
from apportion.rlhf.negotiation.datasets import material_of
from apportion.rlhf.negotiation.experiment import Experiment, Row, check_expert
from apportion.rlhf.negotiation.settings import NegotiatorSettings


@dataclass(frozen=True)
class TrainedNegotiators:
    """What a training has left: the agents' folders, a seed each, and the figures of every epoch."""

    agents: tuple[Path, ...]
    rows: tuple[Row, ...]

    @property
    def last(self) -> list[Row]:
        """Alice's figures after the last epoch, a seed each."""
        last = max(row.epoch for row in self.rows)
        return [row for row in self.rows if row.epoch == last and row.who == "alice"]


def read_settings(path: Path) -> NegotiatorSettings:
    """The settings of a file; paths in it count from its folder.

    Raises InputError: It cannot be read, is no TOML, or a setting is unknown or out of range.
    """
    try:
        settings = NegotiatorSettings.model_validate(tomllib.loads(read_text(path, allow_empty=True)))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}. Correct that line.") from None
    except ValidationError as error:
        raise InputError(f"{path}: {'; '.join(problems(error))}.") from None
    check_expert(settings.acquisition.expert)
    here = path.resolve().parent
    data = settings.data
    if data.dialogues is not None:
        data = data.model_copy(update={"dialogues": here / data.dialogues})
    return settings.model_copy(update={"output": here / settings.output, "data": data})


def train_negotiators(settings: NegotiatorSettings, progress: Progress) -> TrainedNegotiators:
    """Train all seeds of one method, or go on with it; what is finished already is not done again.

    Raises InputError: The data cannot be used; the output is no folder or cannot be made, holds another training, or
    another process trains there. Raises UnansweredError: The expert is a person, and has questions to answer. Raises
    UnitError: A gradient is not finite.
    """
    for path in (settings.output, *settings.output.parents):
        check_path(path)
        if path.exists() and not path.is_dir():
            raise InputError(
                f"{path}: a file, where output = {str(settings.output)!r} needs a folder; choose another output."
            )
    make_folder(settings.output, "Choose another output.")
    busy = f"{settings.output}: another process trains there. Wait for it, or choose another output."
    with locked(settings.output / ".lock", busy, InputError):
        cell = Experiment(settings, material_of(settings), settings.output, progress=progress)
        return TrainedNegotiators(tuple(cell.write_agents(cell.train())), tuple(cell.rows))
