"""How fast a server wants to be asked, learnt from when it says that there are too many requests."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_SEEN_S, _SEEN_REQUESTS = 10.0, 10
"""What a server takes is counted over so long, and over so many requests where they are few."""
_GRAIN_S = 0.5
_SLOWEST = 1 / 60
"""Requests a second: what is slower is left to the pauses that the server asks for."""
_FIRST_ROUND_S, _FIRST_ROUND_REQUESTS, _FIRST_STEP = 1.0, 2, 0.5
_LATER_ROUND_S, _LATER_ROUND_REQUESTS, _LATER_STEP = 5.0, 4, 0.025
_LARGEST_STEP = 1.0
_LEAST_CUT, _DEEPEST_CUT = 0.92, 0.5
_STEPS_TO_ALL = 16
_LATE_S = 0.02


@dataclass
class Sent:
    """Requests that went out at about the same time, from ``at_s`` on; ``refused`` of them were too many."""

    at_s: float
    round: int
    count: int = 0
    refused: int = 0


class Pace:
    """Requests a second and at once that a server takes, as far as it has shown; free until it refuses the first.

    The first refusal sets the pace to what the server took until the time at which it wants to be asked again. From
    then on the pace rises while nothing is refused, slowly at first and then in larger steps, and falls with each
    round of refusals: all those of requests that were sent before the last fall are one round. A server that refuses at
    a pace which it has kept before is asked half as much at once, too, and then one sixteenth more with each round of
    successes.

    ``most_at_once``: requests under way at once where nothing was refused. ``clock``: seconds that never run backwards.
    """

    def __init__(self, most_at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most_at_once, clock
        self._at_once = float(most_at_once)
        self._rate: float | None = None
        self._sent: deque[Sent] = deque()
        self._held_until = self._next_at = self._changed_at = clock()
        self._round, self._fell_in = 0, -1
        self._round_s, self._round_requests, self._step = _FIRST_ROUND_S, _FIRST_ROUND_REQUESTS, _FIRST_STEP
        self._waited = self._took = self._rose = self._lost = False
        self._before: tuple[float | None, float] = None, self._at_once

    @property
    def at_once(self) -> int:
        """Requests that may be under way at once, from 1 to ``most_at_once``; 1 while nobody knows if one arrives."""
        return 1 if self._lost else int(self._at_once)

    @property
    def rate(self) -> float | None:
        """Requests a second; None while the server has refused none."""
        return self._rate

    def wait_s(self) -> float:
        """Seconds until the next request may go out."""
        now = self._clock()
        if self._rate is not None and self._next_at > now:
            self._waited = True
            return max(self._next_at, self._held_until) - now
        return max(0.0, self._held_until - now)

    def send(self) -> Sent:
        """A request goes out; what is returned tells later which it was."""
        now = self._clock()
        if not self._sent or now - self._sent[-1].at_s > _GRAIN_S or self._sent[-1].round != self._round:
            self._sent.append(Sent(now, self._round))
            self._forget(now)
        self._sent[-1].count += 1
        if self._rate is not None:
            self._rise(now)
            # A timer is late by a little: what is lost by that is caught up where requests follow closely.
            self._next_at = max(self._next_at, now - max(0.0, _LATE_S - 1 / self._rate)) + 1 / self._rate
        return self._sent[-1]

    def took(self, sent: Sent) -> None:
        """The server has answered one of ``sent`` as it should."""
        self._took = True
        if self._at_once < self._most:
            self._at_once = min(self._most, self._at_once + max(1.0, self._most / _STEPS_TO_ALL) / self._at_once)

    def refuse(self, sent: Sent, wait_s: float) -> bool:
        """One of ``sent`` was too many, and nothing shall go out for ``wait_s``; whether that begins a new round."""
        now = self._clock()
        sent.refused += 1
        self.hold(wait_s)
        begins = self.begins(sent)
        if begins:
            self._fell_in, self._round = self._round, self._round + 1
            # What rose last is at fault: at a pace that had been kept before, it is the requests at once.
            at_once = self._at_once if self._rose or self._rate is None else max(1.0, self._at_once / 2)
            self._before = self._rate, at_once
            if self._rate is None:
                self._round_s, self._round_requests = min(_FIRST_ROUND_S, wait_s), _FIRST_ROUND_REQUESTS
                self._step = _FIRST_STEP
            else:
                self._round_s, self._round_requests = _LATER_ROUND_S, _LATER_ROUND_REQUESTS
                self._step = _LATER_STEP
            self._rose = False
        if sent.round == self._fell_in:
            self._fall(now)
        return begins

    def begins(self, sent: Sent) -> bool:
        """Whether what happens to one of ``sent`` is news: they went out after the last round of bad news."""
        return sent.round == self._round

    def lose(self, sent: Sent, wait_s: float) -> None:
        """One of ``sent`` did not reach the server: nothing goes out for ``wait_s``, and then one at a time."""
        if self.begins(sent):
            self._round += 1
            self.hold(wait_s)
        self._lost = True

    def reach(self) -> None:
        """The server is there."""
        self._lost = False

    def hold(self, seconds: float) -> None:
        """Let nothing out for ``seconds``."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def _fall(self, now: float) -> None:
        """The pace after the round that has begun last, of which one more refusal is known."""
        rate, at_once = self._before
        taken = sum(sent.count - sent.refused for sent in self._sent)
        # Unpaced, all it takes came at the beginning; paced, nothing came while it was not asked.
        until = self._held_until if rate is None else now
        shown = taken / max(until - self._sent[0].at_s, _LATE_S)
        if rate is not None:
            self._rate = max(_SLOWEST, min(rate * _LEAST_CUT, max(shown, rate * _DEEPEST_CUT)))
            self._at_once = at_once
        elif taken:
            self._rate, self._at_once = max(_SLOWEST, shown), at_once
        else:
            # It has shown nothing but that this is too much: one goes ahead.
            self._rate, self._at_once = None, 1.0
        self._next_at, self._changed_at = self._held_until, self._held_until
        self._waited = self._took = False

    def _rise(self, now: float) -> None:
        assert self._rate is not None
        if (
            now - self._changed_at >= max(self._round_s, self._round_requests / self._rate)
            and self._waited
            and self._took
        ):
            self._rate *= 1 + self._step
            self._step = min(2 * self._step, _LARGEST_STEP)
            self._changed_at, self._rose = now, True
            self._waited = self._took = False

    def _forget(self, now: float) -> None:
        seen_s = max(_SEEN_S, _SEEN_REQUESTS / self._rate if self._rate is not None else 0.0)
        while self._sent[0].at_s < now - seen_s:
            self._sent.popleft()
