"""What a training keeps on the disk, so that after a kill it goes on to the same bytes.

Every step of a training leaves one file when it is whole; a step that takes long keeps where it is beside it, whole or
not at all. Random numbers have no state (`chance`), so that weights, momentum and counts are all there is to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.foundation.progress import Progress

Tensors = dict[str, Tensor]


class Training(Protocol):
    """What can be stopped after any update and gone on with."""

    done: int
    """Updates, or games of a seed, so far."""

    @property
    def total(self) -> int:
        """Updates, or games, in all."""

    def run(self) -> Iterator[int]:
        """Train on; gives how many are done."""

    def state(self) -> Tensors:
        """All that it has to know to go on."""

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from there."""


class TrainingCheckpoint:
    """The files of one training.

    ``folder``: Where they are; made where it is missing. ``every``: What is between two checkpoints, as the training
    counts: updates, or games of a seed. ``progress``: Told how far a step is.
    """

    def __init__(self, folder: Path, every: int, progress: Progress) -> None:
        self.folder, self.every, self.progress = folder, every, progress
        folder.mkdir(parents=True, exist_ok=True)

    def step(self, name: str, make: Callable[[], Tensors]) -> Tensors:
        """What a step gives: from its file, or made now and kept."""
        path = self.folder / f"{name}.safetensors"
        if not path.is_file():
            write_tensors(path, make())
        return read_tensors(path)

    def trained(self, name: str, training: Training) -> Tensors:
        """The last state of a training, which is begun, gone on with, or finished already."""
        path, partial = self.folder / f"{name}.safetensors", self.folder / f"{name}.partial.safetensors"
        if path.is_file():
            partial.unlink(missing_ok=True)  # A kill may have come between the two files.
            training.restore(read_tensors(path))
            return training.state()
        if partial.is_file():
            training.restore(read_tensors(partial))
        kept = training.done // self.every
        for done in training.run():
            if done // self.every > kept:  # An update may be many games, and step over the number itself.
                kept = done // self.every
                write_tensors(partial, training.state())
                self.progress(done, training.total, name)
        write_tensors(path, training.state())
        self.progress(training.total, training.total, name)
        partial.unlink(missing_ok=True)
        return training.state()


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """A file of tensors, whole or not at all; the same tensors give the same bytes."""
    write_atomically(path, save({name: tensor.detach().contiguous() for name, tensor in sorted(tensors.items())}))


def read_tensors(path: Path, advice: str = "Remove it; it is made again") -> Tensors:
    """The tensors of a file; ``advice`` is what to do where it cannot be read.

    Raises InputError: It is damaged, or no safetensors.
    """
    try:
        return {name: tensor.clone() for name, tensor in load_file(str(path)).items()}
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: not to be read as weights ({error}). {advice}.") from None


def with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """Names with ``prefix.`` before them."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def without_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """Those that have ``prefix.`` before them, without it."""
    return {name.removeprefix(f"{prefix}."): one for name, one in tensors.items() if name.startswith(f"{prefix}.")}


def number(value: int) -> Tensor:
    """A whole number among tensors."""
    return torch.tensor(value, dtype=torch.int64)
