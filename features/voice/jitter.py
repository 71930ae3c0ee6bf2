"""Jitter: how irregular the voice's periods are, a sign of tension or roughness. Two definitions, by name.

``praat`` (``jitter_local``, a fraction): mean |T_i - T_(i-1)| / mean T over neighbouring glottal periods T. Source:
Praat's "Get jitter (local)"; Boersma and Weenink, Praat.

``disvoice`` (``jitter_disvoice``, per cent): mean of 100 * |F0[n+1] - F0[n]| / max(F0) over voiced frames of 20 ms.
Source: jitter of LLM-GELI section 5.1, which is DisVoice's; Vasquez-Correa et al., DisVoice. It follows intonation as
much as roughness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from apportion.features.settings import FeatureSettings
from apportion.features.time_series import Span
from apportion.features.voice.pitch import Range, track_pitch
from apportion.foundation.arrays import Floats

SHORTEST_S, LONGEST_S, LARGEST_FACTOR = 1e-4, 0.02, 1.3
"""Praat's defaults for which neighbouring glottal pulses make a period."""
DISVOICE_STEP_S = 0.02


class Jitter(Protocol):
    """What can tell the jitter of any stretch of one track."""

    @property
    def feature(self) -> str:
        """The name that it goes by in the tables."""

    def over(self, spans: Sequence[Span]) -> float | None:
        """Jitter over ``spans``, seconds on the track's clock; None where no voice sounds."""

    def then(self, later: Self) -> Self:
        """This and the jitter of the ``later`` block of the same track as one."""


def track_jitter(sound: Any, pulses: Any, settings: FeatureSettings, range_hz: Range, core: Span) -> Jitter:
    """Prepare the jitter that ``settings`` names from a ``parselmouth.Sound`` and its glottal pulses (None: too short).

    ``range_hz``: of the pitch. Only ``core`` (seconds) of the sound is told of.
    """
    if settings.jitter == "praat":
        return PraatJitter(pulses)
    frames = track_pitch(sound, range_hz, DISVOICE_STEP_S)
    if frames is None:
        return DisvoiceJitter(np.zeros(0), np.zeros(0))
    times_s, f0_hz = frames.xs(), frames.selected_array["frequency"].astype(np.float64)
    inside = (times_s >= core[0]) & (times_s < core[1])
    return DisvoiceJitter(times_s[inside], f0_hz[inside])


@dataclass(frozen=True)
class PraatJitter:
    """Praat's local jitter, from the glottal ``pulses`` of a track (a Praat point process, None: too short)."""

    pulses: Any
    feature: str = "jitter_local"

    def over(self, spans: Sequence[Span]) -> float | None:
        """Local jitter, a fraction."""
        return jitter_local(self.pulses, spans)

    def then(self, later: Self) -> Self:
        """See ``Jitter.then``."""
        from parselmouth.praat import call

        if self.pulses is None or later.pulses is None:
            return self if later.pulses is None else later
        return type(self)(call([self.pulses, later.pulses], "Union"))


@dataclass(frozen=True)
class DisvoiceJitter:
    """DisVoice's jitter, from f0 at steps of 20 ms: ``times_s`` [F] and ``f0_hz`` [F], 0 where unvoiced."""

    times_s: Floats
    f0_hz: Floats
    feature: str = "jitter_disvoice"

    def over(self, spans: Sequence[Span]) -> float | None:
        """DisVoice's jitter, per cent."""
        inside = [self.f0_hz[(self.times_s >= a) & (self.times_s < b)] for a, b in spans]
        return jitter_disvoice(np.concatenate(inside)) if inside else None

    def then(self, later: Self) -> Self:
        """See ``Jitter.then``."""
        return type(self)(
            np.concatenate([self.times_s, later.times_s]), np.concatenate([self.f0_hz, later.f0_hz]), self.feature
        )


def find_pulses(sound: Any, pitch: Any, core: Span) -> Any:
    """Praat's point process (glottal pulses) of a sound with its pitch, within ``core``; None without pitch."""
    from parselmouth.praat import call

    if pitch is None:
        return None
    pulses = call([sound, pitch], "To PointProcess (cc)")
    for start_s, end_s in ((sound.xmin, core[0]), (core[1], sound.xmax)):
        if start_s < end_s:
            call(pulses, "Remove points between", start_s, end_s)
    return pulses


def jitter_local(pulses: Any, spans: Sequence[Span]) -> float | None:
    """Praat's local jitter over ``spans``: mean |T_i - T_(i-1)| / mean T, a fraction; None where no voice sounds.

    ``spans`` are seconds on the recording's clock; several are averaged, weighted by their number of periods.
    """
    from parselmouth.praat import call

    total, weights = 0.0, 0
    for start_s, end_s in spans if pulses is not None else ():
        limits = (start_s, end_s, SHORTEST_S, LONGEST_S, LARGEST_FACTOR)
        # Praat reads an empty range (0, 0) as "everything".
        value = call(pulses, "Get jitter (local)", *limits) if end_s > start_s else np.nan
        if np.isfinite(value):
            periods = int(call(pulses, "Get number of periods", *limits))
            total, weights = total + value * periods, weights + periods
    return total / weights if weights else None


def jitter_disvoice(f0_hz: Floats) -> float | None:
    """DisVoice's jitter of ``f0_hz`` [F] (0 where unvoiced), per cent; None with fewer than two voiced frames.

    As in DisVoice, unvoiced frames are dropped first, so that a step over a pause counts as well. DisVoice's own
    mean also counts a last, empty difference as 0; ours is the mean of the differences that there are.
    """
    voiced = f0_hz[f0_hz > 0]
    if len(voiced) < 2:
        return None
    return float(np.mean(100.0 * np.abs(np.diff(voiced)) / np.max(voiced)))
