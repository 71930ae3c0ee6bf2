"""Scores as people write them: thumbs, stars, percent, "4 of 5", plain numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apportion.corpus.files.csvfile import BLANK
from apportion.corpus.files.jsontext import number, shown
from apportion.corpus.importers.reading.sources import scale_options
from apportion.foundation.errors import InputError, UnitError

NAMED = {"thumbs": (0.0, 1.0), "stars": (1.0, 5.0), "nps": (0.0, 10.0), "percent": (0.0, 100.0)}
SCALES = "|".join((*NAMED, "LOW..HIGH"))
UP = (
    "👍", "up", "thumbs up", "thumb up", "thumbsup", "like", "liked", "yes", "true", "good", "positive", "+1", "1",
    "1.0",
)  # fmt: skip
DOWN = (
    "👎", "down", "thumbs down", "thumb down", "thumbsdown", "dislike", "disliked", "no", "false", "bad", "negative",
)  # fmt: skip
DOWN_NUMBERS = ("-1", "0", "-1.0", "0.0")
USUAL = ((0, 1), (1, 5), (1, 7), (0, 10), (0, 100))
"""Ends of scales of plain numbers that are taken for one where scores lie on both."""
_SKIN = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_OF = re.compile(rf"({_NUMBER})\s*(?:/|of|out of)\s*({_NUMBER})(?:\s*stars?)?", re.IGNORECASE)
_PERCENT = re.compile(rf"({_NUMBER})\s*%")
_STARS = re.compile(r"([★⭐]*)[☆✩]*")
_SO_MANY_STARS = re.compile(rf"({_NUMBER})\s*(?:stars?|[★⭐])", re.IGNORECASE)


@dataclass(frozen=True)
class Scale:
    """The ends of a scale, and what it is called where scores on it are not plain numbers."""

    low: float
    high: float
    name: str = ""

    def score(self, value: Any, place: str = "score") -> float:
        """``value`` on this scale, as a number.

        Raises ``UnitError``: it is no score of this scale.

        >>> Scale(1, 5).score("4 of 5"), Scale(0, 1, "thumbs").score("👎"), Scale(1, 5, "stars").score("★★★☆☆")
        (4.0, 0.0, 3.0)
        """
        if self.name == "thumbs":
            return _thumb(value, place)
        if not isinstance(value, str):
            return number(value, place)
        text = _SKIN.sub("", value).strip()
        if found := _OF.fullmatch(text):
            if float(found[2]) != self.high:
                raise UnitError(f"{place} = {shown(value)}: it counts to {found[2]}, the scale to {self.high:g}.")
            return float(found[1])
        if (found := _PERCENT.fullmatch(text)) and self.high == NAMED["percent"][1]:
            return float(found[1])
        if self.name == "stars" and text and (found := _STARS.fullmatch(text)):
            return float(len(found[1]))
        if self.name == "stars" and (found := _SO_MANY_STARS.fullmatch(text)):
            return float(found[1])
        try:
            return number(text, place, texts=True)
        except UnitError:
            raise UnitError(
                f"{place} = {shown(value)}: no score on {self.name or f'a scale from {self.low:g} to {self.high:g}'}. "
                f"Write a number, such as {self.high:g}, with a point for decimals, or leave it empty."
            ) from None

    def holds(self, value: Any) -> bool:
        """Whether ``value`` is a score that lies on this scale."""
        try:
            return self.low <= self.score(value) <= self.high
        except UnitError:
            return False


class NoScaleError(InputError):
    """Scores of which nobody says the scale; ``scales`` are those that hold all, ``likely`` the one they look like."""

    def __init__(self, what: str, values: list[Any]) -> None:
        super().__init__(
            f"{what}. {suggestion(values)} Give its ends for all: -o low=1 -o high=5, or -o scale={SCALES}, or "
            '"low" and "high" in every row.'
        )
        self.what = what
        self.likely = likely_scale(values)
        usual = [f"{low}..{high}" for low, high in USUAL]
        ways = {ends: way for way in (*NAMED, *usual, *filter(None, [self.likely])) if (ends := _ends(way, values))}
        self.scales = sorted(ways.values(), key=lambda way: way != self.likely)


def _ends(way: str, values: list[Any]) -> tuple[float, float] | None:
    """The ends of a scale that holds all ``values``; None where it does not."""
    scale = scale_option("chat", {"scale": way})
    fits = scale is not None and all(map(scale.holds, values)) and check_values(scale, values) is None
    return (scale.low, scale.high) if scale is not None and fits else None


def scale_option(kind: str, options: Mapping[str, str]) -> Scale | None:
    """The scale of all scores that the options ``scale``, or ``low`` and ``high``, say; None where they say none.

    Raises ``InputError``: it is none, or both are given.
    """
    ends = scale_options(kind, options)
    given = options.get("scale")
    if given is None:
        return None if ends is None else Scale(*ends)
    if ends is not None:
        raise InputError(f"import {kind}: scale={given} and low, high: give one of the two.")
    if given in NAMED:
        return Scale(*NAMED[given], given)
    found = re.fullmatch(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*", given)
    if not found or float(found[1]) >= float(found[2]):
        raise InputError(f"import {kind}: option scale={given}; allowed: {SCALES}, for example -o scale=1..7.")
    return Scale(float(found[1]), float(found[2]))


def is_blank(value: Any) -> bool:
    """Whether a value says that there is no score.

    >>> is_blank(None), is_blank("N/A"), is_blank(float("nan")), is_blank(0)
    (True, True, True, False)
    """
    if isinstance(value, str):
        return value.strip().lower() in BLANK
    return value is None or (isinstance(value, float) and math.isnan(value))


def is_score(value: Any) -> bool:
    """Whether a value could be a score on some scale.

    >>> is_score("4 of 5"), is_score("👍"), is_score(True), is_score("great help")
    (True, True, True, False)
    """
    if isinstance(value, bool):
        return True
    text = _SKIN.sub("", value).strip() if isinstance(value, str) else value
    if isinstance(text, str) and (_thumb_word(text) in (*UP, *DOWN) or _OF.fullmatch(text) or _PERCENT.fullmatch(text)):
        return True
    if isinstance(text, str) and (_SO_MANY_STARS.fullmatch(text) or (text and _STARS.fullmatch(text))):
        return True
    if isinstance(text, str) and re.fullmatch(r"\d+,\d+", text):
        return True  # Meant as one, and refused where it is read.
    try:
        number(text, "", texts=True)
    except UnitError:
        return False
    return True


def likely_scale(values: list[Any]) -> str | None:
    """What the option ``scale`` would say of ``values``; None where they leave it open.

    >>> likely_scale(["up", "down"]), likely_scale([5, 1, 3]), likely_scale([2, 4]), likely_scale([1, 5, "good"])
    ('thumbs', '1..5', None, None)
    """
    texts = [_SKIN.sub("", str(value)).strip() for value in values]
    if any(isinstance(value, bool) for value in values) or any(
        _thumb_word(text) in (*UP[:-3], *DOWN) for text in texts
    ):
        # A word among numbers of a longer scale is a slip, no thumb: read so, the lowest score would be the best.
        return "thumbs" if all(abs(number) in (0, 1) for number in _numbers(texts)) else None
    if any(_PERCENT.fullmatch(text) for text in texts):
        return "percent"
    if any(text and (_STARS.fullmatch(text) or _SO_MANY_STARS.fullmatch(text)) for text in texts):
        return "stars"
    numbers = _numbers(texts)
    ends = (min(numbers), max(numbers)) if len(numbers) == len(texts) and numbers else None
    return next((f"{low}..{high}" for low, high in USUAL if (low, high) == ends), None)


def suggestion(values: list[Any]) -> str:
    """What scale the ``values`` may lie on, for an error: the option that would say it."""
    likely = likely_scale(values)
    if likely in NAMED:
        return f"They look like {likely}: -o scale={likely}."
    numbers = _numbers([_SKIN.sub("", str(value)).strip() for value in values])
    return f"They lie from {min(numbers):g} to {max(numbers):g}." if numbers else f"One of them: {shown(values[0])}."


def _numbers(texts: list[str]) -> list[float]:
    return [float(text) for text in texts if re.fullmatch(_NUMBER, text)]


def check_values(scale: Scale, values: list[Any]) -> str | None:
    """What is wrong with all ``values`` on ``scale`` together, though each could be right; None where nothing is."""
    seen = {str(value).strip() for value in values}
    if scale.name == "thumbs" and seen & {"0", "0.0"} and seen & {"-1", "-1.0"}:
        return "they hold 0 and -1, so 0 is no thumb down. Say -o scale=-1..1"
    bare = [value for value in seen if re.fullmatch(_NUMBER, value)]
    if scale.name == "percent" and bare and len(seen) > 1 and all(map(_is_share, bare)):
        return "those without a % lie between 0 and 1, so they are shares. Say -o scale=0..1, or write all with a %"
    return None


def _is_share(text: str) -> bool:
    return bool(re.fullmatch(_NUMBER, text)) and 0 <= float(text) <= 1


def _thumb_word(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text.strip(" :").casefold())) if not re.match(r"[-+]?\d", text) else text


def _thumb(value: Any, place: str) -> float:
    word = _thumb_word(_SKIN.sub("", str(value)).strip())
    if word in UP:
        return 1.0
    if word in (*DOWN, *DOWN_NUMBERS):
        return 0.0
    raise UnitError(
        f"{place} = {shown(value)}: no thumb; allowed: 👍, up, yes, true, 1 and 👎, down, no, false, 0, -1."
    )
