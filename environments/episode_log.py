"""The log of many episodes: JSON Lines, an act a line, from which every episode can be played again.

The first line of an episode says what it is, the last how it ended; lines of episodes that are played at the same time
may mix. A line that a kill has cut off is the last one, and is dropped.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from apportion.environments.actions import unrated, unusable_of
from apportion.environments.environment import Action, AgentAction, Step
from apportion.foundation.errors import UnitError
from apportion.foundation.files import canonical_json, take_lines

LOG = "episodes.jsonl"
"""Its name in a corpus folder."""
UNRATED = "unrated"
"""The field of a closing that says why an episode has no score."""
MOST = "most_unusable"
"""The field of a closing that says which share of acts might be unusable; there where any is."""


@dataclass
class LoggedEpisode:
    """What a log holds of one episode.

    ``opening`` is what `EpisodeLog.begin` was given; ``steps`` the moves so far; ``closing`` what `EpisodeLog.end` was
    given, None where the episode has not ended.
    """

    opening: Mapping[str, Any]
    steps: list[Step] = field(default_factory=list)
    closing: Mapping[str, Any] | None = None

    @property
    def rated(self) -> bool:
        """Whether it has ended with a score."""
        return self.closing is not None and self.unrated is None

    @property
    def unrated(self) -> str | None:
        """Why it has ended without a score, in words; None where it has one, or has not ended.

        A log of before there was such a share has the mark of each act, by which its episodes are held to the default.
        """
        if self.closing is None or UNRATED in self.closing or MOST in self.closing:
            return (self.closing or {}).get(UNRATED)
        why = unrated(self.steps)
        return why and f"{why} (its log is from before that was looked at)"


class EpisodeLog:
    """Appends to one log file; safe to use from many threads at once.

    ``path``: The file; `read_log` first, which cuts off what a kill has left.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        self._lock = threading.Lock()

    def begin(self, episode: str, opening: Mapping[str, Any]) -> None:
        """Write what an episode is."""
        self._write({"episode": episode, "begin": opening}, sync=False)

    def moves(self, episode: str, step: int, moves: Step, *, sync: bool) -> None:
        """Write the moves of one step; with ``sync`` they are on the disk when this returns."""
        acts = [[move.agent, *move.act.record()] for move in moves]
        self._write({"episode": episode, "step": step, "acts": acts}, sync=sync)

    def end(self, episode: str, closing: Mapping[str, Any]) -> None:
        """Write how an episode ended."""
        self._write({"episode": episode, "end": closing}, sync=False)

    def sync(self) -> None:
        """Bring everything written onto the disk."""
        with self._lock:
            self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.sync()
        self._file.close()

    def _write(self, line: Mapping[str, Any], *, sync: bool) -> None:
        data = canonical_json(line).encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            self._file.write(data)
        if sync:
            self.sync()


def read_log(path: Path, *, mend: bool = False) -> dict[str, LoggedEpisode]:
    """Read a log.

    ``path``: The file; a missing one holds nothing. ``mend``: Cut the last line off the file where it has no end:
    somebody was killed while writing it. Returns: By id, in the order in which they began. Raises InputError: A line
    that is damaged, by number.
    """
    episodes: dict[str, LoggedEpisode] = {}
    advice = "Delete the line and those after it to go on from there, or the file to begin anew"
    take_lines(path, lambda line: _take(line, episodes), mend=mend, what="an episode log", advice=advice)
    return episodes


def _take(line: dict[str, Any], episodes: dict[str, LoggedEpisode]) -> None:
    name = line["episode"]
    if not isinstance(name, str):
        raise ValueError("episode is not text")
    if "begin" in line:
        if name in episodes:
            raise ValueError(f"episode {name!r} begins twice")
        episodes[name] = LoggedEpisode(dict(line["begin"]))
        return
    if name not in episodes:
        raise ValueError(f"episode {name!r} has not begun")
    episode = episodes[name]
    if episode.closing is not None:
        raise ValueError(f"episode {name!r} has ended before")
    if "end" in line:
        episode.closing = dict(line["end"])
        return
    if line["step"] != len(episode.steps):
        raise ValueError(f"step {line['step']!r} of episode {name!r} where step {len(episode.steps)} is expected")
    episode.steps.append(tuple(AgentAction(str(agent), Action.of(act)) for agent, *act in line["acts"]))


def unusable_told(logged: Iterable[LoggedEpisode]) -> str:
    """How many acts of which agent were unusable, and how many episodes have no score for it; empty without any."""
    stand, acts, without = Counter[str](), Counter[str](), 0
    for episode in logged:
        called = {str(seat): str(agent) for seat, agent in episode.opening["agents"]}
        for seat, (some, all_) in unusable_of(episode.steps).items():
            stand[called.get(seat, seat)] += some
            acts[called.get(seat, seat)] += all_
        without += episode.closing is not None and not episode.rated
    told = [f"{agent} {some:,} of {acts[agent]:,}" for agent, some in sorted(stand.items()) if some]
    return f"Unusable acts: {', '.join(told)}. Sessions without a score for it: {without:,}." if told else ""


def check_same(name: str, logged: LoggedEpisode, opening: Mapping[str, Any]) -> None:
    """Refuse to go on with an episode that is another one in the log.

    Raises UnitError: the log's episode was begun with other values.
    """
    for key in {**logged.opening, **opening}:
        was, now = logged.opening.get(key), opening.get(key)
        if was != now:
            raise UnitError(
                f"episode {name!r}: {key} is {now!r:.120}, and {was!r:.120} in the log; "
                "give another folder, or the settings of before"
            )
