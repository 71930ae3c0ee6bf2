"""The most that a model will be asked, where how much it will be depends on what is said."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from apportion.llm_client.cost.estimate import cost_text


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

    def text(self, when: str = "") -> str:
        """Two lines for a person; ``when`` goes behind the number of requests."""
        paid = "replies are recorded" if self.recorded else cost_text(self.usd, "at most about")
        return (
            f"{self.model}: at most {self.requests:,} requests{when}\n"
            f"  for these about {self.input_tokens:,} input tokens and {self.output_tokens:,} output tokens (an "
            f"estimate): {paid}"
        )

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return asdict(self)
