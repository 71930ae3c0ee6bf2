"""Why no connection to a server came about, in words, from the errors under the SDK's."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from apportion.llm_client.settings import LLMSettings

_SHORTEST_WORD = 6
"""Letters of a password that is looked for by itself; a shorter one may be any word."""


class Secrets:
    """Takes the key and a proxy's login, in each form in which they are sent, out of texts.

    ``key``: what is sent as the key. ``proxy``: the proxy's address with its login.
    """

    def __init__(self, key: str | None, proxy: str | None) -> None:
        quoted = urlsplit(proxy or "").netloc.rpartition("@")[0]
        login = unquote(quoted)
        password = login.partition(":")[2]
        forms = [base64.b64encode(login.encode()).decode(), login, quoted] if login else []
        forms += [password] if len(password) >= _SHORTEST_WORD else []
        self.login = login or None
        self._named = [(key, "[key]")] if key else []
        self._named += [(form, "[key]") for form in _in_base64(key or "")]
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


def _in_base64(secret: str) -> list[str]:
    """What a text in base64 has in it wherever ``secret`` is in what it stands for: one form for each place of three.

    >>> _in_base64("secret key")[1] in base64.b64encode(b"a secret key, told").decode()
    False
    >>> _in_base64("secret key")[2] in base64.b64encode(b"a secret key, told").decode()
    True
    """
    if len(secret) < _SHORTEST_WORD:
        return []
    forms = []
    for before in range(3):
        held = b"\0" * before + secret.encode()
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # Its first and its last letter may stand for bits of what is beside it, too.
            forms.append(encode(held).decode()[-(-before * 4 // 3) : len(held) * 4 // 3])
    return list(dict.fromkeys(forms))


_BEFORE_ARRIVAL = ("ConnectError", "ConnectTimeout", "ProxyError")
_TRUST = "SSL_CERT_FILE=FILE names a PEM file of certificates to trust"
_SELF_SIGNED, _SELF_SIGNED_CHAIN, _EXPIRED, _NOT_YET = 18, 19, 10, 9
_OTHER_NAME = (62, 63, 64)
"""Numbers of OpenSSL's X509_V_ERR_...; 62 to 64 are a host, an email and an address that the certificate lacks."""
_OTHER_LANGUAGE = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION")


def is_unreached(error: BaseException) -> bool:
    """Whether there was no connection to the server, so that it has heard nothing."""
    # By name: the SDK's versions bring different HTTP libraries (httpx, httpx2).
    return type(error.__cause__).__name__ in _BEFORE_ARRIVAL


def said_by_proxy(error: BaseException) -> str | None:
    """Status and words of a proxy that opened no tunnel to the server; None for any other failure."""
    return str(error.__cause__) if type(error.__cause__).__name__ == "ProxyError" else None


def distrusted(error: BaseException, settings: LLMSettings) -> str | None:
    """What is wrong with the TLS of the server (or of a proxy that speaks it), and what helps; None if nothing is."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate of {_whose(settings)} is not trusted: {_flaw(cause)}. Nothing was sent."
        if _reason(cause) in _OTHER_LANGUAGE:
            return (
                f"{_whose(settings)} does not speak TLS as this machine does ({_reason(cause)}). If it speaks plain "
                "http, its address begins with http://. Nothing was sent."
            )
    return None


def is_distrusted(error: BaseException) -> bool:
    """Whether the other side's TLS is at fault, which no second try helps."""
    return any(
        isinstance(cause, ssl.SSLCertVerificationError) or _reason(cause) in _OTHER_LANGUAGE for cause in _causes(error)
    )


def why_unreached(error: BaseException, settings: LLMSettings) -> str:
    """The cause of a missing connection: an unknown name, a refusal, silence."""
    where = settings.proxy_host or settings.host
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return f"the name {where} is not known here: {cause.strerror}"
        if isinstance(cause, ConnectionRefusedError):
            return "the connection was refused"
        if type(cause).__name__ in ("ConnectTimeout", "TimeoutError"):
            return "nobody answers there"
    return str(error.__cause__ or error) or type(error).__name__


def why_broken(error: BaseException) -> str:
    """Why a connection broke off, in the words of the first cause that has any."""
    return next(filter(None, map(str, _causes(error))), type(error).__name__)


def _reason(error: BaseException) -> str | None:
    return getattr(error, "reason", None) if isinstance(error, ssl.SSLError) else None


def _whose(settings: LLMSettings) -> str:
    encrypted_proxy = (settings.proxy or "").startswith("https://")
    return f"{settings.host} (or of the proxy {settings.proxy_host})" if encrypted_proxy else settings.host


def _flaw(error: ssl.SSLCertVerificationError) -> str:
    code, words = error.verify_code, error.verify_message
    if code in _OTHER_NAME:
        return f"it is for another name ({words}); base_url has to say the name that is in the certificate"
    if code == _EXPIRED:
        return "it has expired; whoever runs the server has to renew it (or this machine's clock is wrong)"
    if code == _NOT_YET:
        return "it is not valid yet; is this machine's clock right?"
    if code in (_SELF_SIGNED, _SELF_SIGNED_CHAIN):
        return f"it is self-signed. If it is yours or your company's, {_TRUST}"
    return f"{words}. If it comes from your company, {_TRUST}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        for tried in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
            yield from _causes(tried)  # Each address of a name has an error of its own.
        error = error.__cause__ or error.__context__
