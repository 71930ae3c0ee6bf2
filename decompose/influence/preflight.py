"""What can be known before influence is measured: the model that is named, and the intents in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from apportion.decompose.influence.chat_text import place_of
from apportion.decompose.method_settings import MeasurerSettings
from apportion.decompose.methods import METHODS
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError
from apportion.foundation.files import remembered_digest

FORM = '{"session_id": "s1", "turn": 4, "desired": ["…"], "undesired": ["…"]}'


@dataclass(frozen=True)
class Intent:
    """Replies to one utterance, as the speaker would like the follower to give them, and would not (K of each)."""

    desired: tuple[str, ...]
    undesired: tuple[str, ...]

    def told(self, by: Callable[[str], str]) -> Intent:
        """The same in other words."""
        return Intent(tuple(map(by, self.desired)), tuple(map(by, self.undesired)))


def read_intents(path: Path) -> Mapping[tuple[str, int], Intent]:
    """The intents in a JSON Lines file, by session and turn; a turn without a row has none.

    Raises InputError: The file cannot be read, a line is no intent, or two are about one turn.
    """
    try:
        return _read(path, remembered_digest(path))
    except OSError as error:
        raise InputError(
            f"decompose.influence.intents = '{path}': cannot be read ({error.strerror or error}). Name a JSON Lines "
            f"file with lines as {FORM}."
        ) from None


@lru_cache(maxsize=4)
def _read(path: Path, digest: str) -> Mapping[tuple[str, int], Intent]:
    found: dict[tuple[str, int], Intent] = {}
    # Not splitlines(): a reply may hold U+2028 and the like unescaped.
    for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        key, intent = _intent(line, where)
        if key in found:
            raise InputError(f"{where}: session {key[0]}, turn {key[1]} has an intent already. Keep one of them.")
        found[key] = intent
    return found


def _intent(line: str, where: str) -> tuple[tuple[str, int], Intent]:
    try:
        row: Any = json.loads(line)
        session, turn = row["session_id"], row["turn"]
        sides = tuple(tuple(row[side]) for side in ("desired", "undesired"))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        cause = f"{type(error).__name__}: {str(error)[:100]}"
        raise InputError(f"{where}: no intent ({cause}); give {FORM}.") from None
    texts = [text for side in sides for text in side]
    usable = isinstance(session, str) and isinstance(turn, int) and not isinstance(turn, bool)
    if not usable or not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InputError(f"{where}: an intent has a session, a turn's number and at least one reply with text: {FORM}.")
    return (session, turn), Intent(*sides)


def check_influence(settings: DecomposeSettings) -> None:
    """What can be known without a model's weights and without asking anybody.

    Raises InputError: No model is named, or its folder is not there; a file of intents that cannot be read.
    """
    for method in (METHODS[name] for name in settings.methods):
        if method.measures_here:
            place_of(named_model(settings.section_of(method), method.name))
        if method.reads("influence") and settings.influence.intents is not None:
            read_intents(settings.influence.intents)


def named_model(chosen: MeasurerSettings, method: str) -> str:
    """The model on this machine that measures for ``method``.

    Raises InputError: None is named.
    """
    if chosen.model is None:
        raise InputError(
            f"decompose.{method.replace('-', '_')}.model: the method {method!r} measures with a language model on this "
            "machine, and none is named. Give smollm2 (`apportion models fetch smollm2`), a folder or a name on the "
            "Hugging Face Hub, make a small one with `apportion train measurer CORPUS`, or use "
            f"{method}-served, which asks a server."
        )
    return chosen.model
