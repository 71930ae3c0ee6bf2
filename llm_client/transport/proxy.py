"""The way to a server: straight, or through the proxy that the configuration names and nobody else does."""

from __future__ import annotations

import ipaddress
import os
import ssl
from importlib.util import find_spec
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from apportion.llm_client.errors import RouteError, SetupError
from apportion.llm_client.settings import STRAIGHT, LLMSettings
from apportion.llm_client.transport.body import library_of


def require_named_route(settings: LLMSettings) -> None:
    """Raise RouteError or SetupError where the way to the server is one that nobody has chosen, or that cannot be gone.

    A server on this machine is asked straight, whatever the environment says.
    """
    if settings.proxy_host is not None:
        proxy_address(settings)
    elif settings.proxy is None and not settings.is_loopback and (named := _environment_proxy(settings)) is not None:
        variable, address = named
        login = "" if "@" not in address else ", and proxy_auth_env for its user name and password"
        proxy = _without_login(address)
        raise RouteError(
            f"{variable} names the proxy {proxy} for {settings.host}, and text goes through no proxy that the settings "
            f"do not name. Set proxy = {proxy!r} to use it{login}; or proxy = {STRAIGHT!r} to go straight. Nothing was "
            "sent."
        )


def proxy_address(settings: LLMSettings) -> str | None:
    """The proxy with its user name and password, fit for no message; None where requests go straight.

    Raises
    ------
    SetupError
        The login is not where ``proxy_auth_env`` says, or this kind of proxy needs a package that is not installed.
    """
    if settings.proxy is None or settings.proxy == STRAIGHT:
        return None
    if settings.proxy.startswith("socks") and find_spec("socksio") is None:
        raise SetupError(
            f"proxy = {settings.proxy!r} needs the package socksio, which is not installed. Run `pip install socksio`, "
            "or name an http proxy."
        )
    if settings.proxy_auth_env is None:
        return settings.proxy
    user, colon, password = os.environ.get(settings.proxy_auth_env, "").strip().partition(":")
    if not colon:
        raise SetupError(
            f"no login for the proxy {settings.proxy}: the environment variable {settings.proxy_auth_env} does not "
            f"hold USER:PASSWORD. Run `export {settings.proxy_auth_env}=…`, or leave proxy_auth_env out."
        )
    return settings.proxy.replace("://", f"://{quote(user, safe='')}:{quote(password, safe='')}@", 1)


def tls_context(settings: LLMSettings) -> ssl.SSLContext:
    """Which certificates are trusted: the system's, or those of SSL_CERT_FILE or SSL_CERT_DIR. Dear: make it once.

    Raises
    ------
    SetupError
        The variables name what cannot be read.
    """
    import openai

    if not f"{settings.url} {settings.proxy}".count("https://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # Trusts nobody, and is never asked.
    # Each of the SDK's HTTP libraries knows where a system keeps its certificates.
    try:
        context: ssl.SSLContext = library_of(openai.DefaultHttpxClient).create_ssl_context()
    except OSError as error:
        names = {name: os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")}
        told = ", ".join(f"{name} = {value!r}" for name, value in names.items() if value)
        raise SetupError(
            f"the trusted certificates cannot be read ({error.strerror or error}; {told or 'the system has none'}). "
            "SSL_CERT_FILE names a file in PEM form, SSL_CERT_DIR a folder of them."
        ) from None
    return context


def environment_proxies() -> list[tuple[str, str]]:
    """The environment's proxies: what names one, and its address without a login."""
    proxies = getproxies()
    return [(_named(name), _without_login(proxies[name])) for name in ("http", "https", "all") if proxies.get(name)]


def _environment_proxy(settings: LLMSettings) -> tuple[str, str] | None:
    """What names a proxy for the server, and the address that it gives."""
    scheme, host = urlsplit(settings.url).scheme, settings.host
    proxies = getproxies()
    name = next((name for name in (scheme, "all") if proxies.get(name)), None)
    if name is None or proxy_bypass(urlsplit(settings.url).netloc) or _in_a_network(host, proxies.get("no", "")):
        return None
    return _named(name), proxies[name]


def _named(name: str) -> str:
    variables = [variable for variable in (f"{name}_proxy", f"{name.upper()}_PROXY") if os.environ.get(variable)]
    return f"the environment variable {variables[0]}" if variables else "the system"


def _in_a_network(host: str, excepted: str) -> bool:
    """Whether one of the networks in NO_PROXY, such as 10.0.0.0/8, holds ``host``."""
    for entry in excepted.split(","):
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False


def _without_login(address: str) -> str:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an address that cannot be read)"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{port}"
