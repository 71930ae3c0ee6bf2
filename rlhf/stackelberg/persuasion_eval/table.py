"""Table 6: do followers answer what leaders wanted? Cosines of their answers with the desired ones, by epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.request import json_line
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.stackelberg.dialogues import Stages
from apportion.rlhf.stackelberg.instances.instance import Instance, read_instances, with_intents
from apportion.rlhf.stackelberg.persuasion_eval.followers import (
    Follower,
    LocalFollower,
    PromptedFollower,
    ServedEmbedding,
    TextEmbedding,
)
from apportion.rlhf.stackelberg.refiner import stages_of
from apportion.rlhf.stackelberg.training import UNSEEN, epoch_folders
from apportion.rlhf.stackelberg.validation import session_of, speeches

RESAMPLES = 2_000
UNREFINED = "unrefined"
Embed = Callable[[Sequence[str]], Floats]
"""Texts (N of them) to vectors [shape=(N, d)]."""


@dataclass(frozen=True)
class Interval:
    """A mean, and the bounds of its 95 % interval over sessions."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


@dataclass(frozen=True)
class Persuasion:
    """One row of Table 6: an epoch (0: before any learning; `UNREFINED`: what was said in the corpus).

    ``desired`` and ``undesired`` are mean cosines of the follower's answer with the K answers of a kind; ``nearer`` how
    much nearer the answers are to the desired ones than at epoch 0, paired by turn (None there), ``words`` the mean
    length of a speech.
    """

    epoch: int | str
    turns: int
    desired: float
    undesired: float
    words: float
    nearer: Interval | None = None

    def to_json(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)


@dataclass(frozen=True)
class PersuasionTable:
    """Table 6: a row an epoch, and of each turn the ``similarity`` of its answer with the desired ones, by epoch."""

    rows: tuple[Persuasion, ...]
    similarities: Mapping[int, Sequence[tuple[str, float]]]

    def lines(self) -> list[dict[str, Any]]:
        """A turn and epoch a line, for files: ``epoch``, ``session``, ``turn``, ``similarity``."""
        return [
            {
                "epoch": epoch,
                "session": name.rpartition("#")[0],
                "turn": int(name.rpartition("#")[2]),
                "similarity": near,
            }
            for epoch, turns in self.similarities.items()
            for name, near in turns
        ]


