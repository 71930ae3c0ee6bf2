"""What asking a number of requests would take, without sending any."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from apportion.llm_client.cost.prices import Price
from apportion.llm_client.cost.tokens import estimated_input_tokens, way_of_counting
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.usage import usd_text

PRICES, RUN_PRICES = "--prices FILE", "run.prices"
"""How a table of prices is named: by commands, and in the configuration of a run."""


@dataclass(frozen=True)
class CostEstimate:
    """Requests by whether their reply is there already, and what the others would take.

    Equal requests count once. ``usd`` is None where the price is not known; ``counting`` says how input tokens were
    counted.
    """

    model: str
    requests: int
    answered: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    counting: str

    @property
    def remaining(self) -> int:
        """Requests that have to be asked."""
        return self.requests - self.answered

    def text(self, prices: str = PRICES) -> str:
        """Two lines for a person; ``prices`` is what a table of prices is named with."""
        return (
            f"{self.model}: {self.requests:,} requests, {self.answered:,} answered already, {self.remaining:,} to ask\n"
            f"  for these about {self.input_tokens:,} input tokens ({self.counting}) and {self.output_tokens:,} output "
            f"tokens (an estimate): {cost_text(self.usd, 'about', prices)}"
        )

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {**asdict(self), "remaining": self.remaining}


def cost_text(usd: float | None, about: str, prices: str = PRICES) -> str:
    """What tokens would cost, for a person; ``about`` goes before the sum, None is a model without a price.

    ``prices`` is what a table of prices is named with.

    >>> cost_text(1.5, "about"), cost_text(None, "about")
    ('about $1.50', 'cost unknown: no price for this model; name a table with --prices FILE')
    """
    unknown = f"cost unknown: no price for this model; name a table with {prices}"
    return unknown if usd is None else f"{about} {usd_text(usd)}"


def estimate(
    model: str,
    requests: Iterable[tuple[ChatRequest, int]],
    find: Callable[[ChatRequest], ChatReply | None],
    price: Price | None,
) -> CostEstimate:
    """Count and price ``requests``, each given with the output tokens to expect of it.

    ``find`` gives the reply that is there already, or None. Where replies with a known length are there, the estimate
    of the output is corrected by how long those were.
    """
    distinct = {request.key(): (request, expected) for request, expected in requests}
    left: list[tuple[ChatRequest, int]] = []
    known = known_expected = 0
    for request, expected in distinct.values():
        reply = find(request)
        if reply is None:
            left.append((request, expected))
        elif reply.completion_tokens is not None:
            known += reply.completion_tokens
            known_expected += expected
    ratio = known / known_expected if known and known_expected else 1.0
    input_tokens = sum(estimated_input_tokens(request) for request, _ in left)
    output_tokens = round(
        sum(min(expected * ratio, request.max_tokens or expected * ratio) for request, expected in left)
    )
    return CostEstimate(
        model=model,
        requests=len(distinct),
        answered=len(distinct) - len(left),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        usd=None if price is None else price.usd(input_tokens, output_tokens),
        counting=way_of_counting(model),
    )


@dataclass(frozen=True)
class CostUpperBound:
    """The most that one model is asked: dialogues that end early ask less.

    ``usd`` is None where the price is not known. Tokens are those of ``requests``, as an estimate.
    """

    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    recorded: bool

    def text(self, when: str = "", prices: str = PRICES) -> str:
        """Two lines for a person; ``when`` goes behind the number of requests, ``prices`` as in `cost_text`."""
        paid = "replies are recorded" if self.recorded else cost_text(self.usd, "at most about", prices)
        return (
            f"{self.model}: at most {self.requests:,} requests{when}\n"
            f"  for these about {self.input_tokens:,} input tokens and {self.output_tokens:,} output tokens (an "
            f"estimate): {paid}"
        )

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return asdict(self)
