"""What no message and no evidence may repeat, should a server or a proxy do so: the key, and a proxy's login."""

from __future__ import annotations

import base64
from urllib.parse import unquote, urlsplit

_SHORTEST_WORD = 6
"""Letters of a password that is looked for by itself; a shorter one may be any word."""


class Secrets:
    """Takes the key and a proxy's login, in each form in which they are sent, out of texts.

    Parameters
    ----------
    key : str, optional
        What is sent as the key.
    proxy : str, optional
        The proxy's address with its login.
    """

    def __init__(self, key: str | None, proxy: str | None) -> None:
        quoted = urlsplit(proxy or "").netloc.rpartition("@")[0]
        login = unquote(quoted)
        password = login.partition(":")[2]
        forms = [base64.b64encode(login.encode()).decode(), login, quoted] if login else []
        forms += [password] if len(password) >= _SHORTEST_WORD else []
        self.login = login or None
        self._named = [(key, "[key]")] if key else []
        self._named += [(form, "[login]") for form in forms]

    def out_of(self, text: str) -> str:
        """``text`` with a name in the place of each secret."""
        for secret, name in self._named:
            text = _without(secret, name, text)
        return text


def _without(secret: str, name: str, text: str) -> str:
    text = text.replace(secret, name)
    # An answer that was cut off may end in part of it.
    parts = (secret[:size] for size in range(len(secret) - 1, 3, -1))
    return next((text.removesuffix(part) + name for part in parts if text.endswith(part)), text)
