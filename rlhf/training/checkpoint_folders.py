"""Folders of checkpoints, each written whole or not at all."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from apportion.foundation.errors import UnitError
from apportion.foundation.files import place_folder
from apportion.rlhf.training.metrics import STATE, STEP

BASE = "base"

Loaded = TypeVar("Loaded")


class StepFolders:
    """Folders ``step-000012`` under one root; nothing else of such a name may lie there.

    Kept are the newest one and the last good one: the newest whose policy was seen to pass no alarm's limit.

    ``root``: made when the first checkpoint is written.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def base(self) -> Path | None:
        """The model of ``tiny`` as it was before the first step, once there is a checkpoint to go on from."""
        return self.root / BASE if (self.root / BASE).is_dir() and self.newest() else None

    def save_base(self, model: nn.Module) -> None:
        """Keep the weights of ``tiny``, whose warm-up then need not be repeated."""
        scratch = self.scratch()
        writer: Any = model
        writer.save_pretrained(str(scratch))
        place_folder(scratch, self.root / BASE)

    def newest(self) -> Path | None:
        """The newest checkpoint."""
        steps = self._steps()
        return self._folder(steps[-1]) if steps else None

    def kept(self) -> str | None:
        """A sentence that names the last good checkpoint, None where there is none."""
        good = self._good()
        if good is None:
            return None
        return f"The last good checkpoint, of {good} step{'s' * (good != 1)}, is kept in {self._folder(good)}."

    def scratch(self) -> Path:
        """A new folder to write a checkpoint into."""
        scratch = self.root / f"tmp.{uuid.uuid4().hex}"
        scratch.mkdir(parents=True)
        return scratch

    def clear_scratch(self) -> None:
        """Delete what a killed run was writing."""
        for folder in self.root.glob("tmp.*"):
            shutil.rmtree(folder, ignore_errors=True)

    def finish(self, scratch: Path, step: int, calm: bool, state: Mapping[str, Any]) -> None:
        """Make ``scratch`` the checkpoint of ``step`` finished steps and drop those that nobody needs any more.

        ``calm``: no alarm's limit was passed in the step; ``state`` goes into ``state.json``.
        """
        # A step's replies show what the policy was before its updates, so a calm one vouches for the checkpoint before.
        good = max(step - 1, 0) if calm else self._good()
        (scratch / STATE).write_text(json.dumps({"step": step, "good": good, **state}), encoding="utf-8")
        place_folder(scratch, self._folder(step))
        for other in self._steps():
            if other not in (step, good):
                shutil.rmtree(self._folder(other), ignore_errors=True)

    @staticmethod
    def read(folder: Path, load: Callable[[Path], Loaded]) -> Loaded:
        """What ``load`` makes of the checkpoint ``folder``. Raises UnitError: the checkpoint cannot be read."""
        try:
            return load(folder)
        except Exception as error:  # Damage shows in many ways: cut JSON, missing files, weights of another shape.
            raise UnitError(
                f"the checkpoint {folder} cannot be read ({type(error).__name__}: {str(error)[:200]}). Delete "
                "this folder to go on from an older checkpoint or from the start, then run the same command again."
            ) from error

    def _folder(self, step: int) -> Path:
        return self.root / f"{STEP}{step:06d}"

    def _steps(self) -> list[int]:
        return sorted(int(folder.name.removeprefix(STEP)) for folder in self.root.glob(f"{STEP}*"))

    def _good(self) -> int | None:
        steps = self._steps()
        if not steps:
            return None
        try:
            good = json.loads((self._folder(steps[-1]) / STATE).read_text(encoding="utf-8"))["good"]
        except (OSError, ValueError, KeyError):
            return None
        return int(good) if good in steps else None
