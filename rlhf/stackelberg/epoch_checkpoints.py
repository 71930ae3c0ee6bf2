"""The Refiner as it was after each epoch: kept beside the last one, so that Table 6 can ask each of them."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

from apportion.foundation.files import place_folder
from apportion.foundation.progress import Progress
from apportion.rlhf.policy.loading import ADAPTER
from apportion.rlhf.stackelberg.refiner import CARD
from apportion.rlhf.training.checkpoint_folders import StepFolders
from apportion.rlhf.training.partial_curves import STEP

EPOCHS = "epochs"
_WEIGHTS = "adapter_model.safetensors"
_BESIDE = ("*.json", "*.jinja", "*.model", "*.txt")
"""What a policy's folder holds beside its weights: the tokenizer, the window."""


@dataclass(frozen=True)
class EpochKeeper:
    """Copies the checkpoint of each epoch's last step, the moment it is whole.

    Parameters
    ----------
    checkpoints : Path
        Those of the alignment.
    out : Path
        The Refiner's folder, which gets ``epochs/1`` and so on.
    steps : int
        Of one epoch.
    """

    checkpoints: Path
    out: Path
    steps: int

    def watched(self, progress: Progress) -> Progress:
        """``progress``, and the copying before it: an alignment reports a step when its checkpoint is written."""

        def report(done: int, total: int, text: str) -> None:
            self.keep()
            progress(done, total, text)

        return report

    def keep(self) -> None:
        """Copy the newest checkpoint where it ends an epoch that is not kept yet; a resumed run does so first."""
        newest = StepFolders(self.checkpoints).newest()
        if newest is None:
            return
        step = int(newest.name.removeprefix(STEP))
        place = self.place(step // self.steps)
        if step % self.steps or place.exists():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = place.parent / f"tmp.{uuid.uuid4().hex}"
        scratch.mkdir()
        for name in (_WEIGHTS, ADAPTER):
            shutil.copyfile(newest / name, scratch / name)
        place_folder(scratch, place)

    def finish(self) -> list[Path]:
        """Bring what else a policy needs beside each epoch's adapters; the folders, the first epoch's first."""
        kept = epoch_folders(self.out)
        for folder in kept:
            for pattern in _BESIDE:
                for path in self.out.glob(pattern):
                    if path.name not in (ADAPTER, CARD):
                        shutil.copyfile(path, folder / path.name)
            base = self.out / "base"
            if base.is_dir() and not (folder / "base").exists():
                (folder / "base").symlink_to(Path("..") / ".." / "base", target_is_directory=True)
        for scratch in (self.out / EPOCHS).glob("tmp.*"):
            shutil.rmtree(scratch, ignore_errors=True)
        return kept

    def place(self, epoch: int) -> Path:
        """Where the Refiner after ``epoch`` (from 1) is."""
        return self.out / EPOCHS / str(epoch)


def epoch_folders(out: Path) -> list[Path]:
    """The kept epochs of a Refiner's folder, the first one first."""
    found = [path for path in (out / EPOCHS).glob("*") if path.name.isascii() and path.name.isdigit()]
    return sorted(found, key=lambda path: int(path.name))
