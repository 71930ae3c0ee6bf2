"""What can be told of a target turn without a model: cues of how it is said, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from apportion.corpus.session import Episode
from apportion.decompose.reactions.cues import SORRY
from apportion.evaluation.error_slices.slices import words_of

FIFTH = 0.2
ALIKE = 0.8
"""Two turns that share so many of their words (Jaccard) say the same."""
FEWEST_WORDS = 3
THIRD = 1 / 3


def traits(episodes: Sequence[Episode]) -> dict[str, NDArray[np.bool_]]:
    """Cues and places of the N target turns of ``episodes``, one episode after the other [shape=(N,)] each.

    No trait looks at the reply or at a reward. A turn without times is neither late nor early.
    """
    parts = [_of_episode(episode) for episode in episodes]
    flags = {
        name: np.concatenate([np.zeros(0, np.bool_), *(part[0][name] for part in parts)])
        for name in (parts[0][0] if parts else {})
    }
    lengths = np.concatenate([np.zeros(0), *(part[1] for part in parts)])
    pauses = np.concatenate([np.zeros(0), *(part[2] for part in parts)])
    flags |= {"cue: among the longest fifth": lengths >= np.quantile(lengths, 1 - FIFTH)} if len(lengths) else {}
    flags |= {"cue: among the shortest fifth": lengths <= np.quantile(lengths, FIFTH)} if len(lengths) else {}
    if np.isfinite(pauses).any():
        known = np.where(np.isfinite(pauses), pauses, -np.inf)
        flags["cue: after one of the longest fifth of pauses"] = known >= np.nanquantile(pauses, 1 - FIFTH)
        flags["cue: begins while the other speaks"] = np.isfinite(pauses) & (pauses < 0)
    return flags


def _of_episode(episode: Episode) -> tuple[Mapping[str, NDArray[np.bool_]], NDArray[np.float64], NDArray[np.float64]]:
    """Flags, lengths in characters and pauses in s (below 0 for an overlap, NaN where unknown) of T target turns."""
    positions = episode.target_positions
    texts = [episode.turns[position].text for position in positions]
    count = len(texts)
    place = np.arange(count)
    flags = {
        "cue: asks a question": np.array(["?" in text for text in texts], np.bool_),
        "cue: regrets or negates (sorry, cannot, …n't)": np.array(
            [SORRY.search(text.lower()) is not None for text in texts], np.bool_
        ),
        "cue: says again what it said": np.array(_repeats(texts), np.bool_),
        "place: the first turn": place == 0,
        "place: the last turn": place == count - 1,
        "place: the first third": (place + 0.5) / max(count, 1) < THIRD,
        "place: the last third": (place + 0.5) / max(count, 1) > 1 - THIRD,
    }
    pauses = [_pause(episode, position) for position in positions]
    return flags, np.array([len(text) for text in texts], np.float64), np.array(pauses, np.float64)


def _repeats(texts: Sequence[str]) -> list[bool]:
    said = [words_of(text) for text in texts]
    return [
        len(words) >= FEWEST_WORDS and any(len(words & old) >= ALIKE * len(words | old) for old in said[:at])
        for at, words in enumerate(said)
    ]


def _pause(episode: Episode, position: int) -> float:
    """Seconds from the end of what was said before to the beginning of the turn."""
    if position == 0 or episode.turns[position - 1].speaker == episode.rating.target:
        return np.nan
    begin, end = episode.turns[position].start_s, episode.turns[position - 1].end_s
    return np.nan if begin is None or end is None else begin - end
