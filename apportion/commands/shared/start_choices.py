"""What `apportion start` settles for its configuration: which score, whose turns, which methods."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.environments.terminal.console import printable
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.corpus.corpus import Corpus

TABLES, CONFIG, RUN = "corpus", "apportion.toml", "run"
"""What lies in OUT."""
CHAT_TARGET = "assistant"


@dataclass(frozen=True)
class Wishes:
    """What the person has said beforehand."""

    options: dict[str, str]
    rating: str | None
    target: str | None
    yes: bool

    def __bool__(self) -> bool:
        return bool(self.options or self.rating or self.target)


def configuration(source: Path, out: Path, folder: Path, kind: str, corpus: Corpus, wishes: Wishes) -> tuple[str, str]:
    """The text of the configuration, and why it has these methods."""
    from apportion.pipeline.default_methods import choose_methods
    from apportion.pipeline.first_rewards import short_config

    ratings = corpus.rating_names()
    rating = _rating(ratings, wishes)
    sessions = {session.session_id: session for session in corpus.iter_sessions()}
    row = choose_methods(sessions, rating)
    target = None if ratings else _target(kind, wishes)
    named = TABLES if folder == out / TABLES else str(folder.resolve())
    text = short_config(printable(source.name or str(source)), named, rating, target, row)
    whose = f"; the turns of {target!r} get rewards (--target WHO says otherwise)" if target else ""
    return text, f"{row}{whose}"


def _rating(names: list[str], wishes: Wishes) -> str | None:
    from apportion.corpus.importers.reading.asking import choose

    if wishes.rating is not None and wishes.rating not in names:
        raise InputError(f"--rating {wishes.rating}: the scores here are {', '.join(names) or 'none'}. Name one.")
    if wishes.rating is not None or len(names) < 2:
        return wishes.rating or next(iter(names), None)
    chosen = choose("Which score is to become rewards?", names)
    if chosen is None:
        raise InputError(
            f"several scores: {', '.join(names)}. Say which is to become rewards: --rating {json.dumps(names[0])}."
        )
    return chosen


def _target(kind: str, wishes: Wishes) -> str:
    """Whose turns get rewards where nobody is rated."""
    from apportion.corpus.importers.reading.asking import choose

    if wishes.target is not None or kind == "chat":
        return wishes.target or CHAT_TARGET
    chosen = choose("No score. Whose turns are to get rewards, by who speaks?", ["second", "first"])
    if chosen is None and not wishes.yes:
        raise InputError(
            "there is no score, so nobody says who is rated. Say whose turns get rewards: --target second (who answers "
            "first), first, or a name."
        )
    return chosen or "second"
