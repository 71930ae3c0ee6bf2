"""What a model's tokens cost, from a table that people can edit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from pydantic import Field, ValidationError

from apportion.foundation.settings import Settings, problems
from apportion.llm_client.cost.tokens import characters_tokens, most_input_tokens, used_tokens
from apportion.llm_client.errors import SetupError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.usage import Overrun

SHIPPED = Path(__file__).with_name("prices.toml")
_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


class Price(Settings, allow_inf_nan=False):
    """USD for a million tokens of one model, and the longest reply that it gives."""

    input: float = Field(ge=0, description="tokens of the question")
    output: float = Field(ge=0, description="tokens of the reply")
    cached_input: float | None = Field(default=None, ge=0, description="tokens of the question in the server's cache")
    max_output_tokens: int | None = Field(default=None, ge=1, description="longest reply")
    batch: float = Field(default=1.0, ge=0, le=1, description="share of these prices that the Batch API takes")

    def batched(self) -> Price:
        """The prices of the Batch API; tokens in the server's cache are taken to be no cheaper there."""
        changed = {"input": self.input * self.batch, "output": self.output * self.batch}
        return self.model_copy(update={**changed, "cached_input": None, "batch": 1.0})

    def usd(self, input_tokens: float, output_tokens: float, cached_tokens: float = 0) -> float:
        """The cost of so many tokens; ``cached_tokens`` are among ``input_tokens``."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        plain = input_tokens - cached_tokens
        return (plain * self.input + cached_tokens * cached_price + output_tokens * self.output) / 1e6

    def reply_usd(self, reply: ChatReply) -> float | None:
        """What ``reply`` cost, or None where the server did not count its tokens."""
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            return None
        cached = min(reply.cached_tokens or 0, reply.prompt_tokens)
        return self.usd(reply.prompt_tokens, reply.completion_tokens, cached)

    def most_usd(self, request: ChatRequest) -> float | None:
        """What ``request`` cannot cost more than, or None where nothing bounds its reply."""
        longest = self._longest(request)
        dearest = self.input if self.cached_input is None else max(self.input, self.cached_input)
        return None if longest is None else (most_input_tokens(request) * dearest + longest * self.output) / 1e6

    def dearest_usd(self, request: ChatRequest, reply: ChatReply) -> float | None:
        """What ``reply`` may have cost where the server did not count; None where nothing bounds it.

        A server that does not count may not keep to ``max_tokens`` either: then the reply's own length is taken.
        """
        most_usd = self.most_usd(request)
        longest = self._longest(request)
        if most_usd is None or longest is None:
            return None
        return most_usd + max(0, characters_tokens(reply.text) - longest) * self.output / 1e6

    def overrun(self, request: ChatRequest, reply: ChatReply) -> Overrun | None:
        """What ``reply`` cost beyond the most that its request could, by the server's count or else by its length."""
        usd, most_usd, longest = self.reply_usd(reply), self.most_usd(request), self._longest(request)
        usd = self.dearest_usd(request, reply) if usd is None else usd
        if usd is None or most_usd is None or longest is None or usd <= most_usd:
            return None
        most_input = most_input_tokens(request)
        counted = used_tokens(reply)
        taken = most_input + characters_tokens(reply.text) if counted is None else counted
        return Overrun(usd - most_usd, most_input + longest, taken)

    def _longest(self, request: ChatRequest) -> int | None:
        return request.max_tokens or self.max_output_tokens


class _Table(Settings):
    as_of: str | None = None
    models: dict[str, Price]


def find_price(model: str, own: Path | None = None) -> Price | None:
    """The price of ``model`` from the table ``own``, else from the shipped one; None where neither has it.

    Raises ``SetupError``: a table cannot be read; the message names the model and the key.
    """
    for path in (own, SHIPPED):
        if path is None:
            continue
        prices = _read(path).models
        for name in (model, _DATED.sub("", model)):
            if name in prices:
                return prices[name]
    return None


def _read(path: Path) -> _Table:
    try:
        return _Table.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SetupError(f"the price table {path} cannot be read ({error.strerror}).") from None
    except ValidationError as error:
        raise SetupError(
            f"the price table {path}: {problems(error)[0]}. A line is "
            f'"MODEL" = {{ input = 0.4, output = 1.6 }} below [models]; see {SHIPPED}.'
        ) from None
    except ValueError as error:  # TOML syntax, no UTF-8
        raise SetupError(f"the price table {path} is no TOML file: {error}.") from None
