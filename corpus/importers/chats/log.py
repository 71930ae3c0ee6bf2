"""What one import of chats collects on its way, and what is told of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apportion.corpus.builder import CorpusRows, SkippedSession
from apportion.corpus.importers.chats.messages import MessageReader
from apportion.corpus.importers.chats.scales import Scale
from apportion.corpus.importers.reading.asking import say
from apportion.corpus.importers.reading.sources import stem
from apportion.foundation.truncate import counted

UNNAMED = "score"
TOLD_NAME = "the rating is called 'score', and a language model that is asked is told that name"


@dataclass
class ImportLog:
    """The settings of one import and what it collects on its way."""

    options: Mapping[str, str]
    scale: Scale | None
    rows: CorpusRows = field(default_factory=CorpusRows)
    ids: set[str] = field(default_factory=set)
    left_out: list[SkippedSession] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    marked: Counter[str] = field(default_factory=Counter)
    stems: Counter[str] = field(default_factory=Counter)
    turned: list[str] = field(default_factory=list)
    shared: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    odd: str = ""
    name: str | None = None
    """What scores without a name of their own are called."""
    scored: int = 0
    """Chats with a score, whether it can be read or not."""
    unrated: int = 0
    blank: int = 0

    def prefix(self, path: Path) -> str:
        """What the ids of a file's chats begin with: splits of a data set have files of the same names."""
        return stem(path) if self.stems[stem(path)] < 2 else f"{path.parent.name}-{stem(path)}"

    def reader(self, *, of_rows: bool = False) -> MessageReader:
        """What reads messages, by the keys that the options name."""
        keys = (None, None) if of_rows else (self.options.get("speaker"), self.options.get("text"))
        return MessageReader(*keys, self.options.get("rater"), self.options.get("target"))

    def named(self, name: str) -> str:
        """What a rating is called: "score" says nothing, so that a person is asked once for a better name."""
        if name != UNNAMED:
            return name
        if self.name is None:
            said = say(f"{TOLD_NAME.capitalize()}. What did the user rate, in a word (such as satisfaction)?", UNNAMED)
            self.answers = {} if said is None else {"name": said}
            self.told += [f"{TOLD_NAME}: -o name=satisfaction gives it another"] if said is None else []
            self.name = said or UNNAMED
        return self.name

    def notes(self) -> tuple[str, ...]:
        """All that a person is told."""
        notes = [*self.told]
        if self.blank:
            notes.append(f"blank messages, kept as turns in which nothing was said: {self.blank:,}")
        if self.turned:
            notes.append(f"messages newest first by their times, turned round: in {counted(self.turned, 'chat')}")
        if self.shared:
            who = counted([f"{session}: {names}" for session, names in self.shared.items()], "chat")
            notes.append(f"several names have one role and are one speaker in {who}")
        for key, many in self.marked.items():
            notes.append(f"messages marked as {key!r}, which are turns all the same: {many:,}. Remove what nobody saw")
        if self.unrated and self.scored:
            notes.append(f"unrated chats, which have no score: {self.unrated:,} of {self.unrated + self.scored:,}")
        return tuple(notes)
