"""Running out of memory, told with what to lower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from foundation.errors import UnitError
from rlhf.settings import AlignSettings


@contextmanager
def memory_advice(settings: AlignSettings) -> Iterator[None]:
    """Turn an allocation that failed, on the CPU or a GPU, into a UnitError that names the settings to lower."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_allocation(error):
            raise
        raise UnitError(
            f"align: out of memory on the {settings.device}. Lower one of align.minibatch (now {settings.minibatch}), "
            f"max_context_tokens ({settings.max_context_tokens}), max_new_tokens ({settings.max_new_tokens}), "
            f"batch ({settings.batch}), or take a smaller policy ({settings.policy}) or dtype = 'bfloat16'."
        ) from error


def is_allocation(error: BaseException) -> bool:
    """Whether ``error`` tells that memory could not be had."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    text = str(error).lower()
    return "not enough memory" in text or "can't allocate memory" in text or "out of memory" in text
