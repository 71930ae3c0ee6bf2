"""A language model as a person chooses it for one command: the model, its server, the limits and the files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from apportion.foundation.errors import InputError
from apportion.foundation.settings import problems
from apportion.llm_client.session import LLMSession
from apportion.llm_client.settings import LLMSettings

NO_MODEL = "recorded"
"""What stands for the model's name where replies are recorded and nobody gives it."""
_CLIENT_S = (
    *("model", "base_url", "allow_host", "proxy", "proxy_auth_env", "api_key_env"),
    *("max_tokens", "concurrency", "reasoning_effort", "extra_body"),
)
"""What is a setting of the client under the same name."""
CACHE = "replies.sqlite"
"""The kept replies, in the folder of what is made with them, unless a person names another file."""
Called = Callable[[str], str]
"""What a caller calls a parameter, for errors: a command says by which option it is given."""


@dataclass(frozen=True)
class ModelSpec:
    """Which language model answers, and how it is asked.

    Parameters
    ----------
    model : str, optional
        By the name its server knows; only recorded replies need none.
    base_url, api_key_env : str, optional
        Its server and the environment variable with the key; None takes OpenAI's.
    allow_host : str, optional
        The host to which texts may be sent.
    proxy, proxy_auth_env : str, optional
        The proxy on the way there (``direct``: none), and the environment variable with ``USER:PASSWORD`` for it.
    max_tokens, concurrency : int
        Longest reply, and requests under way at once.
    reasoning_effort : str, optional
        How long a reasoning model thinks, in its server's words.
    extra_body : mapping, optional
        What else its server takes, added to every request.
    budget : float, optional
        US dollars that all ever paid into the cache may not pass.
    prices : Path, optional
        A price table (TOML) that goes before the shipped one.
    cache : Path, optional
        Where replies are kept; None leaves the place to who asks.
    recorded, record : Path, optional
        Recorded replies instead of a server, and a file that replies are added to.
    """

    model: str | None = None
    base_url: str | None = None
    allow_host: str | None = None
    proxy: str | None = None
    proxy_auth_env: str | None = None
    api_key_env: str | None = None
    max_tokens: int = 1000
    concurrency: int = 16
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] | None = None
    budget: float | None = None
    prices: Path | None = None
    cache: Path | None = None
    recorded: Path | None = None
    record: Path | None = None

    @property
    def asks(self) -> bool:
        """Whether a model was chosen at all."""
        return self.model is not None or self.recorded is not None

    def named(self, model: str) -> Self:
        """The same with another model of the same server."""
        return replace(self, model=model)

    def llm(self, called: Called = str, temperature: float = 0.0) -> LLMSettings:
        """The client's settings.

        Raises
        ------
        InputError
            A value that cannot be used.
        """
        if self.budget is not None and not (math.isfinite(self.budget) and self.budget > 0):
            raise InputError(f"{called('budget')} {self.budget}: give a number of US dollars above 0.")
        given = {name: value for name in _CLIENT_S if (value := getattr(self, name)) is not None}
        if self.recorded is not None:
            given = {"model": NO_MODEL, **given, "provider": "recorded"}
        try:
            return LLMSettings.model_validate({**given, "temperature": temperature})
        except ValidationError as error:
            raise InputError(f"{'; '.join(problems(error, called))}. Change the options.") from None

    def cache_in(self, out: Path) -> Path:
        """Where replies are kept for what is made in the folder ``out``."""
        return self.cache or out / CACHE

    def asker(self, llm: LLMSettings, cache: Path, called: Called, too_long: str) -> LLMSession:
        """Lends the model: ``llm`` as `llm` gave it, replies kept in ``cache``, ``too_long`` as `LLMSession` has it."""
        return LLMSession(
            llm,
            cache=cache,
            recorded=self.recorded,
            record=self.record,
            prices=self.prices,
            budget_usd=self.budget,
            called=called("model"),
            too_long=too_long,
        )
