"""What a reader has to know of the methods of one run, beside their names."""

from __future__ import annotations

from collections.abc import Iterable

from apportion.corpus.session import Episode
from apportion.decompose.method import MixedObjective, Projected, Raw
from apportion.decompose.method_settings import RRDSettings
from apportion.decompose.methods import METHODS
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import configured


def longest_episode(episodes: Iterable[Episode]) -> int:
    """The most target turns (T) that any episode has; 0 where there is none."""
    return max((len(episode.target_turns) for episode in episodes), default=0)


def method_notes(settings: DecomposeSettings, longest: int) -> tuple[str, ...]:
    """A sentence for each thing that tells the run's methods apart and that no table shows: how turns are drawn.

    It is told only where some dialogue has more of them than are drawn. ``longest`` is the number of target turns of
    the longest dialogue.
    """
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
        elif not isinstance(METHODS[name], MixedObjective):
            whole.append(name)
    notes = [f"{', '.join(names)}: {text}." for text, names in by_text.items()]
    if len(whole) > 1:
        notes.append(
            f"{', '.join(whole)}: no dialogue has more than {longest} turns, so that all are taken and none is drawn; "
            "these losses are one and the same."
        )
    return tuple(notes)


def own_units(settings: DecomposeSettings) -> tuple[str, ...]:
    """The run's methods whose rewards are in units of their own: nothing brought them to those of the score."""
    soft = settings.constraint == "soft"
    methods = [configured(METHODS[name], settings) for name in settings.methods]
    return tuple(m.name for m in methods if isinstance(m.scale, Raw) or (soft and isinstance(m.scale, Projected)))


def same_as(name: str, among: Iterable[str], settings: DecomposeSettings, longest: int) -> str | None:
    """Why ``name`` says again what a method of ``among`` says, on dialogues of at most ``longest`` turns; None for not.

    So it is with randomized return decomposition where no dialogue has more turns than it draws, and with a signal
    alone where every method's numbers are kept and are to sum to the score.
    """
    others = [other for other in among if other != name]
    own = METHODS[name]
    if isinstance(own.scale, Raw) and settings.constraint == "soft" and settings.target == "score":
        return next((f"constraint = soft makes {o} the same" for o in others if METHODS[o].load == own.load), None)
    if not _takes_all(name, settings, longest):
        return None
    again = next((other for other in others if _takes_all(other, settings, longest)), None)
    return again and f"no dialogue has more than {longest} turns to draw from, so that it is {again} again"


def _takes_all(name: str, settings: DecomposeSettings, longest: int) -> bool:
    """Whether it is randomized return decomposition, unmixed, and no dialogue has more turns than it draws."""
    drawn = _rrd_of(name, settings)
    return drawn is not None and not isinstance(METHODS[name], MixedObjective) and longest <= drawn.k


def _rrd_of(name: str, settings: DecomposeSettings) -> RRDSettings | None:
    """The settings of the randomized return decomposition in a method; None where there is none in it."""
    method = METHODS[name]
    section = settings.section_of(method.whole if isinstance(method, MixedObjective) else method)
    return section if isinstance(section, RRDSettings) else None
