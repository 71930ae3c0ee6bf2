"""Consent to send text to a host, and the key for it: both are checked before anything is sent."""

from __future__ import annotations

import os

from llm_client.errors import ConsentError, SetupError
from llm_client.settings import LLMSettings


def check_access(settings: LLMSettings) -> None:
    """Raise SetupError where there is no consent to send text to the host, or no key for it."""
    require_consent(settings)
    read_key(settings)


def require_consent(settings: LLMSettings) -> None:
    """Raise ConsentError unless the host is this machine, or the one host that was agreed to."""
    if settings.is_loopback or (settings.send_to or "").lower() == settings.host:
        return
    given = f"consent was given for {settings.send_to!r} only" if settings.send_to else "you have not agreed to that"
    raise ConsentError(
        f"the text of your sessions would leave this machine for {settings.host}, and {given}. If the data's licence "
        f"allows it, set send_to = {settings.host!r}; otherwise use a server on this machine. Nothing was sent."
    )


def read_key(settings: LLMSettings) -> str | None:
    """The key from the environment; None where a server on this machine needs none.

    Raises
    ------
    SetupError
        The variable is not set.
    """
    key = os.environ.get(settings.api_key_env, "").strip() or None
    if key is None and not settings.is_loopback:
        raise SetupError(
            f"no key for {settings.host}: the environment variable {settings.api_key_env} is not set. "
            f"Run `export {settings.api_key_env}=…`, or name another variable with api_key_env."
        )
    return key
