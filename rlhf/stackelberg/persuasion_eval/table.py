"""Whether followers answer what leaders wanted (Table 6): cosines of their sampled answers with the desired ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.rlhf.policy_settings import Window
from apportion.rlhf.stackelberg.dialogues import Stages
from apportion.rlhf.stackelberg.epoch_checkpoints import epoch_folders
from apportion.rlhf.stackelberg.instances.instance import Instance
from apportion.rlhf.stackelberg.log_likelihood_gain import word_count
from apportion.rlhf.stackelberg.persuasion_eval.followers import Follower
from apportion.rlhf.stackelberg.validation import session_of, speeches

SAMPLES = 500
"""Interaction instances of appendix D.3."""
RESAMPLES = 2_000
UNREFINED = "unrefined"
"""The row of what was said in the corpus."""
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
class Persuaded:
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
) -> Persuaded:
    """Table 6 of a trained Refiner: what followers answer to its speeches, epoch by epoch.

    Parameters
    ----------
    folder : Path
        Of `train refiner`, with the Refiner after each epoch.
    instances : sequence of Instance
        Turns with intents that it has not learned from.
    stages : str
        Whether it refines or speaks itself.
    follower : Follower
        Who answers, in the followers' own prompts.
    embed : callable
        Makes vectors of texts.
    window : Window
        What the Refiner reads, and how it is sampled.
    seed : int
        Of its speeches; the same in every epoch.

    Raises
    ------
    InputError
        The folder has no epochs, or nobody can be asked.
    UnitError
        An answer that failed.
    """
    from apportion.rlhf.policy.opening import base_of, open_policy
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
        words = fmean(map(word_count, said))
        rows.append(Persuasion(epoch, len(instances), float(near.mean()), float(far.mean()), words, nearer))
        progress(number + 1, len(named))
    return Persuaded(tuple(rows), similarities)


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
