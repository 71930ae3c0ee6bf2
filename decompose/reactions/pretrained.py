"""What was learnt of reactions, as one file that travels: weights as safetensors, and in it the card that tells them.

A file serves any corpus whose replies are read in the same way. Its card says what it was learnt from and under which
licence; the same card lies beside it as JSON, for people.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from apportion.corpus.languages.names import codes
from apportion.decompose.reactions.cues import CUES
from apportion.foundation.arrays import ROWS_AT_ONCE, Floats, mean_and_variance
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_file, remembered_digest, write_atomically
from apportion.foundation.settings import Settings, problems

if TYPE_CHECKING:
    from apportion.decompose.reactions.extract import Reactions

KIND: Literal["apportion-reactions"] = "apportion-reactions"
CARD = "card"
"""The one key of the file's metadata: with more than one, equal models would not give equal bytes."""
SUFFIX = ".safetensors"
TENSORS = ("centre", "scale", "weights")
LARGEST = 1 << 24
"""Bytes of a file that is looked at: a model of a wide encoder has some hundred thousand."""
STEADY = 200.0
"""Turns after which a corpus's own mean and spread of replies count as much as those that were learnt with."""
MAKE = "Make one with `apportion train reactions CORPUS --out FILE`."


class FeatureVersionError(InputError):
    """Replies are read otherwise than those that a model of reactions was learnt from."""


class TrainingProvenance(Settings):
    """One corpus that a model was learnt from.

    ``ground`` says whether scores of whole dialogues taught it or judgements of turns, ``by`` who judged (the family of
    the language model, and when), and ``sha256`` which tables it were.
    """

    corpus: str = Field(min_length=1)
    ground: Literal["scores", "judgements"] = "scores"
    by: str | None = None
    rating: str | None = None
    sessions: int = Field(ge=1)
    turns: int = Field(ge=1)
    licence: str | None = None
    language: str | None = None
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")


class PriorCard(Settings):
    """What a reader has to know of a reaction model, and what decides whether it fits a corpus.

    ``reading`` are the settings by which replies were read, ``backbone`` what tells the encoder from another of the
    same name (`apportion.foundation.model_hub.names.model_digest`), ``width`` the d numbers that it gives, ``cues`` the
    C names beside them. ``adapts`` says that replies are standardised over the corpus that is judged; else as over
    those that it was learnt from. ``explained`` is R^2 of standardised scores that were left out one at a time; None
    without scores.
    """

    kind: Literal["apportion-reactions"] = KIND
    format: Literal[1] = 1
    name: str = Field(min_length=1, max_length=80)
    learnt_from: tuple[TrainingProvenance, ...] = Field(min_length=1)
    licence: str = Field(min_length=1)
    reading: dict[str, Any]
    backbone: str = Field(min_length=1)
    width: int = Field(ge=1)
    cues: tuple[str, ...]
    adapts: bool = True
    late: float | None = None
    penalty: float | None = None
    explained: float | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _cues_are_ours(self) -> PriorCard:
        if self.cues != CUES:
            unknown = sorted(set(self.cues) ^ set(CUES))
            raise ValueError(
                f"its cues differ from those of this version in {', '.join(unknown) or 'their order'}; use the version "
                f"of apportion that made it ({self.versions.get('apportion', 'unknown')}), or make it again"
            )
        return self

    @property
    def languages(self) -> frozenset[str] | None:
        """The languages that taught it, and that it understands; None where they are not said."""
        return frozenset().union(*(_codes_of(one) for one in self.learnt_from)) or None

    @property
    def judges(self) -> tuple[str, ...]:
        """Who judged turns for it, each once; empty where scores taught it."""
        return tuple(dict.fromkeys(one.by for one in self.learnt_from if one.by is not None))

    def reads_otherwise(self, reading: Mapping[str, Any]) -> str | None:
        """The first setting in which ``reading`` is not that of what taught it, with both values; None for none."""
        for name in sorted(self.reading.keys() | reading.keys()):
            learnt, found = self.reading.get(name), reading.get(name)
            if learnt != found:
                return f"learnt with {name} = {learnt!r}, and decompose.reaction.{name} is {found!r}"
        return None

    def told(self) -> str:
        """What it was learnt from, in one line."""
        parts = [
            f"{one.sessions} sessions of {one.corpus} ({one.ground}{f' by {one.by}' if one.by else ''})"
            for one in self.learnt_from
        ]
        return f"{self.name}: learnt from {', '.join(parts)}; {self.licence}"


