"""Running out of memory, told with what to lower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apportion.foundation.errors import UnitError
from apportion.rlhf.policy_settings import Placement


@contextmanager
def memory_advice(placement: Placement, to_lower: str) -> Iterator[None]:
    """Turn an allocation that failed, on the CPU or a GPU, into a UnitError that names what is ``to_lower``."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_allocation(error):
            raise
        raise UnitError(
            f"out of memory on the {placement.device}. Lower one of {to_lower} or dtype = 'bfloat16'."
        ) from error


def is_allocation(error: BaseException) -> bool:
    """Whether ``error`` tells that memory could not be had."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return "not enough memory" in text or "can't allocate memory" in text or "out of memory" in text
