"""WebVTT and SRT: when what was said, whatever became of blank lines and counters on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from apportion.corpus import account
from apportion.corpus.files.textfile import read_text
from apportion.corpus.speakers.labels import Said, said_in
from apportion.foundation.errors import UnitError
from apportion.foundation.truncate import shortened

_STAMP = r"(?:(\d{1,10}):)?([0-5]?\d):([0-5]?\d)(?:[.,](\d{3,9}))?"
_TIMES = re.compile(rf"\s*{_STAMP}\s*-->\s*{_STAMP}(?:\s.*)?")
_CLOCK = r"\d+:\d\d(?::\d\d)?(?:[.,:;]\d+)?"
_BROKEN_TIMES = re.compile(rf"\s*(?:[\d:.,]+\S*\s*-->|-->|\W?{_CLOCK}\s*[^\w\s.,]{{1,4}}\s*{_CLOCK}\s*$)")
"""Also two clock times with another sign between them: word processors make one of "-->"."""
LONGEST_TIMES = 200
"""Characters of a line in which times are looked for that cannot be read."""
_HEADER = re.compile(r"\ufeff?WEBVTT(?:[ \t].*)?")
_LANGUAGE = re.compile(r"language:\s*(\S+)\s*", re.IGNORECASE)
_COMMENT = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")


@dataclass
class _Block:
    """A cue: its place, its times in seconds and its lines."""

    place: str
    start_s: float
    end_s: float
    lines: list[str] = field(default_factory=list)


def read_captions(path: Path) -> list[Said]:
    """What was said, in the order of the file.

    Raises ``UnitError``: not a file of captions, times that cannot be read, or text before the first cue.
    ``InputError``: a file that cannot be read, is empty, or is not UTF-8.
    """
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    lines, vtt = text.split("\n"), path.suffix.lower() == ".vtt"
    if vtt and not _HEADER.fullmatch(lines[0]):
        raise UnitError(
            f'{path.name}: not a readable VTT file: line 1 is {shortened(lines[0])!r}; "WEBVTT" is needed. '
            "Export it again."
        )
    said: list[Said] = []
    for block in _blocks(path.name, lines, vtt):
        if block.end_s < block.start_s:
            raise UnitError(
                f"{block.place}: from {block.start_s:g} s to {block.end_s:g} s; 0 <= start <= end is needed."
            )
        said += said_in(block.place, "\n".join(block.lines), block.start_s, block.end_s)
    return said


def header_language(path: Path) -> str | None:
    """What a WebVTT file says in its header, as YouTube writes it: ``Language: de``; None where it says nothing."""
    header = read_text(path).replace("\r\n", "\n").replace("\r", "\n").partition("\n\n")[0]
    return next((said[1] for line in header.split("\n") if (said := _LANGUAGE.fullmatch(line))), None)


def _blocks(name: str, lines: Sequence[str], vtt: bool) -> Iterator[_Block]:
    """Every cue: its text ends where the next cue, its counter or a comment begins, not at a blank line."""
    times = {number: match for number, line in enumerate(lines) if (match := _TIMES.fullmatch(line))}
    broken = [n + 1 for n, line in enumerate(lines) if n not in times and _BROKEN_TIMES.match(line[:LONGEST_TIMES])]
    if broken:
        raise UnitError(
            f"{name}, line {broken[0]}: {len(broken)} cues have times that cannot be read; "
            "write them as 00:00:01.500 --> 00:00:02.500."
        )
    begins = sorted(times)
    heads = _heads(lines, begins, vtt)
    if not begins and not vtt:
        raise UnitError(f"{name}: not a readable SRT file: no line of times (00:00:01,500 --> 00:00:02,500) in it.")
    anew = _begins_anew(lines, begins, heads, times, vtt)
    if anew is not None:
        raise UnitError(
            f"{name}, line {anew + 1}: the times begin anew, as if two files were joined. Give each a session of its "
            "own, or let the times of the second count on."
        )
    before = lines[vtt : heads[begins[0]] if begins else len(lines)]
    stray = "" if vtt else next(filter(str.strip, before), "")
    if stray:
        raise UnitError(f"{name}: {shortened(stray)!r} stands before the first cue. Remove it, or give it times.")
    read = account.current()
    read.read("cues", len(begins))
    read.read("lines", _written(lines))
    read.kept("lines", vtt)
    read.left_out("lines", "before the first cue", _written(before), name)
    for cue, number in enumerate(begins, start=1):
        end = heads[begins[cue]] if cue < len(begins) else len(lines)
        start_s, end_s = _seconds(times[number].groups()[:4]), _seconds(times[number].groups()[4:])
        stamp = lines[number].partition("-->")[0].strip()
        place, spoken = f"{name}, cue {cue} ({stamp})", _spoken(below := lines[number + 1 : end], vtt)
        read.kept("lines", number + 1 - heads[number] + _written(spoken))
        read.left_out("lines", "comments and styles", _written(below) - _written(spoken), place)
        yield _Block(place, start_s, end_s, spoken)


def _written(lines: Sequence[str]) -> int:
    return sum(bool(line.strip()) for line in lines)


def _heads(lines: Sequence[str], begins: Sequence[int], vtt: bool) -> dict[int, int]:
    """By the line of a cue's times, the line on which the cue begins: that of its counter, if it has one.

    A number above the times is a counter where a blank line is above it, or where it counts on or begins anew; else it
    was said.
    """
    heads, last = {}, 0
    for number in begins:
        above = lines[number - 1].strip() if number else ""
        apart = number < 2 or not lines[number - 2].strip() or number - 2 in heads
        named = vtt and bool(above) and number > 1
        counter = int(above) if above.isdecimal() and len(above) < 10 else 0
        counts = counter == last + 1 or (counter == 1 and last > 0)
        is_head = above and "-->" not in above and (counts or (apart and (named or above.isdecimal())))
        heads[number] = number - 1 if is_head else number
        last = counter if is_head else last
    return heads


def _begins_anew(
    lines: Sequence[str], begins: Sequence[int], heads: dict[int, int], times: dict[int, re.Match[str]], vtt: bool
) -> int | None:
    """The line on which another file begins within this one: with its header or its counter 1, and earlier times."""
    for last, number in pairwise(begins):
        first = next((n for n in range(last + 1, number) if vtt and _HEADER.fullmatch(lines[n])), None)
        if first is None and not vtt and heads[number] != number and lines[heads[number]].strip() == "1":
            first = heads[number]
        if first is not None and _seconds(times[number].groups()[:4]) < _seconds(times[last].groups()[:4]):
            return first
    return None


def _spoken(lines: Sequence[str], vtt: bool) -> list[str]:
    """The lines of a cue without the comments and styles of WebVTT, which stand between blank lines."""
    kept: list[str] = []
    comment = False
    for number, line in enumerate(lines):
        after_blank = number > 0 and not lines[number - 1].strip()
        if not line.strip():
            comment = False
        elif vtt and after_blank and _COMMENT.match(line):
            comment = True
        if not comment:
            kept.append(line)
    return kept


def _seconds(stamp: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = stamp
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return float(whole + float(f"0.{fraction or 0}"))
