"""How long a step of an alignment takes on this machine, and what it holds: said before anything is trained.

What is timed is a model of the policy's own sizes on the device and in the number format of the run, with as many of
its layers as `MOST_WEIGHTS` allows and no weights read: a few tokens are sampled, and a stretch of tokens goes through
it forwards, and forwards and backwards with the adapters. A step is made of these three: the replies are sampled to
their full length, read twice (by the policy and by what it was at the start) and learned from ``ppo_epochs`` times. So
it is the most that a step takes; the reward model and a partner come on top.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy.lora import attach_adapter
from apportion.rlhf.sampling.rollout import sample_replies
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.memory_estimate import GB, Shape, estimate
from apportion.rlhf.training.rng_state import quiet_transformers

MOST_WEIGHTS = 200_000_000
"""Weights of the model that is timed, unless one layer with embeddings and head has more."""
SAMPLED, PROMPT = 6, 8
"""Tokens of each reply that are sampled, and of what it answers."""
STRETCH = 128
"""Tokens that go through the model, at most."""
LONGEST_DAYS = 14.0
"""A training that the CPU would take longer for was not meant to go there, unless `device` says so."""


@dataclass(frozen=True)
class StepTime:
    """What one step takes: ``tokens_s`` tokens sampled a second in all replies together; seconds; bytes.

    ``free`` are the bytes that the device has left.
    """

    settings: AlignSettings
    tokens_s: float
    sampling: float
    update: float
    peak: float
    free: float

    @property
    def step(self) -> float:
        """Seconds."""
        return self.sampling + self.update

    @property
    def training(self) -> float:
        """Seconds of all steps."""
        return self.step * self.settings.steps

    def __str__(self) -> str:
        settings, placed = self.settings, self.settings.placement
        sampled = f"samples {self.tokens_s:,.0f} tokens/s, and " if self.sampling else ""
        split = f" ({_spoken(self.sampling)} sampling)" if self.sampling else ""
        whole = "" if settings.epochs else f", {settings.steps:,} steps {_spoken(self.training)}"
        return (
            f"{settings.policy} in {placed.dtype} on {placed.device} {sampled}takes at most about "
            f"{_spoken(self.step)} a step of {settings.batch_size} replies{split}{whole}, beside the reward model; "
            f"about {self.peak / GB:.1f} GB of memory, {self.free / GB:.1f} GB are free"
        )

    def check(self) -> None:
        """Raise InputError where nobody asked for the CPU, and the training would not end on it or has no room."""
        settings = self.settings
        if settings.device != "auto" or settings.placement.device != "cpu":
            return
        too_long = not settings.epochs and self.training > LONGEST_DAYS * 86_400
        if too_long or self.peak > self.free:
            raise InputError(
                f"policy {settings.policy!r}: there is no card here, and {self}. Use a machine with a card, take a "
                "smaller policy (policy = 'smollm2') or fewer steps, or set device = 'cpu' to train it here all the "
                "same."
            )


def step_time(policy: Policy, settings: AlignSettings) -> StepTime:
    """The time of a step of ``policy``, whose model has no weights (torch's meta device) and is used up here."""
    device = torch.device(settings.placement.device)
    shape = Shape.of(policy.model.config)
    # Processes on a CPU share its memory.
    peak = estimate(shape, settings).peak * (settings.processes if device.type == "cpu" else 1)
    free = _free(device)
    with torch.random.fork_rng([device] if device.type == "cuda" else []), quiet_transformers():
        model, share = _shortened(policy.model, shape, settings)
        sampled, read, learned = (seconds / share for seconds in _timed(policy, model, settings))
    rows = math.ceil(settings.batch_size / settings.processes)
    tokens = rows * settings.window.tokens * (1 if settings.environment else settings.max_turns)
    passes = settings.ppo_epochs if "ppo_epochs" in settings.trainer.reads else 1
    update = tokens * learned * (passes + (1 if settings.gradient_checkpointing else 0) / 2)
    if settings.trainer.from_record:
        # KTO also reads each reply by the policy at the start, and one to another context by both policies.
        further = 3 * read if settings.trainer.takes_thumbs else 0.0
        return StepTime(settings, 0.0, 0.0, tokens * (learned + further), peak, free)
    drawn = rows * settings.max_new_tokens * (1 if settings.environment else settings.max_turns)
    sampling = rows * settings.max_context_tokens * read + drawn * sampled
    return StepTime(settings, 1 / sampled, sampling, update + 2 * tokens * read, peak, free)


def _shortened(model: Any, shape: Shape, settings: AlignSettings) -> tuple[Any, float]:
    """The model on its device, with fewer layers and weights that mean nothing; what share of its work is left."""
    layers = next(part for part in model.modules() if isinstance(part, nn.ModuleList) and len(part) == shape.layers)
    one = sum(weight.numel() for weight in layers[0].parameters())
    head = shape.vocabulary * shape.hidden
    kept = min(shape.layers, max(1, (MOST_WEIGHTS - head) // one))
    del layers[kept:]
    dtype = torch.bfloat16 if settings.placement.dtype == "bfloat16" else torch.float32
    model = model.to(dtype).to_empty(device=settings.placement.device)
    model.tie_weights()
    with torch.no_grad():
        # Any numbers will do that overflow nowhere; what was in the memory may.
        for weight in (*model.parameters(), *model.buffers()):
            weight.fill_(0.01)
    return model, (kept * one + head) / (shape.layers * one + head)


def _timed(policy: Policy, model: Any, settings: AlignSettings) -> tuple[float, float, float]:
    """Seconds a token: sampled (of all replies together), read, and learned from."""
    rows = min(32, math.ceil(settings.batch_size / settings.processes))
    contexts = [DialogueContext("", row, (), (policy.eos_ids[0],) * PROMPT, "") for row in range(rows)]
    policy = replace(policy, model=model)
    ids = torch.full((1, min(STRETCH, settings.window.tokens)), policy.eos_ids[0], device=model.device)

    def sample() -> None:
        sample_replies(policy, model, contexts, max_new_tokens=SAMPLED, temperature=1.0)

    def read() -> None:
        with torch.no_grad():
            model(input_ids=ids)

    read()  # What is set up when it is first used takes no part.
    drawn = _seconds(sample, model.device) / (rows * SAMPLED)
    passed = _seconds(read, model.device) / ids.numel()
    adapted = attach_adapter(model, settings.adapter)

    def learn() -> None:
        adapted(input_ids=ids).logits.float().mean().backward()

    return drawn, passed, _seconds(learn, model.device) / ids.numel()


def _seconds(work: Any, device: torch.device) -> float:
    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    started = now()
    work()
    return now() - started


def _spoken(seconds: float) -> str:
    """About how long that is.

    >>> [_spoken(seconds) for seconds in (0.2, 90, 7_000, 200_000, 1e8)]
    ['0.2 s', '1.5 min', '1.9 hours', '2.3 days', '3.2 years']
    """
    units = (("years", 31_557_600), ("days", 86_400), ("hours", 3_600), ("min", 60))
    name, size = next((unit for unit in units if seconds >= unit[1]), ("s", 1))
    count = seconds / size
    return f"{count:,.0f} {name}" if count >= 10 else f"{count:.2g} {name}"


def _free(device: torch.device) -> float:
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info()[0])
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii").split("MemAvailable:")[1].split()[0]
    except (OSError, IndexError):
        return math.inf
    return float(told) * 1024
