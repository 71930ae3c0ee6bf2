"""What a reader has to know of the methods of one run, beside their names."""

from __future__ import annotations

from collections.abc import Iterable

from corpus.session import Episode
from decompose.identity import configured
from decompose.methods import METHODS
from decompose.settings import DecomposeSettings, RRDSettings


def longest_episode(episodes: Iterable[Episode]) -> int:
    """The most target turns (T) that any episode has; 0 where there is none."""
    return max((len(episode.target_turns) for episode in episodes), default=0)


def method_notes(settings: DecomposeSettings, longest: int) -> tuple[str, ...]:
    """A sentence for each thing that tells the run's methods apart and that no table shows.

    ``longest`` is the number of target turns of the longest dialogue.
    """
    return _drawing(settings, longest)


def own_units(settings: DecomposeSettings) -> tuple[str, ...]:
    """The run's methods whose rewards are in units of their own: nothing brought them to those of the score."""
    soft = settings.constraint == "soft"
    methods = [configured(METHODS[name], settings) for name in settings.methods]
    return tuple(m.name for m in methods if m.unprojected or (soft and not (m.reward_units or m.attribution)))


def same_as(name: str, among: Iterable[str], settings: DecomposeSettings, longest: int) -> str | None:
    """The method of ``among`` that does the same as ``name`` on dialogues of at most ``longest`` turns; None for none.

    So it is with randomized return decomposition where no dialogue has more turns than it draws.
    """
    own = _rrd_of(name, settings)
    if own is None or longest > own.k or METHODS[name].whole is not None:
        return None
    for other in among:
        drawn = _rrd_of(other, settings)
        if other != name and drawn is not None and longest <= drawn.k and METHODS[other].whole is None:
            return other
    return None


def _drawing(settings: DecomposeSettings, longest: int) -> tuple[str, ...]:
    """How turns are drawn, told only where some dialogue has more of them than are drawn."""
    by_text: dict[str, list[str]] = {}
    whole = []
    for name in settings.methods:
        rrd = _rrd_of(name, settings)
        if rrd is None:
            continue
        if longest > rrd.k:
            loss = "corrected" if rrd.corrected else "published (biased)"
            text = f"K = {rrd.k} turns drawn of up to {longest}, {loss} loss"
            by_text.setdefault(text, []).append(name)
        elif METHODS[name].whole is None:
            whole.append(name)
    notes = [f"{', '.join(names)}: {text}." for text, names in by_text.items()]
    if len(whole) > 1:
        notes.append(
            f"{', '.join(whole)}: no dialogue has more than {longest} turns, so that all are taken and none is drawn; "
            "these losses are one and the same."
        )
    return tuple(notes)


def _rrd_of(name: str, settings: DecomposeSettings) -> RRDSettings | None:
    """The settings of the randomized return decomposition in a method; None where there is none in it."""
    method = METHODS[METHODS[name].whole or name]
    section = settings.section_of(method)
    return section if isinstance(section, RRDSettings) else None
