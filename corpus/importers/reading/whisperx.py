"""WhisperX's segments: a segment in which words are of several people is a piece each."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from apportion.corpus import account
from apportion.corpus.speakers.names import clean_name
from apportion.foundation.errors import UnitError

Part = tuple[Any, Any, Any, Any]
"""Speaker, text, start and end, as they stand in the file; the speaker is None where nobody is named."""


def segment_parts(place: str, segment: Mapping[str, Any]) -> list[Part]:
    """A part for each run of words of one speaker, the segment itself where its words name nobody.

    Words without a speaker are of whoever has the word before, or else the one after. Raises ``UnitError``: words that
    are no list of objects, or whose text is not in the segment's.
    """
    words = segment.get("words") or []
    if not isinstance(words, list) or not all(isinstance(word, dict) for word in words):
        raise UnitError(f'{place}: "words" must be a list of objects.')
    whole = (_named(segment), *(segment.get(key) for key in ("text", "start", "end")))
    speakers = _speakers(place, words)
    if not any(speakers):
        return [whole]
    if len(set(speakers)) == 1:
        return [(speakers[0], *whole[1:])]
    runs = [list(run) for _, run in groupby(range(len(words)), key=speakers.__getitem__)]
    whole_text = str(segment.get("text") or "")
    ends = _ends(place, whole_text, words)
    cuts = {ends[run[-1]] for run in runs[:-1]} - {0, len(whole_text)}
    halved = sum(not any(map(str.isspace, whole_text[at - 1 : at + 1])) for at in cuts)
    account.current().joined("words", "cut in two where another person speaks", -halved)
    parts: list[Part] = []
    for run in runs:
        first = ends[run[0] - 1] if run[0] else 0
        last = ends[run[-1]] if run is not runs[-1] else len(whole_text)
        start = next((words[i]["start"] for i in run if words[i].get("start") is not None), None)
        end = next((words[i]["end"] for i in reversed(run) if words[i].get("end") is not None), None)
        before = parts[-1][3] if parts else segment.get("start")
        start = before if start is None else start
        parts.append((speakers[run[0]], whole_text[first:last].strip(), start, start if end is None else end))
    return parts


def _named(item: Mapping[str, Any]) -> Any:
    speaker = item.get("speaker")
    return None if isinstance(speaker, str) and not clean_name(speaker) else speaker


def _speakers(place: str, words: list[dict[str, Any]]) -> list[str | None]:
    """Whose each word is."""
    named = [_named(word) for word in words]
    odd = next((name for name in named if name is not None and not isinstance(name, str)), None)
    if odd is not None:
        raise UnitError(f"{place}: a word's speaker is {odd!r}; a text is needed.")
    for i in range(1, len(named)):
        named[i] = named[i - 1] if named[i] is None else named[i]
    first = next((name for name in named if name is not None), None)
    return [first if name is None else name for name in named]


def _ends(place: str, text: str, words: list[dict[str, Any]]) -> list[int]:
    """Where in the segment's text each word ends: languages without spaces have none between words."""
    ends, at = [], 0
    for word in words:
        written = str(word.get("word") or "").strip()
        found = text.find(written, at)
        if found < 0:
            raise UnitError(
                f"{place}: the word {written!r} is not in the segment's text, and its words are of several speakers. "
                "Run WhisperX again."
            )
        at = found + len(written)
        ends.append(at)
    return ends