def _codes_of(one: TrainingProvenance) -> frozenset[str]:
    return frozenset().union(*map(codes, (one.language or "").split(", ")))


@dataclass(frozen=True, eq=False)
class Prior:
    """A turn whose reaction has the numbers x is worth ((x - centre) / scale) . weights + bias.

    Another corpus's replies lie elsewhere: they are about other things. So where the card says that the model adapts,
    centre and scale of a corpus with N turns are N / (N + 200) its own, for the rest those below.

    - ``centre``, ``scale``, ``weights`` (float64 [shape=(d + C,)]): Of the reply's embedding, then of its cues: the
      mean and standard deviation over the turns that it was learnt from, and what a standard deviation is worth. A
      scale of infinity leaves a column out.
    - ``bias`` (float): In standard deviations of what taught it, as the values are: 0 is a session like its mean.
    """

    card: PriorCard
    centre: Floats
    scale: Floats
    weights: Floats
    bias: float = 0.0

    def values(self, reactions: Reactions) -> Floats:
        """The worth of every turn [shape=(N,)]; the rater's recorded behaviour is not looked at.

        NaN in sessions of a language that it was not learnt from.

        Raises FeatureVersionError: The replies were read otherwise than those that it was learnt from.
        """
        found = reactions.embeddings.shape[1]
        if found != self.card.width:
            raise FeatureVersionError(
                f"reaction model {self.card.name!r}: learnt on replies of {self.card.width} numbers each, these have "
                f"{found}. {_SET_READING} {_shown(self.card.reading)}."
            )
        understood = reactions.understood_by(self.card.languages)
        read = np.arange(len(reactions.cues)) if understood.all() else np.flatnonzero(understood)
        parts = [read[start : start + ROWS_AT_ONCE] for start in range(0, len(read), ROWS_AT_ONCE)]

        def blocks() -> Iterator[Floats]:
            return (np.concatenate([reactions.embeddings[of], reactions.cues[of]], axis=1) for of in parts)

        centre, scale = self.centre, self.scale
        if self.card.adapts and len(read):
            mean, variance = mean_and_variance(blocks, len(read))
            own = len(read) / (len(read) + STEADY)
            centre, scale = own * mean + (1 - own) * centre, np.sqrt(own * variance + (1 - own) * scale**2)
        worth: Floats = np.full(len(reactions.cues), np.nan)
        for of, features in zip(parts, blocks(), strict=True):
            worth[of] = ((features - centre) / scale) @ self.weights + self.bias
        return worth

    def check_reading(self, reading: Mapping[str, Any], backbone: str) -> None:
        """Refuse a corpus whose replies are read otherwise than those that it was learnt from.

        Raises FeatureVersionError: A setting of the reading differs (which, both values), or the encoder of that
        name is another one.
        """
        if differs := self.card.reads_otherwise(reading):
            raise FeatureVersionError(
                f"reaction model {self.card.name!r}: {differs}. {_SET_READING} {_shown(self.card.reading)}."
            )
        if backbone != self.card.backbone:
            raise FeatureVersionError(
                f"reaction model {self.card.name!r}: the encoder {reading.get('backbone')!r} is another one than it "
                f"was learnt with ({self.card.backbone[:16]}, here {backbone[:16]}). Use that one, or learn it again."
            )


_SET_READING = "Read them alike: [decompose.reaction]"


def _shown(reading: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in sorted(reading.items()))


