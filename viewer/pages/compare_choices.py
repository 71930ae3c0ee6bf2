"""What can be held against what: the usual choice, and all of them as links where nothing can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from itertools import combinations, product

from apportion.viewer.data.comparisons.value_sources import ValueSource
from apportion.viewer.pages.links import Links

MOST_CHOICES = 100
"""Choices of a bundle, each at least one file: a run of ten methods has 45 pairs."""
MOST_LINES = 250
"""Lines of a list that a bundle has for each choice: those that differ most."""
Choice = tuple[str, str]
"""What a link is called, and where it leads."""


def usual_voice(known: Sequence[ValueSource], key: str = "") -> ValueSource | None:
    """The voice of that key; else the first that tells turns apart."""
    told = [voice for voice in known if voice.method != "uniform"] or list(known)
    return next((voice for voice in known if voice.key == key), next(iter(told), None))


def chosen_pair(
    known: Sequence[ValueSource], first_key: str = "", second_key: str = ""
) -> tuple[ValueSource, ValueSource] | None:
    """The two voices of those keys; else two that tell turns apart, of both runs where there are two."""
    first = usual_voice(known, first_key)
    others = [voice for voice in known if voice != first]
    if first is None or not others:
        return None
    same = [voice for voice in others if voice.run and (voice.table, voice.method) == (first.table, first.method)]
    return first, usual_voice([*same, *others], second_key) or others[0]


def voice_pairs(known: Sequence[ValueSource]) -> list[tuple[ValueSource, ValueSource]]:
    """Every two voices, those that are shown where none are asked for first."""
    usual = chosen_pair(known)
    pairs = [pair for pair in combinations(known, 2) if usual is None or set(pair) != set(usual)]
    return [*([usual] if usual else []), *pairs][:MOST_CHOICES]


def usual_label(means: Mapping[str, Sized]) -> str:
    """The name that most labels have."""
    return max(means, key=lambda name: len(means[name]), default="")


def labelled_voices(known: Sequence[ValueSource], means: Mapping[str, Sized]) -> list[tuple[ValueSource, str]]:
    """Every voice against every name of labels, those that are shown where none are asked for first."""
    usual = (usual_voice(known), usual_label(means))
    every = [one for one in product(known, means) if one != usual]
    return [*([(usual[0], usual[1])] if usual[0] and usual[1] else []), *every][:MOST_CHOICES]


def policy_pairs(policies: Sequence[str]) -> list[tuple[str, str]]:
    """Every two policies."""
    return list(combinations(policies, 2))[:MOST_CHOICES]


def choices(links: Links, page: str, titles: Sequence[str]) -> tuple[Choice, ...]:
    """A link to each file of a bundle that is the same page of another choice; none on the server, which is asked."""
    if not links.bundled:
        return ()
    return tuple((title, links.page(page, number=number or None)) for number, title in enumerate(titles))