def persuasion(
    folder: Path,
    instances: Sequence[Instance],
    stages: Stages,
    follower: Follower,
    embed: Embed,
    window: Window,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PersuasionTable:
    """Table 6 of a trained Refiner: what followers answer to its speeches, epoch by epoch.

    ``folder``: of `train refiner`, with the Refiner after each epoch. ``instances``: turns with intents that it has not
    learned from. ``stages``: whether it refines or speaks itself. ``follower``: who answers, in the followers' own
    prompts. ``window``: what the Refiner reads, and how it is sampled. ``seed``: of its speeches; the same in every
    epoch.
    """
    from apportion.rlhf.policy.folder import base_of, open_policy
    from apportion.rlhf.policy_settings import Placement

    folders = epoch_folders(folder)
    if not folders:
        raise InputError(
            f"{folder}: no epochs of a Refiner in it. Train one with `train refiner`, and name its output."
        )
    named: list[tuple[int | str, str]] = [(UNREFINED, ""), (0, base_of(folder))]
    named += [(int(one.name), str(one)) for one in folders]
    wanted = [vectors(embed, one.desired) for one in instances]
    feared = [vectors(embed, one.undesired) for one in instances]
    rows: list[Persuasion] = []
    similarities: dict[int, list[tuple[str, float]]] = {}
    start: Floats | None = None
    for number, (epoch, name) in enumerate(named):
        if name:
            policy = open_policy(name, window, Placement(), name)
            said = [words[0] for words in speeches(policy, instances, window, stages, [seed, "persuasion"])]
        else:
            said = [one.said for one in instances]
        answered = vectors(embed, follower.answers(instances, said))
        near = np.array([float((answer @ vector.T).mean()) for answer, vector in zip(answered, wanted, strict=True)])
        far = np.array([float((answer @ vector.T).mean()) for answer, vector in zip(answered, feared, strict=True)])
        start = near if epoch == 0 else start
        if isinstance(epoch, int):
            similarities[epoch] = [(one.name, value) for one, value in zip(instances, near.tolist(), strict=True)]
        nearer = None
        if start is not None and epoch not in (0, UNREFINED):
            nearer = paired_interval(near - start, [session_of(one) for one in instances], seed)
        words = fmean(len(words.split()) for words in said)
        rows.append(Persuasion(epoch, len(instances), float(near.mean()), float(far.mean()), words, nearer))
        progress(number + 1, len(named))
    return PersuasionTable(tuple(rows), similarities)


def vectors(embed: Embed, texts: Sequence[str]) -> Floats:
    """Unit vectors [shape=(N, d)] of texts; an empty text has the vector of a mark for silence."""
    made = np.asarray(embed([text.strip() or "…" for text in texts]), dtype=np.float64)
    lengths = np.linalg.norm(made, axis=1, keepdims=True)
    unit: Floats = made / np.where(lengths == 0, 1.0, lengths)
    return unit


def paired_interval(differences: Floats, sessions: Sequence[str], seed: int = 0) -> Interval:
    """The mean of paired differences [shape=(N,)] with its 95 % bootstrap interval, whole sessions drawn again."""
    places = [np.flatnonzero(np.array(sessions) == name) for name in dict.fromkeys(sessions)]
    sums = np.array([differences[place].sum() for place in places])
    counts = np.array([len(place) for place in places])
    drawn = np.random.default_rng(seed).integers(len(places), size=(RESAMPLES, len(places)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(differences.mean()), float(low), float(high))


def persuasion_text(rows: Sequence[Persuasion], of: str) -> str:
    """The table for a person; ``of`` says who answered, and by which vectors."""
    lines = [
        f"cosine of the follower's answer with the desired and the undesired ones ({of})",
        f"{'epoch':>9}  {'desired':>7}  {'undesired':>9}  {'words':>5}  nearer to the desired than at epoch 0",
    ]
    for row in rows:
        nearer = "" if row.nearer is None else str(row.nearer)
        lines.append(f"{row.epoch!s:>9}  {row.desired:7.3f}  {row.undesired:9.3f}  {row.words:5.0f}  {nearer}".rstrip())
    return "\n".join(lines)


REPLIES, FILE = "persuasion.sqlite", "persuasion.jsonl"
ANSWER_TOKENS = 200
"""Of a local follower's answer: 100 words and more."""
_TOO_LONG = "Leave that turn out, or use a model with a longer context."


@dataclass(frozen=True)
class PersuasionQuery:
    """What is to be compared.

    ``refiner``: a folder of `train refiner`. ``turns``: turns with intents; None takes those that the training has set
    aside. ``follower``: a causal language model of this machine that answers; None: ``chosen`` does. ``chosen``: the
    language model at a server, its limits and files. ``embedding``: as
    `apportion.rlhf.stackelberg.persuasion_eval.followers.TextEmbedding` has it, or ``MODEL@URL`` of a server of
    embeddings. ``embedding_allow_host``: consent: the host to which answers may be sent for their vectors. ``called``:
    what a caller calls the fields, for errors.
    """

    refiner: Path
    turns: Path | None = None
    follower: str | None = None
    chosen: ModelSpec = field(default_factory=ModelSpec)
    temperature: float = 1.0
    embedding: str = "minilm"
    embedding_allow_host: str | None = None
    count: int = 500  # appendix D.3
    seed: int = 0
    called: Called = str


def persuade(
    asked: PersuasionQuery, progress: Callable[[int, int], None] = lambda done, total: None
) -> PersuasionTable:
    """Table 6; its turns, a turn and epoch a line, are written into `FILE` in the Refiner's folder.

    Raises InputError: no Refiner, no turns with intents, or a model that cannot be asked; StoppedError, UnitError: as
    whoever answers.
    """
    from apportion.rlhf.policy.folder import read_window

    stages = stages_of(str(asked.refiner))
    file = asked.turns or asked.refiner / UNSEEN
    turns = list(with_intents(read_instances(file), str(file)))
    if len(turns) > asked.count:
        turns = sorted(Random(f"{asked.seed}/persuasion").sample(turns, asked.count), key=turns.index)
    window = Window.model_validate(read_window(str(asked.refiner)))
    with _embedding(asked) as embed, _follower(asked, turns) as follower:
        found = persuasion(asked.refiner, turns, stages, follower, embed, window, asked.seed, progress)
    write_atomically(asked.refiner / FILE, "".join(json_line(line) + "\n" for line in found.lines()))
    return found


@contextmanager
def _embedding(asked: PersuasionQuery) -> Iterator[Embed]:
    model, at, url = asked.embedding.partition("@")
    if not at:
        yield TextEmbedding(model)
        return
    chosen = ModelSpec(
        model=model,
        base_url=url,
        allow_host=asked.embedding_allow_host,
        api_key_env=asked.chosen.api_key_env,
        concurrency=asked.chosen.concurrency,
        budget=asked.chosen.budget,
        prices=asked.chosen.prices,
    )
    own = {"model": "embedding", "base_url": "embedding", "allow_host": "embedding_allow_host"}

    def called(name: str) -> str:
        return asked.called(own.get(name, name))

    settings = chosen.llm(called)
    cache = asked.chosen.cache or asked.refiner / REPLIES
    with chosen.asker(settings, cache, called, _TOO_LONG) as asker:
        asker.check()
        yield ServedEmbedding(settings, asker.complete)


@contextmanager
def _follower(asked: PersuasionQuery, turns: list[Instance]) -> Iterator[Follower]:
    if asked.follower is not None:
        from apportion.rlhf.policy.folder import open_policy

        window = Window(max_context_tokens=8, max_new_tokens=ANSWER_TOKENS, temperature=max(asked.temperature, 0.001))
        policy = open_policy(asked.follower, window, Placement(), asked.follower)
        yield LocalFollower(policy, window, asked.seed)
        return
    settings = asked.chosen.llm(asked.called, asked.temperature)
    cache = asked.chosen.cache or asked.refiner / REPLIES
    with asked.chosen.asker(settings, cache, asked.called, _TOO_LONG) as asker:
        asker.check()
        yield PromptedFollower(settings, asker.complete, asked.seed, asked.chosen.concurrency)
