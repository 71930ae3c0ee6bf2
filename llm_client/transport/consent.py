"""Consent to send text to a host, and the key for it: both are checked before anything is sent."""

from __future__ import annotations

import os

from apportion.llm_client.errors import ConsentError, SetupError
from apportion.llm_client.settings import LLMSettings, is_this_machine
from apportion.llm_client.transport.proxy import require_named_route


def check_access(settings: LLMSettings) -> None:
    """Raise SetupError where the way to the host, consent to send text there, or the key for it is not settled."""
    require_consent(settings)
    read_key(settings)


def require_consent(settings: LLMSettings) -> None:
    """Raise ConsentError unless text stays on this machine, or goes to the one host that was agreed to.

    Raises
    ------
    SetupError
        The environment names a proxy for the host, and the settings do not.
    """
    require_named_route(settings)
    host = settings.consent_host
    if host is None or (settings.allow_host or "").lower() == host:
        return
    given = (
        f"consent was given for {settings.allow_host!r} only" if settings.allow_host else "you have not agreed to that"
    )
    raise ConsentError(
        f"the text of your sessions would leave this machine for {who_reads(settings)}, and {given}. If the data's "
        f"licence allows it, set allow_host = {host!r}; otherwise use a server on this machine. Nothing was sent."
    )


def readers(settings: LLMSettings) -> tuple[str, ...]:
    """The hosts other than this machine that can read the text that is sent, the server first."""
    # What a proxy calls localhost is its own machine.
    hidden = is_encrypted(settings) and not settings.is_loopback
    hosts = [settings.host] if hidden else [settings.host, settings.proxy_host]
    return tuple(dict.fromkeys(host for host in hosts if host and not is_this_machine(host)))


def who_reads(settings: LLMSettings) -> str:
    """The host that text goes to, who else on the way can read it, and what a proxy sees, in words."""
    host, proxy = settings.host, settings.proxy_host
    if proxy is None:
        return host
    if is_encrypted(settings):
        return f"{host} through the proxy {proxy} (which sees the host's name, and neither text nor key)"
    return f"{host} through the proxy {proxy} (by plain http: both read text and key)"


def is_encrypted(settings: LLMSettings) -> bool:
    """Whether only the server can read what is sent to it."""
    return settings.url.lower().startswith("https://")


def read_key(settings: LLMSettings) -> str | None:
    """The key from the environment; None where a server on this machine needs none.

    Raises
    ------
    SetupError
        The variable is not set, or holds what cannot be sent.
    """
    key = header_from(settings.api_key_env)
    if key is None and not settings.is_loopback:
        raise SetupError(
            f"no key for {settings.host}: the environment variable {settings.api_key_env} is not set. "
            f"Run `export {settings.api_key_env}=…`, or name another variable with api_key_env."
        )
    return key


def header_from(variable: str) -> str | None:
    """What an environment variable holds, to be sent in a header; None where it is not set, or empty.

    Raises
    ------
    SetupError
        It holds a character that no header takes. The HTTP library would quote the whole of it in its error.
    """
    value = os.environ.get(variable, "").strip()
    if not (value.isascii() and value.isprintable()):
        raise SetupError(
            f"the environment variable {variable} cannot be sent: it holds a line break or another character that is "
            f"not plain ASCII. Run `export {variable}=…` with it in one line, as its provider shows it. Nothing was "
            "sent."
        )
    return value or None
