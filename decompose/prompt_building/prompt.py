"""Prompts: readable text files whose blanks are filled from an episode."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from apportion.corpus.languages.names import in_words, is_foreign
from apportion.corpus.session import Episode
from apportion.decompose.prompt_building.transcript import (
    after_backgrounds,
    backgrounds_json,
    face_detector,
    is_measured,
    listener_descriptors,
    transcript_json,
)
from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.request import ChatMessage

if TYPE_CHECKING:
    import pyarrow as pa

Units = Literal["judgement", "score", "attribution"]
"""Judgements on a scale, shares of the score itself, or whole numbers that tell how much a turn contributed."""

Nothing = Literal["mean", "zero", "never"]
"""What null means: nothing can be said, so the turn counts as the mean of its dialogue; zero; or it is a mistake."""

HEADER = ("title", "units", "low", "high", "null")
_USUAL: Mapping[Units, Nothing] = {"judgement": "mean", "score": "zero", "attribution": "never"}


def units_and_scale(header: Mapping[str, str]) -> tuple[Units, float | None, float | None]:
    """The units, and the ends of the scale, which shares of the score do not have.

    >>> units_and_scale({"units": "attribution", "low": "0", "high": "3"})
    ('attribution', 0.0, 3.0)

    Raises ValueError: What is wrong with the header, for a person.
    """
    units = header.get("units")
    if units not in get_args(Units):
        raise ValueError(f"units: {units or 'missing'}; allowed are {', '.join(get_args(Units))}")
    return (cast(Units, units), *_scale(cast(Units, units), header))


def meaning_of_null(header: Mapping[str, str], units: Units) -> Nothing:
    """What null means to this prompt.

    Where the header is silent, the units decide: on a scale of judgements, whose zero may be its worst end, nothing was
    said; a turn without a share of the score has a share of zero; an attribution always has a value.

    >>> meaning_of_null({}, "judgement"), meaning_of_null({"null": "zero"}, "judgement")
    ('mean', 'zero')

    Raises ValueError: What is wrong with the header, for a person.
    """
    null = header.get("null", _USUAL[units])
    if null not in get_args(Nothing):
        raise ValueError(f"null: {null or 'missing'}; allowed are {', '.join(get_args(Nothing))}")
    if units == "attribution" and null != "never":
        raise ValueError(f"null: {null} with units: attribution, which are whole numbers; only never is allowed")
    return cast(Nothing, null)


def _scale(units: Units, header: Mapping[str, str]) -> tuple[float | None, float | None]:
    given = {name: header[name] for name in ("low", "high") if name in header}
    if units == "score":
        if given:
            raise ValueError("low or high with units: score; shares of the score have no bounds")
        return None, None
    try:
        low, high = float(given["low"]), float(given["high"])
    except (KeyError, ValueError):
        raise ValueError(f"units: {units} needs low and high, each a number") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low: {low:g}, high: {high:g}; low must be below high, and both finite")
    if units == "attribution" and (low != 0 or not high.is_integer()):
        raise ValueError(f"low: {low:g}, high: {high:g}; an attribution is a whole number from 0 to high")
    return low, high


FOLDER = Path(__file__).parents[1] / "prompts"
"""Where our prompts are, and what they share."""

RUBRIC_PROMPT = str(FOLDER / "rubric" / "judge.txt")
"""What asks for the signals of a rubric."""

_UNKNOWN_WITHOUT_RATER = "how {{ target }} was rated on {{ name }}"
"""What a rating tells that has no question of its own, where nobody who takes part gave the score."""

SPOKEN = "The dialogue is in {}: judge its words as they are meant there. The form of your answer stays the same."
"""What the model is told of a dialogue that is in another language than English, or in several."""

DEFAULT = "default"
"""The prompt whose wording follows the rating's name (``prompts/shared/wordings.toml``)."""

WITHOUT_RATER = "quality"
"""Its wording for a score that rules or a judge gave, and nobody who takes part."""

BLANKS = frozenset(
    {
        *("rater", "target", "name", "question", "score", "given_score", "scale_low", "scale_high", "turned"),
        *("behaviour", "seen_by", "low", "high", "transcript", "turns", "part", "backgrounds", "signals"),
    }
)
"""What a prompt's templates may use."""

