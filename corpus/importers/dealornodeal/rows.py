"""The rows of Deal or No Deal: a dialogue as one of the two sees it, with both sides' values and what was selected.

Two forms: ``data.txt`` has ``counts and values, dialogue, <selection>, outcome``; ``val.txt`` and ``test.txt`` have the
same rows in tags, with both selections where they add up. A row of ``data.txt`` that is in neither is for training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from apportion.corpus import account
from apportion.corpus.account import words_in
from apportion.corpus.files.textfile import read_text
from apportion.corpus.importers.reading.sources import source_files, stem
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.truncate import shortened

ITEMS = ("book", "hat", "ball")
WORTH = 10
"""What all items together are worth to each of the two."""
ALL, HELD_OUT = "data", ("val", "test")
"""The file of all rows, and those of the rows that are not for training."""
TRAIN = "train"
FILES = (ALL, *HELD_OUT)
_ENDS = {"<disagree>": "disagreed", "<no_agreement>": "none", "<disconnect>": "left"}
_NO_SELECTION = {"no agreement": "none", "disconnect": "left"}
_NUMBERS = r"[0-9]{1,3}(?: [0-9]{1,3})*"
_PLAIN = re.compile(
    rf"(?P<own>{_NUMBERS}) (?P<said>(?:YOU|THEM): .*?<selection>) (?P<selected>.*?) <eos> "
    rf"reward=(?P<reward>.*?) (?P<both>agree|disagree) (?P<other>{_NUMBERS})"
)
_TAGGED = re.compile(
    rf"<input> (?P<own>{_NUMBERS}) </input> <dialogue> (?P<said>.*?<selection>) </dialogue> "
    rf"<output> (?P<selected>.*?) </output> <partner_input> (?P<other>{_NUMBERS}) </partner_input>"
)
_ITEMS = re.compile(r"item0=([0-9]{1,3}) item1=([0-9]{1,3}) item2=([0-9]{1,3})")

Split = tuple[int, int, int]
End = Literal["agreed", "disagreed", "none", "left"]
"""Both selected one split; two that do not add up; that there is no deal; or somebody was gone."""


@dataclass(frozen=True)
class Row:
    """One dialogue as one of the two sees it, called "you".

    ``place``: file and line. ``counts``: how many books, hats and balls there are. ``own``, ``other``: what one of each
    is worth to you, and to the other. ``said``: the utterances, with whether it is you who speaks. ``ended_by_you``:
    who ended the talk, whereupon both select. ``end``: what came of it. ``selected``: what you took; None where the row
    does not tell.
    """

    place: str
    counts: Split
    own: Split
    other: Split
    said: tuple[tuple[bool, str], ...]
    ended_by_you: bool
    end: End
    selected: Split | None = None

    @property
    def points(self) -> tuple[int, int] | None:
        """Your points and the other's; nothing for nobody without a deal, None where somebody was gone."""
        if self.end == "left":
            return None
        if self.end != "agreed" or self.selected is None:
            return 0, 0
        theirs = _minus(self.counts, self.selected)
        return _worth(self.own, self.selected), _worth(self.other, theirs)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells a row from the others."""
        return (self.counts, self.own, self.other, self.said)

    def tell(self, what_became: Callable[[str, str, int], None], how: str) -> None:
        """Tell the account that the whole row was left out or joined, with its turns and words."""
        what_became("dialogues", how, 1)
        what_became("turns", how, len(self.said) + 1)
        what_became("words", how, words_in(text for _, text in self.said) + 1)


@dataclass(frozen=True)
class Damaged:
    """A row that cannot be used: its part, its line (from 1) and why."""

    part: str
    line: int
    message: str


def read_rows(src: Path) -> tuple[Mapping[str, list[Row]], list[Damaged]]:
    """The rows by part (``train``, ``val``, ``test``), in the order of their files, and those that cannot be used.

    ``src``: a folder with ``data.txt``, and with ``val.txt`` and ``test.txt`` where there are such (plain or gzip); or
    one of the files, whose rows are then all of its part. Raises ``InputError``: a file that cannot be read or is none
    of these, or a folder without ``data.txt``.
    """
    parts: dict[str, list[Row]] = {}
    damaged: list[Damaged] = []
    paths = {stem(path): path for path in source_files(src, (".txt",), FILES)}
    if src.is_dir() and ALL not in paths:
        raise InputError(f"{src}: there is no {ALL}.txt in it, which holds all rows. Name val.txt or test.txt itself.")
    if src.is_file() and stem(src) not in FILES:
        raise InputError(f"{src}: the files of Deal or No Deal are {', '.join(f'{name}.txt' for name in FILES)}.")
    held_out: set[tuple[object, ...]] = set()
    for name in (*HELD_OUT, ALL):
        if name in paths:
            part = TRAIN if name == ALL else name
            parts[part] = []
            for row in _rows(paths[name], part, damaged):
                if name == ALL and row.key in held_out:
                    row.tell(account.current().left_out, "in val or test, too")
                else:
                    parts[part].append(row)
            held_out.update(row.key for row in parts[part])
    return {part: parts[part] for part in (TRAIN, *HELD_OUT) if part in parts}, damaged


def _rows(path: Path, part: str, damaged: list[Damaged]) -> Iterator[Row]:
    lines = [(number, line) for number, line in enumerate(read_text(path).splitlines(), start=1) if line.strip()]
    if not any(_PLAIN.fullmatch(line) or _TAGGED.fullmatch(line) for _, line in lines):
        raise InputError(f"{path}: no row of Deal or No Deal in it (counts and values, dialogue, <selection>).")
    account.current().read("dialogues", len(lines))
    for number, line in lines:
        place = f"{path.name}, line {number}"
        try:
            with account.session("dialogues", place):
                row = row_of(line, place)
            yield row
        except UnitError as error:
            damaged.append(Damaged(part, number, f"{place}: {error}"))


def row_of(line: str, place: str) -> Row:
    """One row of either form.

    Raises ``UnitError``: it has another shape, or counts, values, selections and reward that cannot be together.
    """
    found = _PLAIN.fullmatch(line) or _TAGGED.fullmatch(line)
    if found is None:
        raise UnitError(f"no row of counts and values, dialogue and selection: {shortened(line)!r}.")
    pieces = found["said"].split(" <eos> ")
    account.current().said("turns", [words.partition(" ")[2] for words in pieces])
    counts, own = _counts_and_values(found["own"])
    counts_of_other, other = _counts_and_values(found["other"])
    if counts != counts_of_other:
        raise UnitError(f"the counts are {counts} for one and {counts_of_other} for the other.")
    *said, (ended_by_you, last) = [_said(words) for words in pieces]
    if last != "<selection>" or not said:
        raise UnitError("the dialogue does not end with <selection> after something that was said.")
    tagged = "both" not in found.groupdict()
    end, selected = _tagged_end(found["selected"], counts) if tagged else _plain_end(found, counts, own)
    return Row(place, counts, own, other, tuple(said), ended_by_you, end, selected)


def _counts_and_values(text: str) -> tuple[Split, Split]:
    numbers = [int(number) for number in text.split()]
    if len(numbers) != 2 * len(ITEMS):
        raise UnitError(f"{shortened(text)!r}: a count and a value of each of {', '.join(ITEMS)} are needed.")
    counts, values = _split(numbers[::2]), _split(numbers[1::2])
    if not all(1 <= count <= 4 for count in counts):
        raise UnitError(f"counts {counts}: there are 1 to 4 of each item.")
    if _worth(values, counts) != WORTH:
        raise UnitError(f"values {values} of counts {counts} are worth {_worth(values, counts)} together, not {WORTH}.")
    return counts, values


def _said(words: str) -> tuple[bool, str]:
    who, _, text = words.partition(" ")
    if who not in ("YOU:", "THEM:") or not text.strip():
        raise UnitError(f"{shortened(words)!r}: YOU: or THEM: and words are needed.")
    return who == "YOU:", text.strip()


def _plain_end(found: re.Match[str], counts: Split, own: Split) -> tuple[End, Split | None]:
    reward, selected = found["reward"], _selection(found["selected"], counts)
    if selected is None:
        if found["selected"] not in _NO_SELECTION or reward != found["selected"]:
            raise UnitError(f"selection {shortened(found['selected'])!r} with reward {shortened(reward)!r}.")
        gone = _NO_SELECTION[found["selected"]]
        return ("disagreed" if found["both"] == "disagree" and gone == "none" else cast(End, gone)), None
    # The reward of a row that disagrees is what its own selection would have been worth.
    if reward != str(_worth(own, selected)):
        raise UnitError(f"reward={shortened(reward)}, and what was selected is worth {_worth(own, selected)}.")
    return ("agreed" if found["both"] == "agree" else "disagreed"), selected


def _tagged_end(text: str, counts: Split) -> tuple[End, Split | None]:
    first, _, _ = text.partition(" ")
    if first in _ENDS and set(text.split()) == {first}:
        return cast(End, _ENDS[first]), None
    own, _, other = text.partition(" item0=")
    selected, theirs = _selection(own, counts), _selection(f"item0={other}", counts)
    if selected is None or theirs is None or _minus(counts, selected) != theirs:
        raise UnitError(f"what both selected is not the pool: {shortened(text)!r}.")
    return "agreed", selected


def _selection(text: str, counts: Split) -> Split | None:
    found = _ITEMS.fullmatch(text)
    if found is None:
        return None
    selected = _split([int(number) for number in found.groups()])
    if min(_minus(counts, selected)) < 0:
        raise UnitError(f"{selected} is selected, and there are {counts}.")
    return selected


def _split(numbers: Sequence[int]) -> Split:
    first, second, third = numbers
    return first, second, third


def _minus(counts: Split, taken: Split) -> Split:
    return _split([count - one for count, one in zip(counts, taken, strict=True)])


def _worth(values: Split, taken: Split) -> int:
    return sum(value * one for value, one in zip(values, taken, strict=True))
