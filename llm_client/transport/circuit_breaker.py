"""All requests to one server together: what a failed try of one means for the others, and when to give up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from apportion.llm_client.errors import LLMError, ServerUnavailableError, SetupError
from apportion.llm_client.transport import retry
from apportion.llm_client.transport.connection import Connection, is_refusal, is_status, may_pass
from apportion.llm_client.transport.connection_errors import is_unreached, why_unreached
from apportion.llm_client.transport.rate_limiting.limits import RateLimits
from apportion.llm_client.transport.rate_limiting.pace import Pace, Sent
from apportion.llm_client.transport.rate_limiting.shared import SharedLimits

_log = logging.getLogger(__name__)
_TELL_AGAIN_S, _LONG_WAIT_S = 60.0, 30.0
_TRIES_OF_ONE = 20
_GO_ON = "Replies received are kept; run the same command again once it does."
_MORE_PATIENT = 3
"""A server that has answered before gets so many times the tries of one that never has: it may be starting anew."""


class CircuitBreaker:
    """Admits tries to the server, and learns from how each ends.

    That the server takes no more now, or cannot be reached, is no failure of the request that met it: all of them wait,
    and one after the other goes on. Only where no request succeeds any more, nothing goes out at all, and whoever asks
    is told why. Must be used on one event loop.
    """

    def __init__(
        self,
        connection: Connection,
        clock: Callable[[], float] = time.monotonic,
        shared: SharedLimits | None = None,
    ) -> None:
        settings = self._settings = connection.settings
        self._connection, self._clock = connection, clock
        self._pace = Pace(settings.concurrency, clock)
        own = (settings.requests_per_minute, settings.tokens_per_minute) if shared is None else (None, None)
        self.limits = RateLimits(*own, clock, pace=self._pace, shared=shared)
        self._asking = 0
        self._vain_since: float | None = None
        self._refused = self._lost = 0  # Rounds of it, without a success or an answer since.
        self._has_answered = False
        self._told_at_s, self._told_rate, self._untold = float("-inf"), float("inf"), False

    def come(self) -> None:
        """A request wants to be sent."""
        self._asking += 1

    def go(self) -> None:
        """A request is over, one way or the other; while there is none, no time passes in vain."""
        self._asking -= 1
        if not self._asking:
            self._vain_since = None

    def succeed(self, sent: Sent) -> None:
        """A try has brought a reply."""
        self._answer()
        self._pace.took(sent)
        self._vain_since, self._refused = None, 0
        if self._untold and self._pace.begins(sent):
            self._tell_pace()

    def fail(self, error: Exception, sent: Sent) -> None:
        """A try has failed.

        Raises
        ------
        SetupError
            The server was never reached.
        ServerUnavailableError
            It takes nothing any more, or is gone.
        """
        if is_refusal(error):
            self._refuse(error, sent)
        elif is_unreached(error) and may_pass(error):
            self._lose(error, sent)
        elif is_status(error) or isinstance(error, ValueError):
            self._answer()

    def hopeless(self, tries: int, since_s: float) -> bool:
        """Whether one request has met nothing but bad luck, ``tries`` times since ``since_s``, while others went on."""
        return tries > _TRIES_OF_ONE and self._clock() - since_s > self._settings.total_timeout_s

    def hold(self, seconds: float) -> None:
        """Send nothing for ``seconds``; more requests would only prolong a storm.

        Raises
        ------
        ServerUnavailableError
            That is longer than a person wants to wait.
        """
        self._pace.hold(seconds)
        if seconds > self._settings.total_timeout_s:
            self._end(
                ServerUnavailableError,
                f"{self._settings.host} asks to come back in {seconds:.0f} s. {self._too_long()}",
            )

    def _answer(self) -> None:
        self._has_answered, self._lost = True, 0
        self._pace.reach()

    def _refuse(self, error: Exception, sent: Sent) -> None:
        self._answer()
        now, rounds = self._clock(), self._refused + self._pace.begins(sent)
        told_s = retry.told_wait_s(error.response.headers) if is_status(error) else None
        # A wait of nothing tells nothing.
        wait_s = told_s or retry.own_wait_s(rounds)
        self._vain_since = now if self._vain_since is None else self._vain_since
        vain_s = now - self._vain_since
        if vain_s + wait_s > self._settings.total_timeout_s:
            asks = f"asks to come back in {wait_s:.0f} s" if told_s else "takes no requests"
            since = f", after {vain_s:.0f} s without a reply" if vain_s >= 1 else ""
            words = self._connection.clean(error)
            self._end(ServerUnavailableError, f"{self._settings.host} {asks}{since}: {words}. {self._too_long()}")
        if self._pace.refuse(sent, wait_s):
            self._refused, self._untold = rounds, True
            if wait_s >= _LONG_WAIT_S and self._may_tell(now):
                _log.warning("%s takes no more requests for %.0f s; waiting", self._settings.host, wait_s)

    def _lose(self, error: Exception, sent: Sent) -> None:
        settings = self._settings
        if not self._pace.begins(sent):
            return
        self._lost += 1
        tries = (settings.max_retries + 1) * (_MORE_PATIENT if self._has_answered else 1)
        if self._lost >= tries:
            self._end_lost(error, tries)
        self._pace.lose(sent, retry.own_wait_s(self._lost))

    def _end_lost(self, error: Exception, tries: int) -> None:
        settings = self._settings
        where = settings.url if settings.proxy_host is None else f"{settings.url} through {settings.proxy}"
        told = f"no connection to {where} in {tries} tries: {why_unreached(error, settings)}. "
        if self._has_answered:
            self._end(ServerUnavailableError, f"{told}It has answered before; does it still run? {_GO_ON}")
        self._end(SetupError, f"{told}Is the server running and base_url right?")

    def _end(self, kind: type[LLMError], text: str) -> None:
        self.limits.end(kind, text)
        raise kind(text) from None

    def _too_long(self) -> str:
        return (
            f"That is beyond total_timeout_s = {self._settings.total_timeout_s:g}. Replies received are kept; run the "
            "same command again then."
        )

    def _tell_pace(self) -> None:
        now, rate = self._clock(), self._pace.rate or 0.0
        self._untold = False
        if rate > self._told_rate / 2 or not self._may_tell(now):
            return
        self._told_rate = rate
        _log.warning(
            "%s says that there are too many requests; going on with %s. requests_per_minute and concurrency set what "
            "your account allows beforehand",
            self._settings.host,
            f"about {rate:.2g} a second" if rate else "one after the other",
        )

    def _may_tell(self, now: float) -> bool:
        may = now - self._told_at_s >= _TELL_AGAIN_S
        self._told_at_s = now if may else self._told_at_s
        return may