PROMPTS = PromptKind(
    folder=FOLDER,
    entry_points="apportion.prompts",
    setting="decompose.llm.prompt",
    header=HEADER,
    blanks=BLANKS,
    needed=("transcript", "turns"),
    form="A prompt is a header (title, units, low, high, null), then [system] and [user]; see "
    "docs/guides/language-model.md",
)


@dataclass(frozen=True)
class DialoguePart:
    """A part of a long dialogue: turns [``start``:``stop``) are shown, the target turns ``asked`` are judged."""

    start: int
    stop: int
    asked: tuple[int, ...]


@dataclass(frozen=True)
class Prompt:
    """One way to ask.

    ``units`` says what the answers are: a ``judgement`` on the scale ``low`` to ``high``, shares of the ``score``
    itself, which have no bounds, or an ``attribution``, a whole number from 0 to ``high`` that tells how much a turn
    contributed. ``null`` says what it means that a turn has no value: it counts as the ``mean`` of its dialogue, as
    ``zero``, or it is a mistake (``never``). ``system`` and ``user`` are Jinja templates. ``path`` is the file that it
    was read from, ``signals`` what a rubric fills in (`apportion.decompose.prompt_building.rubric`).
    """

    name: str
    title: str
    units: Units
    low: float | None
    high: float | None
    null: Nothing
    system: str
    user: str
    path: Path
    signals: str = ""

    def messages(
        self,
        episode: Episode,
        descriptors: pa.Table | None = None,
        question: str | None = None,
        part: DialoguePart | None = None,
    ) -> tuple[ChatMessage, ...]:
        """The chat that asks for a value of every target turn, or of those of ``part``.

        Without any descriptor of the rater the messages are those of the text-only question, byte for byte. What was
        known before the first turn stands before the question, unless the prompt puts it elsewhere itself; where the
        environment is the rater, those who talked with the target are named in its place.

        Raises InputError: ``question`` is not a valid template, or the prompt cannot be filled.
        """
        behaviour = listener_descriptors(episode, descriptors)
        rating = episode.rating
        names = {
            "rater": _raters(episode),
            "target": data_json(rating.target),
            "name": data_json(rating.name),
        }
        shown = slice(None) if part is None else slice(part.start, part.stop)
        asked = episode.target_turns if part is None else part.asked
        blanks = {
            **names,
            "question": question_of(episode, question, names),
            "score": _number(episode.score),
            "given_score": _number(rating.score),
            "scale_low": _number(rating.low),
            "scale_high": _number(rating.high),
            "turned": not rating.higher_is_better,
            "behaviour": behaviour and ("measured" if is_measured(behaviour) else "said"),
            "seen_by": behaviour and _seen_by(episode, descriptors),
            "low": self.low if self.low is None else _number(self.low),
            "high": self.high if self.high is None else _number(self.high),
            "transcript": transcript_json(replace(episode, turns=episode.turns[shown]), behaviour),
            "turns": data_json(list(asked)),
            "part": part and _part_blanks(episode, part),
            "backgrounds": backgrounds_json(episode),
            "signals": self.signals,
        }
        try:
            system = str(_template(self.system).render(blanks)).strip()
            user = str(_template(self.user).render(blanks)).strip()
        except (TemplateError, ArithmeticError, TypeError, ValueError) as error:
            raise InputError(
                f"decompose.llm.prompt: {self.path} cannot be filled: {error}. Its blanks are "
                f"{', '.join(sorted(BLANKS))}."
            ) from None
        if is_foreign(episode.language):  # An English prompt says nothing of it, and stays what it was byte for byte.
            system = f"{system}\n\n{SPOKEN.format(in_words(episode.language))}"
        if not _uses_backgrounds(self.system + self.user):
            user = after_backgrounds(user, str(blanks["backgrounds"]))
        return (ChatMessage("system", system), ChatMessage("user", user))

    def identity(self) -> str:
        """sha256 of every file that the prompt is made of, so that an edited prompt is another prompt."""
        files = sorted(path for path in (FOLDER / "shared").iterdir() if path.suffix in (".txt", ".toml"))
        others = [load_prompt(name).path for name in sorted(set(_wordings().values()))] if self.name == DEFAULT else []
        content = b"\0".join(path.read_bytes() for path in (self.path, *others, *files))
        return hashlib.sha256(content).hexdigest()


