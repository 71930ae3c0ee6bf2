"""Which model answers, where it is, and how hard to try."""

from __future__ import annotations

import ipaddress
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, field_validator

from apportion.foundation.settings import Settings
from apportion.llm_client.extra_body import checked_extra_body

OPENAI_URL = "https://api.openai.com/v1"
STRAIGHT = "direct"
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
_PROXIES = ("http", "https", "socks5", "socks5h")


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
    reasoning_effort: str | None = Field(
        default=None,
        min_length=1,
        max_length=40,
        description="how long a reasoning model thinks, in its server's words (low); none leaves it to the server",
    )
    extra_body: dict[str, Any] = Field(
        default={},
        description="what else the server takes, added to every request as it stands, e.g. "
        "{ chat_template_kwargs = { enable_thinking = false } }",
    )
    samples: int = Field(default=1, ge=1, le=100, description="independent replies a request; their mean is used")
    timeout_s: float = Field(default=120.0, gt=0, description="seconds without an answer before a try counts as failed")
    max_retries: int = Field(
        default=5,
        ge=0,
        le=20,
        description="further tries on 408, 409, 5xx, broken connections and answers that are no chat completion",
    )
    total_timeout_s: float = Field(
        default=900.0,
        gt=0,
        description="seconds without any reply, for which a server may say that there are too many requests, before "
        "the run is stopped",
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
    max_reply_bytes: int = Field(
        default=1024 * 1024,
        ge=1024,
        description="most bytes of an answer, decompressed; a larger one is cut off while it is read, and fails",
    )
    api_key_env: str = Field(
        default="OPENAI_API_KEY",
        pattern=_VARIABLE,
        description="the environment variable that holds the key; servers on this machine need none",
    )
    allow_host: str | None = Field(
        default=None, description="consent: the one host other than this machine that conversation text may be sent to"
    )
    proxy: str | None = Field(
        default=None,
        description="the proxy on the way to the server, e.g. http://proxy:3128, or direct; none goes straight, and "
        "is refused where the environment names a proxy for the server",
    )
    proxy_auth_env: str | None = Field(
        default=None,
        pattern=_VARIABLE,
        description="the environment variable that holds USER:PASSWORD for the proxy; none means that it asks for none",
    )

    @field_validator("extra_body")
    @classmethod
    def _extra_body_beside_the_rest(cls, values: dict[str, Any]) -> dict[str, Any]:
        return checked_extra_body(values)

    @field_validator("base_url")
    @classmethod
    def _plain_http_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = _address(url, ("http", "https"))
        if parts is None:
            raise ValueError("give an address such as http://localhost:8000/v1")
        if "@" in parts.netloc or parts.query or parts.fragment:
            # The address is shown in errors and reports, so nothing secret may be in it.
            raise ValueError("no user name, password or query may be in the address; the key goes into api_key_env")
        return _lower_scheme(url)

    @field_validator("proxy")
    @classmethod
    def _proxy_address(cls, proxy: str | None) -> str | None:
        if proxy is None or proxy == STRAIGHT:
            return proxy
        parts = _address(proxy, _PROXIES)
        if parts is None or parts.path not in ("", "/") or parts.query or parts.fragment:
            raise ValueError(f"give a proxy such as http://proxy:3128 ({', '.join(_PROXIES)}), or {STRAIGHT}")
        if "@" in parts.netloc:
            raise ValueError("no user name or password may be in the address; proxy_auth_env names where they are")
        return _lower_scheme(proxy).rstrip("/")

    @property
    def asking(self) -> dict[str, Any]:
        """The fields of a `ChatRequest` that these settings decide."""
        names = ("model", "temperature", "max_tokens", "reasoning_effort", "extra_body")
        return {name: getattr(self, name) for name in names}

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
        """Whether the server is this machine."""
        return is_this_machine(self.host)

    @property
    def proxy_host(self) -> str | None:
        """The host of the proxy in ``proxy``, in lower case and without its port; None where requests go straight."""
        if self.proxy is None or self.proxy == STRAIGHT:
            return None
        return (urlsplit(self.proxy).hostname or "").lower()

    @property
    def consent_host(self) -> str | None:
        """The host that consent has to name: the server's, or the proxy's to a server here; None if no text leaves."""
        return next((host for host in (self.host, self.proxy_host) if host and not is_this_machine(host)), None)


def is_this_machine(host: str) -> bool:
    """Whether ``host`` is a loopback name or address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(url: str, schemes: tuple[str, ...]) -> SplitResult | None:
    """The parts of an address with one of ``schemes`` and a host; None where it is none."""
    # Blanks and line breaks are read in one way here and in another by HTTP libraries.
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return None
    return parts if usable else None


def _lower_scheme(url: str) -> str:
    scheme, colon, rest = url.partition(":")
    return f"{scheme.lower()}{colon}{rest}"
