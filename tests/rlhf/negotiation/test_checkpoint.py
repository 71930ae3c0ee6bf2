from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from torch import Tensor

from apportion.rlhf.negotiation.checkpoint import Tensors, TrainingCheckpoint, number


@dataclass
class Counting:
    """Does nothing, ``step`` at once; stopped after ``most``."""

    step: int
    total: int
    most: int = 10**9
    done: int = 0
    begun: list[int] = field(default_factory=list)

    def run(self) -> Iterator[int]:
        self.begun.append(self.done)
        while self.done < self.total:
            if self.done >= self.most:
                raise KeyboardInterrupt
            self.done = min(self.total, self.done + self.step)
            yield self.done

    def state(self) -> Tensors:
        return {"done": number(self.done)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.done = int(state["done"])


@pytest.mark.parametrize(
    ("step", "kept"), [(1, [4, 8, 12, 16, 20]), (3, [6, 9, 12, 18, 20]), (7, [7, 14, 20]), (4, [4, 8, 12, 16, 20])]
)
def test_a_checkpoint_is_kept_whenever_so_many_are_done_whatever_an_update_is(
    step: int, kept: list[int], tmp_path: Path
) -> None:
    told: list[int] = []
    found = TrainingCheckpoint(tmp_path, 4, lambda done, total, text: told.append(done)).trained(
        "one", Counting(step, 20)
    )
    assert told[:-1] == kept and int(found["done"]) == told[-1] == 20
    assert [path.name for path in tmp_path.iterdir()] == ["one.safetensors"]


def test_what_was_killed_between_its_last_file_and_the_end_of_its_checkpoint_leaves_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.name == "one.partial.safetensors":
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    kept = TrainingCheckpoint(tmp_path, 4, lambda done, total, text: None)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            kept.trained("one", Counting(1, 20))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.partial.safetensors", "one.safetensors"]
    again = Counting(1, 20)
    assert int(kept.trained("one", again)["done"]) == 20 and again.begun == []
    assert [path.name for path in tmp_path.iterdir()] == ["one.safetensors"]
