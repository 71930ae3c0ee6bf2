"""Who can play an environment, by name: scripts, a package's agents, and language models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from apportion.environments.agents.agent import Agent, ReplayAgent
from apportion.environments.agents.language_model import TEMPERATURE, WORDS, ActionFormat, LanguageModelAgent, asks_of
from apportion.environments.agents.wrappers import WRAPPERS, WrappedAgent, WrappedModel, unwrapped
from apportion.foundation.errors import InputError
from apportion.foundation.registry import Registry
from apportion.llm_client.model_spec import Called, ModelSpec
from apportion.llm_client.prompt_style import StyledModel, style_and_model
from apportion.llm_client.prompts.prompt_file import is_path
from apportion.llm_client.session import Complete, LLMSession

TOO_LONG = "Lower the number of acts, or use a model with a longer context."


EVERYWHERE: Mapping[str, str] = {
    "recorded": "apportion.environments.agents.agent:ReplayAgent",
    # By their places alone: what they are made with is above this package, and is loaded when somebody names them.
    "policy": "apportion.rlhf.sampling.policy_agent:FolderPolicy",
    "smollm2": "apportion.rlhf.sampling.policy_agent:SmolLM2",
}
"""Agents of every world."""
MADE_OF = (ReplayAgent.example, "policy@FOLDER")
"""How those are written that are made of something."""


def agents_by_name(group: str, ours: Mapping[str, str]) -> Registry:
    """The registry of agents that are no language models: ours by their places, and a package's entry points."""
    return Registry(
        what="agent",
        group=group,
        must_be="an apportion.environments.agents.agent.Agent, or a class that is made without arguments, or with what "
        "stands behind an @ by its `of`",
        fits=lambda thing: callable(getattr(thing, "act", None)),
        ours={**ours, **EVERYWHERE},
    )


