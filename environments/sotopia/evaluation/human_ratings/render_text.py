"""An episode for a person to read: labels of ours, and behind them strangers' words, which no terminal obeys."""

from __future__ import annotations

from collections.abc import Iterator

from apportion.environments.sotopia.evaluation.episode import ReadEpisode
from apportion.environments.sotopia.observation import LEAVE, NONE, SPEAK
from apportion.environments.terminal.sanitize import block, printable

PARTLY = (
    "(Nobody knew the goal or the secret of another; of a profile one knows what the relationship lets one know, which "
    "may be nothing.)"
)
"""What raters are told before they rate (Figure E.4)."""
_DOES = {SPEAK: ": ", NONE: " does nothing", LEAVE: " leaves"}
_MUTE = (NONE, LEAVE)


def labelled(episode: ReadEpisode) -> Iterator[tuple[str, str]]:
    """Labels, and the words behind each; who played whom (a model, a person) is not among them.

    Raters must not know who played: labels have what the episode itself holds, and neither its source nor its id.
    """
    names = {person.label: printable(person.name) for person in episode.people}
    for known in episode.known_to_all:
        yield f"{known.kind.capitalize()}: ", known.text
    for person in episode.people:
        for known in person.known:
            yield f"{printable(person.name)}, {known.kind}: ", known.text
    yield "", PARTLY
    for number, act in enumerate(episode.acts, start=1):
        label = f"#{number} {names[act.label]}{_DOES.get(act.kind, f' [{act.kind}] ')}"
        yield label, "" if act.kind in _MUTE else act.text


def as_text(sign: str, episode: ReadEpisode, width: int = 100) -> str:
    """The same as lines of at most ``width`` columns, under a sign that stands for the episode."""
    head = f"===== {sign} ====="
    return "\n".join([head, *(block(label, words, width) for label, words in labelled(episode))]) + "\n"
