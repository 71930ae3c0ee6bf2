"""Tokens and money, summed over replies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """What a number of replies used.

    ``unpriced`` of them have no known cost and are not in ``usd``. ``unanswered_usd`` is the most that requests may
    have cost whose reply never came, since the process or the connection ended.
    """

    replies: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    unanswered_usd: float = 0.0

    def text(self) -> str:
        """One line for a person."""
        cached = f" ({self.cached_tokens:,} of them cached)" if self.cached_tokens else ""
        tokens = f"{self.prompt_tokens:,} input{cached} and {self.completion_tokens:,} output tokens"
        return f"{self.replies:,} replies, {tokens}, {self.cost_text()}"

    def cost_text(self) -> str:
        """The cost in words."""
        words = "cost unknown" if self.replies and self.unpriced == self.replies else usd_text(self.usd)
        if 0 < self.unpriced < self.replies:
            words += f" and the unknown cost of {self.unpriced:,} replies"
        if self.unanswered_usd:
            words += f" (and at most {usd_text(self.unanswered_usd)} for requests whose reply never came)"
        return words


def usd_text(usd: float) -> str:
    """Dollars with cents, or with four digits where cents would say nothing."""
    return f"${usd:,.2f}" if usd == 0 or usd >= 1 else f"${usd:.4f}"