@dataclass(frozen=True)
class AgentRegistry:
    """The agents of one environment.

    ``registry``: Those that are no language models. ``form``: How language models are asked. ``made_of``: How those of
    the registry are written that are made of what stands behind an @, for errors.
    """

    registry: Registry
    form: ActionFormat = WORDS
    made_of: tuple[str, ...] = MADE_OF

    def asked_by(
        self, name: str, chosen: ModelSpec, called: Called = str, temperature: float = TEMPERATURE
    ) -> StyledModel | None:
        """The language model that an agent's name means (``STYLE`` or ``STYLE@MODEL``); None: it is no such agent.

        Raises InputError: it is, and no model was chosen; or a setting cannot be used.
        """
        wrapped = unwrapped(name)
        if wrapped is not None:
            return self._wrapped_asked_by(wrapped, chosen, called, temperature)
        style, model = style_and_model(name)
        if model is None and name in self.registry.names():
            return None
        if style not in self.form.prompts.names() and not is_path(style):
            return None
        return StyledModel.of("agent", name, chosen, called, temperature)

    def _wrapped_asked_by(
        self, wrapped: WrappedAgent, chosen: ModelSpec, called: Called, temperature: float
    ) -> StyledModel | None:
        """The same of one that has something around it; that asks the model behind its @, or that of who acts."""
        inner, made = self.asked_by(wrapped.inner, chosen, called, temperature), wrapped.made()
        if not made.asks(wrapped.of):
            return None if inner is None else WrappedModel(inner.style, inner.settings, inner, wrapped)
        if inner is not None and not wrapped.of:
            settings = inner.settings
        elif chosen.asks or wrapped.of:
            settings = (chosen.named(wrapped.of) if wrapped.of else chosen).llm(called, temperature)
        else:
            raise InputError(
                f"agent {wrapped.inner + wrapped.suffix!r}: no language model is chosen for {wrapped.wrapper}: give "
                f"{called('model')}, or write {made.example}"
            )
        around = wrapped._replace(of=settings.model)
        return WrappedModel(wrapped.wrapper if inner is None else inner.style, settings, inner, around)

    def asking(self, name: str, asked: StyledModel, complete: Complete) -> Agent:
        """The agent of a name that asks a language model; ``asked`` as `asked_by` gave it.

        Raises InputError: its prompt cannot be used.
        """
        if isinstance(asked, WrappedModel) and asked.around is not None:
            inner, around = asked.inner, asked.around
            agent = self.scripted(around.inner) if inner is None else self.asking(around.inner, inner, complete)
            return around.made().around(agent, around.of, asked.called, asked.settings, complete)
        asks_of(asked.style, self.form.prompts)
        return LanguageModelAgent(asked.called, asked.style, asked.settings, complete, form=self.form)

    def prompt_files(self, asked: StyledModel) -> list[Path]:
        """The prompts in whose words it is asked, for the identity of what rests on its replies; raises as `asking`."""
        if isinstance(asked, WrappedModel) and asked.around is not None:
            inner = [] if asked.inner is None else self.prompt_files(asked.inner)
            return [*inner, *asked.around.made().prompt_files()]
        prompts = self.form.prompts
        styles = dict.fromkeys(one.style for one in reversed(asks_of(asked.style, prompts)))
        return [prompts.find(style) for style in styles]

    @contextmanager
    def agents_of(
        self,
        names: Sequence[str],
        chosen: ModelSpec,
        cache: Path,
        called: Called = str,
        temperature: float = TEMPERATURE,
    ) -> Iterator[Mapping[str, Agent]]:
        """The agents of these names, each made once; clients are closed at the end.

        ``names``: Of the registry, with what they are made of behind an @ where they need it; or a language model's:
        ``STYLE``, ``STYLE@MODEL``. ``chosen``: The model, its server and limits, for those that are language models.
        ``cache``: Where replies are kept. ``called``: What a caller calls the fields of ``chosen``, for errors.
        ``temperature``: Of language models. Raises InputError: There is none of a name, or its model cannot be asked:
        no consent, no key, a file that cannot be read.
        """
        with ExitStack() as stack:
            found: dict[str, Agent] = {}
            askers: dict[str, LLMSession] = {}
            for name in names:
                asked = self.asked_by(name, chosen, called, temperature)
                if asked is None:
                    found[name] = self.scripted(name)
                    continue
                model = asked.settings.model
                if model not in askers:
                    askers[model] = stack.enter_context(chosen.asker(asked.settings, cache, called, TOO_LONG))
                    askers[model].check()
                found[name] = self.asking(name, asked, askers[model].complete)
            yield found

    def called_as(self, name: str, chosen: ModelSpec, called: Called = str, temperature: float = TEMPERATURE) -> str:
        """What an agent of this name is called in logs: with its model, or with the episode that it plays again."""
        asked = self.asked_by(name, chosen, called, temperature)
        if asked is not None:
            return asked.called
        wrapped = unwrapped(name)
        if wrapped is not None:
            return f"{self.called_as(wrapped.inner, chosen, called, temperature)}{wrapped.suffix}"
        return self.scripted(name).called if "@" in name else name

    def scripted(self, name: str) -> Agent:
        """The agent of a name that asks no language model; what stands behind an @ is what it is made of.

        Raises InputError: there is none of this name, or what stands behind it is missing, too much or cannot be used.
        """
        wrapped = unwrapped(name)
        if wrapped is not None:
            agent = self.scripted(wrapped.inner)
            return wrapped.made().around(agent, wrapped.of, f"{agent.called}{wrapped.suffix}", None, None)
        plain, at, made_of = (name, "", "") if name in self.registry.names() else name.partition("@")
        problem = self.registry.unknown(plain)
        if problem is not None:
            raise InputError(
                f"{problem} Written with what they are made of: {', '.join(self.made_of)}. Language models: "
                f"{', '.join(self.form.styles)}, each also as NAME@MODEL. Around any of them: "
                f"{', '.join(f'NAME+{wrapper}' for wrapper in WRAPPERS.names())}."
            )
        agent = self.registry.find(plain)
        of: Callable[[str], Agent] | None = getattr(agent, "of", None)
        if of is None and at:
            raise InputError(f"agent {name!r}: {plain!r} takes nothing behind an @; write {plain}")
        if of is not None and not made_of and not (getattr(agent, "alone", False) and not at):
            example = f", as {agent.example}" if hasattr(agent, "example") else ""
            raise InputError(f"agent {name!r} needs what it is made of behind an @{example}")
        made: Agent = of(made_of) if of is not None else agent() if isinstance(agent, type) else agent
        return made