def write_prior(path: Path, prior: Prior) -> None:
    """Write the model to ``path`` (.safetensors) and its card beside it (.json); equal models give equal bytes.

    Raises InputError: Another suffix.
    """
    from safetensors.numpy import save

    if path.suffix != SUFFIX:
        raise InputError(f"{path}: a reaction model is a file {SUFFIX}; call it {path.with_suffix(SUFFIX).name!r}.")
    card = json.dumps(prior.card.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    tensors = {name: np.ascontiguousarray(getattr(prior, name), dtype=np.float64) for name in TENSORS}
    tensors["bias"] = np.array([prior.bias], dtype=np.float64)
    write_atomically(path, save(tensors, metadata={CARD: card}))
    shown = json.dumps(json.loads(card), indent=1, sort_keys=True, ensure_ascii=False)
    write_atomically(card_beside(path), f"{shown}\n")


def card_beside(path: Path) -> Path:
    """Where the card lies for people; what counts is the one inside the model."""
    return path.with_suffix(".json")


def read_prior(path: Path) -> Prior:
    """The model in the file ``path``, checked number by number.

    Raises InputError: No file, too large, not safetensors, no card or one of something else, a card that is damaged or
    of a later format, tensors that are missing, of another shape or kind, or not finite.
    """
    from safetensors import SafetensorError, safe_open

    called = f"reaction model {path}"
    check_file(path, called, MAKE)
    if path.stat().st_size > LARGEST:
        raise InputError(f"{called}: {path.stat().st_size} bytes; the largest that is read has {LARGEST}. {MAKE}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
    except (SafetensorError, OSError, TypeError, ValueError) as error:
        raise InputError(f"{called}: not a readable safetensors file ({error}). Copy it again. {MAKE}") from None
    card = _card(called, metadata.get(CARD))
    _check_tensors(called, tensors, card)
    centre, scale, weights = (tensors[name].astype(np.float64) for name in TENSORS)
    return Prior(card, centre, scale, weights, float(tensors["bias"][0]))


def _card(called: str, text: str | None) -> PriorCard:
    if text is None:
        raise InputError(f"{called}: safetensors of something else, without a {CARD!r} in the metadata. {MAKE}")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{called}: its card is not valid JSON ({error}). Copy it again. {MAKE}") from None
    kind = values.get("kind") if isinstance(values, dict) else type(values).__name__
    if kind != KIND:
        raise InputError(f"{called}: its card is of the kind {kind!r}; a reaction model's is {KIND!r}. {MAKE}")
    try:
        return PriorCard.model_validate(values)
    except ValidationError as error:
        names = tuple(PriorCard.model_fields)
        found = problems(error, unknown=lambda place: did_you_mean(str(place[-1]), names, "remove it"))
        raise InputError(f"{called}: its card cannot be used: {found[0]}. {MAKE}") from None


def _check_tensors(called: str, tensors: Mapping[str, Any], card: PriorCard) -> None:
    wanted = {**dict.fromkeys(TENSORS, (card.width + len(card.cues),)), "bias": (1,)}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if found != wanted:
        name = min(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
        raise InputError(
            f"{called}: tensor {name!r} is {found.get(name, 'missing')}; its card asks for "
            f"{wanted.get(name, 'no such tensor')}. Copy it again. {MAKE}"
        )
    for name, tensor in tensors.items():
        if not np.issubdtype(tensor.dtype, np.floating):
            raise InputError(f"{called}: tensor {name!r} holds {tensor.dtype}, not floating-point numbers. {MAKE}")
        fine = (tensor > 0) if name == "scale" else np.isfinite(tensor)  # A scale of infinity leaves a column out.
        if not fine.all():
            place = int(np.flatnonzero(~fine)[0])
            allowed = "above 0" if name == "scale" else "finite"
            raise InputError(f"{called}: {name}[{place}] is {tensor[place]}; it has to be {allowed}. {MAKE}")


def prior_identity(path: Path | None) -> str:
    """sha256 of the model's file: the same for the same model anywhere.

    Raises InputError: None is named, or it cannot be read.
    """
    if path is None:
        raise InputError(f"no reaction model is named (decompose.reaction.pretrained). {MAKE}")
    check_file(path, f"decompose.reaction.pretrained = '{path}'", MAKE)
    try:
        return remembered_digest(path)
    except OSError as error:
        raise InputError(
            f"decompose.reaction.pretrained = '{path}': cannot be read ({error.strerror}). {MAKE}"
        ) from None