@cache
def load_prompt(name: str) -> Prompt:
    """Read a prompt from its text file: one of ours or of a package by its name, or the user's own by its path.

    Raises InputError: No such prompt, or its file cannot be used.
    """
    path = PROMPTS.find(name)
    text = PROMPTS.read(path, _environment())
    try:
        units, low, high = units_and_scale(text.header)
        null = meaning_of_null(text.header, units)
    except ValueError as error:
        raise PROMPTS.unusable(path, str(error)) from None
    return Prompt(name, text.header.get("title", path.stem), units, low, high, null, text.system, text.user, path)


def prompt_for(name: str, rating_name: str, *, has_rater: bool = True) -> Prompt:
    """The prompt ``name`` in the wording for this rating: ``default`` follows what the rating means, others do not.

    Where nobody who takes part gave the score (``has_rater``), it tells nobody's feeling: the utterances are judged.

    Raises InputError: As `load_prompt`.
    """
    if name != DEFAULT:
        return load_prompt(name)
    return load_prompt(_wordings().get(rating_name, name if has_rater else WITHOUT_RATER))


def tells_quality(rating_name: str) -> bool:
    """Whether a rating of this name tells how good the utterances were, and not how anybody felt."""
    return "quality" in rating_name.lower() or _wordings().get(rating_name) == WITHOUT_RATER


def shows_score(name: str, episode: Episode) -> bool:
    """Whether the prompt ``name`` tells the model which score was given: with another score it has other words.

    Raises InputError: As `load_prompt`.
    """
    prompt = prompt_for(name, episode.rating.name, has_rater=episode.has_rater)
    rating = episode.rating
    other = replace(rating, score=rating.high if rating.score == rating.low else rating.low)
    return prompt.messages(episode) != prompt.messages(replace(episode, rating=other))


def _wordings() -> dict[str, str]:
    return tomllib.loads((FOLDER / "shared" / "wordings.toml").read_text(encoding="utf-8"))


def _part_blanks(episode: Episode, part: DialoguePart) -> dict[str, str | int]:
    turns: Sequence[int] = [turn.turn for turn in episode.turns[part.start : part.stop]]
    share = episode.score * len(part.asked) / len(episode.target_turns)
    return {
        "first": turns[0] if turns else 0,
        "last": turns[-1] if turns else 0,
        "turns": len(episode.turns),
        "score": _number(share),
    }


def _seen_by(episode: Episode, descriptors: pa.Table | None) -> str | None:
    """What read the rater's face, in the prompts' words; None where none was read, or nobody knows by what."""
    detector = face_detector(episode, descriptors)
    if detector is None:
        return None
    known = tomllib.loads((FOLDER / "shared" / "detectors.toml").read_text(encoding="utf-8"))
    return str(known.get(detector, detector))


def _raters(episode: Episode) -> str:
    """Who gave the score, as JSON text; those who talked with the target where the environment did."""
    if episode.has_rater:
        return data_json(episode.rating.rater)
    others = dict.fromkeys(turn.speaker for turn in episode.turns if episode.is_listener(turn.speaker))
    *first, last = [data_json(speaker) for speaker in others] or ["nobody"]
    return f"{', '.join(first)} and {last}" if first else last


def question_of(episode: Episode, question: str | None, names: Mapping[str, str]) -> str:
    """What the rating tells, in words: ``question`` or that of the rating's name, with ``names`` for its blanks.

    Raises InputError: ``question`` is not a valid template.
    """
    if question is None:
        known = tomllib.loads((FOLDER / "shared" / "questions.toml").read_text(encoding="utf-8"))
        question = known.get(episode.rating.name, known["other"] if episode.has_rater else _UNKNOWN_WITHOUT_RATER)
    try:
        return str(_template(question).render(names))
    except TemplateError as error:
        raise InputError(
            f"decompose.llm.question = {question!r}: {error}. Its blanks are {{{{ rater }}}}, {{{{ target }}}} and "
            "{{ name }}."
        ) from None


@cache
def _template(text: str) -> Any:
    # Compiling takes milliseconds, and a corpus asks thousands of times.
    return _environment().from_string(text)


@cache
def _uses_backgrounds(templates: str) -> bool:
    return "backgrounds" in meta.find_undeclared_variables(_environment().parse(templates))


@cache
def _environment() -> Any:
    # Values are filled in once and never read as templates, so that "{{" in an utterance stays an utterance.
    return SandboxedEnvironment(loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, autoescape=False)


def _number(value: float) -> str:
    return f"{value:.6g}"
