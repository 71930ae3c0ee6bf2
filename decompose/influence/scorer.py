"""How probably a follower says each of several replies, and what Eq. 5 and 7 make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from apportion.foundation.arrays import Floats
from apportion.foundation.errors import UnitError
from apportion.llm_client.request import ChatMessage


class TooLongError(UnitError):
    """A prompt with a reply is longer than the model reads; ``prompt`` and ``reply`` are their places (from 0).

    Where several are measured at once, ``asked`` is the place of the one that it happened in.
    """

    def __init__(self, message: str, prompt: int, reply: int) -> None:
        super().__init__(message)
        self.prompt, self.reply = prompt, reply
        self.asked = 0


@dataclass(frozen=True)
class Prompt:
    """All that a follower reads before they reply: its own prompt, as in play (Figure 9 of the Stackelberg Speaker).

    A reply is the next message of ``speaker``; somebody else has the last word before it. ``begun`` is what that
    message begins with before the reply and is not measured (``<response>`` in Figure 9).
    """

    messages: tuple[ChatMessage, ...]
    begun: str = ""
    speaker: Literal["assistant", "user"] = "assistant"


@dataclass(frozen=True)
class LogprobResult:
    """What M replies to each of N prompts come to.

    ``sums`` [shape=(N, M)] are log-probabilities in nats, summed over a reply's tokens (Eq. 6 as printed), ``tokens``
    [shape=(N, M)] how many those are. ``computed`` counts the tokens that went through the model, the padding of
    batches among them; None where a server did the work.
    """

    sums: Floats
    tokens: NDArray[np.int64]
    computed: int | None = None

    @property
    def means(self) -> Floats:
        """The mean over a reply's tokens [shape=(N, M)], nats a token: what the paper's released code takes."""
        return self.sums / self.tokens


class LogprobScorer(Protocol):
    """A frozen language model that stands for the follower."""

    def measure(self, prompts: Sequence[Prompt], replies: Sequence[str]) -> LogprobResult:
        """log P(reply | prompt) of each of M ``replies`` after each of N ``prompts`` (Eq. 6).

        Raises InputError: The model cannot be asked for this at all. UnitError: A reply without any text, or a server
        that failed. TooLongError: A prompt with a reply is longer than the model reads.
        """


def check_replies(prompts: Sequence[Prompt], replies: Sequence[str]) -> None:
    """Raise UnitError where there is nothing to measure: no prompt, no reply, one without text, or one to nobody."""
    if not prompts or not replies:
        raise UnitError(f"{len(prompts)} prompts and {len(replies)} replies: there is nothing to measure.")
    for prompt in prompts:
        if not prompt.messages or prompt.messages[-1].role == prompt.speaker:
            raise UnitError(
                f"a prompt that the {prompt.speaker} ends, or without a message: somebody else has the last word."
            )
    empty = [place for place, reply in enumerate(replies) if not reply.strip()]
    if empty:
        raise UnitError(f"reply {empty[0] + 1} of {len(replies)} has no text, so that it has no probability.")


def common_length(sequences: Sequence[Sequence[Any]]) -> int:
    """How many first tokens all ``sequences`` have in common.

    >>> common_length([(1, 2, 3), (1, 2), (1, 2, 4)])
    2
    """
    ordered: list[Any] = sorted(map(tuple, sequences))
    first, last = ordered[0], ordered[-1]
    return next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))


def shift_of(measured: LogprobResult, desired: int, *, per_token: bool = False) -> Floats:
    """R(u) [shape=(N,)] in nats, of what was measured: the first ``desired`` replies less the others (Eq. 5)."""
    logs = measured.means if per_token else measured.sums
    totals: Floats = logs[:, :desired].sum(axis=1) - logs[:, desired:].sum(axis=1)  # Eq. 5, Stackelberg Speaker
    return totals
