"""Refining what somebody is about to say (Eq. 3), and ``NAME+refiner``: any agent in refined words (section 4.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from apportion.environments.agents.agent import UNREVISED, Agent
from apportion.environments.agents.language_model import TOKENS_AN_ACT
from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import InputError
from apportion.foundation.files import at_home
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.stackelberg.questions import PROMPTS, REFINE, refine_chat, refined_words

if TYPE_CHECKING:
    from apportion.rlhf.policy.loading import Policy
    from apportion.rlhf.stackelberg.dialogues import Stages


CARD = "refiner.json"
"""What says of a folder that a Refiner was trained there, and how."""


class Refiner(Protocol):
    """Says the same more convincingly."""

    def refined(self, view: Observation, base: str) -> str:
        """u_t of u_base, from what the leader knows alone."""


@dataclass(frozen=True)
class TrainedRefiner:
    """The Refiner in a folder of `train refiner`; what it draws is decided by the step and by what it reads.

    Its weights are loaded when it is first asked, once for a process.
    """

    folder: str

    def refined(self, view: Observation, base: str) -> str:
        """u_t of u_base."""
        from apportion.rlhf.sampling.rollout import sample_seeded
        from apportion.rlhf.stackelberg.dialogues import policy_prompt, prompt_context, utterance_of

        policy, window, stages = _opened(str(at_home(self.folder).resolve()))
        context = prompt_context(policy, "", policy_prompt(view.text, base, stages))
        if len(context.prompt) > window.max_context_tokens:
            raise ReplyMistakeError(
                f"the Refiner reads {window.max_context_tokens} tokens, and the situation has {len(context.prompt)}"
            )
        (reply,) = sample_seeded(policy, policy.model, [context], window, [view.number])
        return utterance_of(reply, base, stages)


@dataclass(frozen=True)
class PromptedRefiner:
    """A language model that is asked by Figure 8 (appendix D.1's "Prompt Refine")."""

    settings: LLMSettings
    complete: Complete

    def refined(self, view: Observation, base: str) -> str:
        """u_t of u_base."""
        reply = self.complete(self.request(view, base))
        check_finished(reply, "say less")
        return refined_words(reply.text, base)

    def request(self, view: Observation, base: str) -> ChatRequest:
        """What is asked."""
        return ChatRequest(
            **self.settings.asking,
            messages=refine_chat(view.text, base),
            sample=view.number,
            subject=f"refined words of {view.agent!r}, step {view.step}",
        )


def check_refiner(folder: str) -> None:
    """Raise InputError where a folder has no trained Refiner; loads nothing."""
    _card(at_home(folder))


def stages_of(folder: str) -> Stages:
    """Whether the Refiner in a folder refines or speaks itself; raises as `check_refiner`."""
    stages: Stages = _card(at_home(folder))["stages"]
    return stages


def _card(folder: Path) -> dict[str, Any]:
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        if not (folder / "adapter_config.json").is_file() or card["stages"] not in ("one", "two"):
            raise ValueError("no adapters, or not the card of a Refiner")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"refiner@{folder}: no trained Refiner there ({CARD}: {error}). Train one with `train refiner`, name its "
            "output."
        ) from None
    found: dict[str, Any] = card
    return found


@lru_cache(maxsize=2)
def _opened(folder: str) -> tuple[Policy, Window, Stages]:
    from apportion.rlhf.policy.folder import open_policy, read_window

    card = _card(Path(folder))
    window = Window.model_validate(read_window(folder))
    align = card.get("align")
    given = {name: align[name] for name in Placement.model_fields if name in align} if isinstance(align, dict) else {}
    return open_policy(folder, window, Placement(**given), folder), window, card["stages"]


_STAND_IN = "…"


@dataclass(frozen=True)
class RefinedAgent:
    """Does what an agent does, in refined words; whatever is no speech stays as it is.

    The Refiner reads the leader's own view: what the rules hide from the leader, it does not know either.

    ``called``: what it is called in logs and corpora. ``paid``: whether an act must never be asked for twice.
    """

    called: str
    agent: Agent
    refiner: Refiner
    paid: bool

    def act(self, view: Observation) -> Action:
        """The agent's act, refined where it is a speech; words that cannot be used leave it as it was."""
        act = self.agent.act(view)
        if act.kind not in view.speeches or not act.text.strip():
            return act
        try:
            refined = act._replace(text=self.refiner.refined(view, act.text))
        except ReplyMistakeError as mistake:
            return _unrefined(view, act, str(mistake))
        problem = view.problem(refined)
        return refined if problem is None else _unrefined(view, act, problem)


@dataclass(frozen=True)
class PromptedRefinedAgent(RefinedAgent):
    """The same where a language model is asked: by the agent, by the Refiner, or by both; for prices and previews."""

    settings: LLMSettings

    def request(self, view: Observation) -> ChatRequest:
        """What is asked first for the next act."""
        own = getattr(self.agent, "request", None)
        if own is not None:
            asked: ChatRequest = own(view)
            return asked
        assert isinstance(self.refiner, PromptedRefiner)
        return self.refiner.request(view, _STAND_IN)

    @property
    def requests_an_act(self) -> int:
        """How often it is asked for one act, where every reply can be used."""
        return int(getattr(self.agent, "requests_an_act", 0)) + isinstance(self.refiner, PromptedRefiner)

    @property
    def tokens_an_act(self) -> int:
        """About what one reply takes."""
        return int(getattr(self.agent, "tokens_an_act", TOKENS_AN_ACT))


@dataclass(frozen=True)
class RefinerWrapper:
    """What ``refiner`` means in an agent's name: ``@FOLDER`` of a trained one, ``@MODEL`` or nothing of one asked."""

    example: ClassVar[str] = "NAME+refiner@FOLDER"

    def asks(self, of: str) -> bool:
        """Whether a language model refines: where ``of`` is no folder."""
        return not is_folder(of)

    def check(self, of: str) -> None:
        """Raise InputError where ``of`` is a folder without a trained Refiner, or a path to none."""
        if is_folder(of):
            check_refiner(of)

    def prompt_files(self) -> Sequence[Path]:
        """Figure 8."""
        return [PROMPTS.find(REFINE)]

    def around(self, agent: Agent, of: str, called: str, asked: LLMSettings | None, complete: Complete | None) -> Agent:
        """The agent with its speeches refined; as `apportion.environments.agents.wrappers.Wrapper.around`."""
        trained = is_folder(of)
        if trained:
            check_refiner(of)
        elif asked is None or complete is None:
            raise InputError(f"agent {called!r}: no language model is there to refine its speeches; name a folder")
        refiner: Refiner = TrainedRefiner(of) if trained else PromptedRefiner(asked, complete)  # type: ignore[arg-type]
        paid = agent.paid or not trained
        if asked is None:
            return RefinedAgent(called, agent, refiner, paid)
        return PromptedRefinedAgent(called, agent, refiner, paid, asked)


REFINER = RefinerWrapper()


def is_folder(of: str) -> bool:
    """Whether what stands behind the @ is a folder, or is written as the path of one; else it is a model's name."""
    return bool(of) and (of.startswith((".", "/", "~")) or at_home(of).is_dir())


def _unrefined(view: Observation, act: Action, mistake: str) -> Action:
    """The act as it was, which says so where its data is free for that: in some games it binds."""
    told = act._replace(data={UNREVISED: mistake})
    return told if act.data is None and view.problem(told) is None else act
