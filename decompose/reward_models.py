"""The reward models of a run: one that each method's rewards teach, one trained on an objective itself, or both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from apportion.decompose.method import Method, ObjectiveMethod
from apportion.decompose.methods import METHODS, find_method
from apportion.foundation.errors import InputError

GOLD_VERSION = 2
"""Of what gold (`apportion.decompose.corpus_methods.gold`) learns: raised where the same sessions make other models."""
SUFFIX = "-direct"
"""What the name of a directly trained reward model adds to that of its method."""


class RewardModelRef(NamedTuple):
    """What a reward model learns from: the rewards of ``method``, or, ``direct``, what that method itself learns from.

    >>> taught_by("rrd").direct, taught_by("rrd-direct").direct, taught_by("rrd-direct").method.name
    (False, True, 'rrd')
    """

    method: Method
    direct: bool


def reward_models(
    methods: Sequence[str],
    objective: Literal["distilled", "direct", "both"],
    teacher: Literal["rewards", "predicted-reaction"] = "rewards",
) -> tuple[str, ...]:
    """The names of the reward models, in the order of ``methods``; one alone where reactions teach it.

    A method that is no objective (a language model's judgements, sentiment, uniform, reactions) has rewards to be
    distilled, whatever ``objective`` says.

    >>> reward_models(("llm", "rrd"), "both")
    ('llm', 'rrd', 'rrd-direct')
    >>> reward_models(("llm", "rrd"), "direct")
    ('llm', 'rrd-direct')
    >>> reward_models(("llm", "rrd"), "distilled", "predicted-reaction")
    ('predicted-reaction',)

    Raises InputError: A package's method has the name of one of them.
    """
    if teacher == "predicted-reaction":
        return (teacher,)
    names: list[str] = []
    for name in methods:
        learns = objective != "distilled" and isinstance(METHODS[name], ObjectiveMethod)
        names += [name] if not learns or objective == "both" else []
        names += [_direct(name)] if learns else []
    return tuple(names)


def taught_by(name: str) -> RewardModelRef:
    """What the reward model ``name`` learns from; a method of that very name goes before a suffix.

    Raises InputError: It names no method.
    """
    if name not in METHODS and name.endswith(SUFFIX):
        return RewardModelRef(find_method(name.removesuffix(SUFFIX)), direct=True)
    return RewardModelRef(find_method(name), direct=False)


def direct_notes(names: Iterable[str]) -> tuple[str, ...]:
    """What a reader of a table has to know of the directly trained ones among the reward models ``names``."""
    direct = [taught for name in names if (taught := taught_by(name)).direct]
    if not direct:
        return ()
    note = f"{', '.join(f'{taught.method.name}{SUFFIX}' for taught in direct)}: reward models trained on the objective "
    note += f"itself; without {SUFFIX}, on the rewards that it gives (Eq. 5)."
    differences = [f"{taught.method.name}{SUFFIX}" for taught in direct if taught.method.recurrent]
    if not differences:
        return (note,)
    return (
        note,
        f"{', '.join(differences)}: differences of predicted returns; what they leave of a score is not spread.",
    )


def _direct(name: str) -> str:
    direct = f"{name}{SUFFIX}"
    if direct in METHODS:
        raise InputError(
            f"{direct!r} is a method that an installed package brings, and also what the reward model would be called "
            f"that is trained directly on {name!r}. Set train_reward.objective = 'distilled', or remove the package."
        )
    return direct
