"""Which languages a method understands, and what it leaves out of a corpus that is in others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from apportion.corpus.languages.names import TOGETHER, in_words, is_foreign, understands
from apportion.corpus.languages.settling import languages_listed
from apportion.corpus.session import Session
from apportion.decompose.method import Method, MixedObjective, PretrainedReactions, ReactionMethod, StackedMethod
from apportion.decompose.methods import METHODS
from apportion.decompose.reactions.pretrained import read_prior
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import counted

WRONG = "If that is not their language, correct the column `language` of the table `sessions`."


def understood(method: Method, settings: DecomposeSettings) -> frozenset[str] | None:
    """The languages that ``method`` understands under these settings; None for all.

    A classifier of sentiment that somebody names, and words that they give, are theirs to choose; a model of reactions
    understands what taught it.
    """
    section = settings.section_of(method)
    if section is settings.sentiment and settings.sentiment.classifier != "vader":
        return None
    if section is settings.zero_shot and not settings.zero_shot.in_english:
        return None
    if isinstance(method, PretrainedReactions) and method.languages is None and section.pretrained is not None:
        with suppress(InputError):  # Who uses it is told why it cannot be read.
            return read_prior(section.pretrained).card.languages
    return method.languages


def language_notes(settings: DecomposeSettings, sessions: Mapping[str, Session], rating: str | None) -> tuple[str, ...]:
    """A sentence for each of the run's methods that leaves sessions out, whole or in part, for their language."""
    rated = {name: session for name, session in sessions.items() if session.episodes(rating)}
    foreign = [name for name, session in rated.items() if is_foreign(session.language)]
    if not foreign:
        return ()
    told = [
        f"{called} understands {_named(languages)} and says nothing of {_of(out, rated)}"
        for name in settings.methods
        for called, languages in _signals(METHODS[name], settings)
        if (out := [name for name in rated if not understands(languages, rated[name].language)])
    ]
    unsure = [name for name, session in rated.items() if session.language is None]
    if told and unsure:
        told.append(f"{counted(unsure, 'session')} too short to tell the language: taken for one that is understood")
    reading = [name for name in settings.methods if _reads_cues(METHODS[name])]
    if reading:
        told.append(
            f"{', '.join(map(repr, reading))}: the cues of a reply that are English words (tone, thanks, yes and no) "
            f"leave out {_of(foreign, rated)}; how long it is, whether it asks and what it repeats are read"
        )
    return tuple(f"{sentence}." for sentence in told)


def check_understood(
    methods: Iterable[Method], settings: DecomposeSettings, sessions: Mapping[str, Session], rating: str | None
) -> None:
    """Raise InputError where one of the methods, or the local part of one, understands no session at all."""
    rated = {name: session for name, session in sessions.items() if session.episodes(rating)}
    for method in methods:
        if isinstance(method, StackedMethod):
            continue
        for called, languages in _signals(method, settings):
            if rated and not any(understands(languages, session.language) for session in rated.values()):
                raise InputError(
                    f"decompose: {called} understands {_named(languages)}, and there is only "
                    f"{_of(list(rated), rated)}. Leave it out: 'uniform' and methods that ask a language model take "
                    f"every language. {WRONG}"
                )


def _signals(method: Method, settings: DecomposeSettings) -> Iterator[tuple[str, frozenset[str] | None]]:
    """What a method reads by itself, as a person calls it, with the languages that it understands."""
    if isinstance(method, MixedObjective):
        yield f"{method.name!r}: its part {method.local.name!r}", understood(method.local, settings)
    elif isinstance(method, StackedMethod) and settings.section_of(method) is settings.stacking:
        for name in settings.stacking.components:
            if isinstance(METHODS.get(name), PretrainedReactions):
                yield f"{method.name!r}: its source {name!r}", understood(METHODS[name], settings)
    else:
        yield repr(method.name), understood(method, settings)


def _reads_cues(method: Method) -> bool:
    return isinstance(method, ReactionMethod) and not isinstance(method, PretrainedReactions)


def _named(languages: frozenset[str] | None) -> str:
    return in_words(TOGETHER.join(sorted(languages or ()))) + " alone"


def _of(names: list[str], sessions: Mapping[str, Session]) -> str:
    """``20 sessions (a, b, c, …): 12 German (de), 8 Chinese (zh)``."""
    return f"{counted(names, 'session')}: {languages_listed(sessions[name].language for name in names)}"
