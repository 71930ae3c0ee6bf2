"""Agents with something around them: ``NAME+WRAPPER`` or ``NAME+WRAPPER@OF``, whatever agent NAME is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from apportion.environments.agents.agent import Agent
from apportion.foundation.errors import InputError
from apportion.foundation.registry import Registry
from apportion.llm_client.prompt_style import StyledModel
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings

MARK = "+"


class Wrapper(Protocol):
    """What can be put around any agent; it acts by the same view as that agent, and knows no more."""

    example: str
    """How one is written, for errors: ``NAME+refiner@FOLDER``."""

    def asks(self, of: str) -> bool:
        """Whether it asks a language model, by what stands behind its @ (empty: nothing)."""
        return False

    def check(self, of: str) -> None:
        """Raise InputError where it cannot be made of ``of``."""

    def prompt_files(self) -> Sequence[Path]:
        """The prompts in whose words it asks, for the identity of what rests on its replies."""
        return ()

    def around(self, agent: Agent, of: str, called: str, asked: LLMSettings | None, complete: Complete | None) -> Agent:
        """The agent with this around it.

        ``agent``: Who acts. ``of``: What stands behind the @. ``called``: What the two are called in logs. ``asked``,
        ``complete``: The model that it asks, where it does. Raises InputError: It cannot be made of ``of``.
        """


WRAPPERS = Registry(
    what="wrapper",
    group="apportion.agent_wrappers",
    must_be="an apportion.environments.agents.wrappers.Wrapper",
    fits=lambda thing: callable(getattr(thing, "around", None)),
    # By their places alone: what they are made with is above this package, and is loaded when somebody names them.
    ours={
        "refiner": "apportion.rlhf.stackelberg.refiner:REFINER",
        "sla": "apportion.environments.deduction.chooser:SLA",
        "lspo": "apportion.environments.deduction.latent_strategies:LSPO",
        "rl-ins": "apportion.environments.deduction.chooser:RL_INS",
    },
)


class WrappedAgent(NamedTuple):
    """The parts of a name: who acts, what is around, and what that is made of (empty: nothing)."""

    inner: str
    wrapper: str
    of: str

    @property
    def suffix(self) -> str:
        """What stands behind the inner name."""
        return f"{MARK}{self.wrapper}@{self.of}" if self.of else f"{MARK}{self.wrapper}"

    def made(self) -> Wrapper:
        """The wrapper; raises InputError where it cannot be loaded, or cannot be made of `of`."""
        wrapper: Wrapper = WRAPPERS.find(self.wrapper)
        wrapper.check(self.of)
        return wrapper


def unwrapped(name: str) -> WrappedAgent | None:
    """The parts of a wrapped agent's name, the outermost wrapper first; None: nothing is around it.

    >>> unwrapped("base@qwen3+refiner@runs/refiner")
    WrappedAgent(inner='base@qwen3', wrapper='refiner', of='runs/refiner')
    >>> unwrapped("base@qwen3+8b")

    Raises InputError: nobody stands before the ``+``, or nothing behind the @.
    """
    names = "|".join(map(re.escape, WRAPPERS.names()))
    marks = list(re.finditer(rf"\{MARK}({names})(?=@|\{MARK}|$)", name))
    if not marks:
        return None
    last = marks[-1]
    inner, rest = name[: last.start()], name[last.end() :]
    if not inner:
        raise InputError(f"agent {name!r}: nobody before the {MARK}; write NAME{name}, as react{name}")
    if rest == "@":
        raise InputError(f"agent {name!r}: nothing behind the @; write {name[:-1]}, or name what it is made of")
    return WrappedAgent(inner, last[1], rest.removeprefix("@"))


@dataclass(frozen=True)
class WrappedModel(StyledModel):
    """A wrapped agent that asks a language model: itself (``inner``), what is around it (``around``), or both.

    ``settings`` are the model's; what is around a script asks the chosen model, around a language model that one.
    """

    inner: StyledModel | None = None
    around: WrappedAgent | None = None

    @property
    def called(self) -> str:
        """The name in full."""
        assert self.around is not None
        inner = self.around.inner if self.inner is None else self.inner.called
        return f"{inner}{self.around.suffix}"
