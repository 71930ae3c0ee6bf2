from __future__ import annotations

import pytest
import torch

from apportion.foundation.distributed import Processes


def test_one_process_shares_with_nobody() -> None:
    processes, weight = Processes(), torch.nn.Parameter(torch.ones(2))
    assert (processes.rank, processes.size, list(processes.strided_part([1, 2, 3]))) == (0, 1, [1, 2, 3])
    assert torch.equal(processes.sum(torch.tensor(3.0)), torch.tensor(3.0))
    assert processes.gather(torch.zeros(4)).shape == (1, 4)
    assert (processes.broadcast("a"), processes.gather_objects("a")) == ("a", ["a"])
    assert processes.contiguous_part(3) == slice(0, 3)
    processes.sum_gradients([weight])
    assert weight.grad is None


@pytest.mark.parametrize(("count", "size"), [(7, 2), (2, 3), (12, 4)])
def test_the_parts_of_all_processes_are_the_whole(count: int, size: int) -> None:
    processes, contiguous, strided = Processes(), [], []
    processes.size = size
    for processes.rank in range(size):
        contiguous += list(range(count))[processes.contiguous_part(count)]
        strided += processes.strided_part(range(count))
    assert contiguous == sorted(strided) == list(range(count))
