"""Prompts: readable text files whose blanks are filled from an episode."""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from corpus.errors import InputError
from corpus.session import Episode
from decompose.transcript import data_json, listener_descriptors, transcript_json
from llm_client.request import Message

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = Path(__file__).parent / "prompts"
PARAPHRASES = "paraphrase"
"""The folder of the prompts in other words, beside the prompts; they are asked by the audit."""
_SECTION = re.compile(r"^\[(system|user)\]\n", re.MULTILINE)


@dataclass(frozen=True)
class Prompt:
    """One way to ask.

    ``units`` says what the answers are: ``judgement`` on the scale ``low`` to ``high``, or shares of the ``score``
    itself, which have no bounds. ``system`` and ``user`` are Jinja templates.
    """

    name: str
    title: str
    units: Literal["judgement", "score"]
    low: float | None
    high: float | None
    system: str
    user: str

    def messages(
        self, episode: Episode, descriptors: pa.Table | None = None, question: str | None = None
    ) -> tuple[Message, ...]:
        """The chat that asks for a value of every target turn.

        Without any descriptor of the rater the messages are those of the text-only question, byte for byte.

        Raises
        ------
        InputError
            ``question`` is not a valid template.
        """
        behaviour = listener_descriptors(episode, descriptors)
        rating = episode.rating
        names = {
            "rater": data_json(rating.rater),
            "target": data_json(rating.target),
            "name": data_json(rating.name),
        }
        blanks = {
            **names,
            "question": _question(rating.name, question, names),
            "score": _number(episode.score),
            "given_score": _number(rating.score),
            "scale_low": _number(rating.low),
            "scale_high": _number(rating.high),
            "turned": not rating.higher_is_better,
            "behaviour": bool(behaviour),
            "low": self.low if self.low is None else _number(self.low),
            "high": self.high if self.high is None else _number(self.high),
            "transcript": transcript_json(episode, behaviour),
            "turns": data_json(list(episode.target_turns)),
        }
        environment = _environment()
        system = environment.from_string(self.system).render(blanks).strip()
        user = environment.from_string(self.user).render(blanks).strip()
        return (Message("system", system), Message("user", user))

    def identity(self) -> str:
        """sha256 of every file that the prompt is made of, so that an edited prompt is another prompt."""
        files = sorted(path for path in (FOLDER / "shared").iterdir() if path.suffix in (".txt", ".toml"))
        content = b"\0".join(path.read_bytes() for path in (FOLDER / f"{self.name}.txt", *files))
        return hashlib.sha256(content).hexdigest()


def prompt_names() -> list[str]:
    """The names of all prompts, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def paraphrase_of(name: str) -> str | None:
    """The name of the prompt that asks the same as ``name`` in other words; None where there is none."""
    return f"{PARAPHRASES}/{name}" if (FOLDER / PARAPHRASES / f"{name}.txt").is_file() else None


@cache
def load_prompt(name: str) -> Prompt:
    """Read the prompt ``name`` from its text file.

    Raises
    ------
    InputError
        No such prompt.
    """
    allowed = prompt_names()
    if name not in (*allowed, *map(paraphrase_of, allowed)):
        near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"decompose.llm.prompt: no prompt {name!r}{hint} Allowed: {', '.join(allowed)}.")
    head, *sections = _SECTION.split((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    header = dict(line.split(": ", 1) for line in head.strip().splitlines())
    texts = dict(zip(sections[::2], sections[1::2], strict=True))
    return Prompt(
        name=name,
        title=header["title"],
        units="score" if header["units"] == "score" else "judgement",
        low=float(header["low"]) if "low" in header else None,
        high=float(header["high"]) if "high" in header else None,
        system=texts["system"],
        user=texts["user"],
    )


def _question(name: str, question: str | None, names: dict[str, str]) -> str:
    if question is None:
        known = tomllib.loads((FOLDER / "shared" / "questions.toml").read_text(encoding="utf-8"))
        question = known.get(name, known["other"])
    try:
        return str(_environment().from_string(question).render(names))
    except TemplateError as error:
        raise InputError(
            f"decompose.llm.question = {question!r}: {error}. Its blanks are {{{{ rater }}}}, {{{{ target }}}} and "
            "{{ name }}."
        ) from None


@cache
def _environment() -> Any:
    # Values are filled in once and never read as templates, so that "{{" in an utterance stays an utterance.
    return SandboxedEnvironment(loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, autoescape=False)


def _number(value: float) -> str:
    return f"{value:.6g}"
