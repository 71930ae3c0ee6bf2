"""Which model answers, where it is, and how hard to try."""

from __future__ import annotations

import ipaddress
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from foundation.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"


class LLMSettings(Settings):
    """The server, the model and the limits; file paths (cache, recorded replies) are given to the client apart."""

    provider: Literal["openai", "recorded"] = Field(
        default="openai",
        description="openai: any server that speaks the OpenAI protocol; recorded: replies from a file",
    )
    model: str = Field(default="gpt-4.1-mini", min_length=1, description="the model's name as the server knows it")
    base_url: str | None = Field(
        default=None, description="the server's address, e.g. http://localhost:8000/v1 (vLLM); none means OpenAI's own"
    )
    temperature: float = Field(
        default=0.0, ge=0, le=2, description="sampling temperature; use more than 0 with samples > 1"
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="longest reply, in tokens; none leaves it to the server"
    )
    samples: int = Field(default=1, ge=1, le=100, description="independent replies a request; their mean is used")
    timeout_s: float = Field(default=120.0, gt=0, description="seconds without an answer before a try counts as failed")
    max_retries: int = Field(
        default=5, ge=0, le=20, description="further tries on 408, 409, 429, 5xx and lost connections"
    )
    concurrency: int = Field(default=16, ge=1, le=1024, description="requests under way at once")
    requests_per_minute: int | None = Field(
        default=None, ge=1, description="most requests sent in any 60 s, retries among them; none means no limit"
    )
    tokens_per_minute: int | None = Field(
        default=None,
        ge=1,
        description="most tokens in any 60 s, input and output together, estimated first and corrected by the "
        "server's count; none means no limit",
    )
    api_key_env: str = Field(
        default="OPENAI_API_KEY",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="the environment variable that holds the key; servers on this machine need none",
    )
    send_to: str | None = Field(
        default=None, description="consent: the one host other than this machine that conversation text may be sent to"
    )

    @field_validator("base_url")
    @classmethod
    def _plain_http_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            usable = False
        if not usable:
            raise ValueError("give an address such as http://localhost:8000/v1")
        if "@" in parts.netloc or parts.query or parts.fragment:
            # The address is shown in errors and reports, so nothing secret may be in it.
            raise ValueError("no user name, password or query may be in the address; the key goes into api_key_env")
        return url

    @property
    def url(self) -> str:
        """The address that requests go to."""
        return self.base_url or OPENAI_URL

    @property
    def host(self) -> str:
        """The host that requests go to, in lower case and without its port."""
        return (urlsplit(self.url).hostname or "").lower()

    @property
    def is_loopback(self) -> bool:
        """Whether the server is this machine, so that no text leaves it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
