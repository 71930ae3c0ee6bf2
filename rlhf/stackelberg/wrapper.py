"""``NAME+refiner``: any agent whose speeches are refined before they are said (section 4.1: "Ours + NAME")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from apportion.environments.agents.agent import UNREVISED, Agent
from apportion.environments.agents.language_model import TOKENS_AN_ACT
from apportion.environments.environment import Action, Observation
from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.questions import PROMPTS, REFINE
from apportion.rlhf.stackelberg.refiner import AskedRefiner, Refiner, TrainedRefiner, check_refiner

_STAND_IN = "…"
"""For a price before anybody has said anything."""


@dataclass(frozen=True)
class RefinedAgent:
    """Does what an agent does, in refined words; whatever is no speech stays as it is.

    The Refiner reads the leader's own view: what the rules hide from the leader, it does not know either.

    Parameters
    ----------
    called : str
        What it is called in logs and corpora.
    agent : Agent
        Who decides, and says u_base.
    refiner : Refiner
        Says u_t.
    paid : bool
        Whether an act must never be asked for twice.
    """

    called: str
    agent: Agent
    refiner: Refiner
    paid: bool

    def act(self, view: Observation) -> Action:
        """The agent's act, refined where it is a speech; words that cannot be used leave it as it was.

        Raises
        ------
        InputError, StoppedError, UnitError
            As the agent's own, and the Refiner's.
        """
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
class AskingRefined(RefinedAgent):
    """The same where a language model is asked: by the agent, by the Refiner, or by both; for prices and previews."""

    settings: LLMSettings

    def request(self, view: Observation) -> ChatRequest:
        """What is asked first for the next act."""
        own = getattr(self.agent, "request", None)
        if own is not None:
            asked: ChatRequest = own(view)
            return asked
        assert isinstance(self.refiner, AskedRefiner)
        return self.refiner.request(view, _STAND_IN)

    @property
    def requests_an_act(self) -> int:
        """How often it is asked for one act, where every reply can be used."""
        return int(getattr(self.agent, "requests_an_act", 0)) + isinstance(self.refiner, AskedRefiner)

    @property
    def tokens_an_act(self) -> int:
        """About what one reply takes."""
        return TOKENS_AN_ACT


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
        refiner: Refiner = TrainedRefiner(of) if trained else AskedRefiner(asked, complete)  # type: ignore[arg-type]
        paid = agent.paid or not trained
        if asked is None:
            return RefinedAgent(called, agent, refiner, paid)
        return AskingRefined(called, agent, refiner, paid, asked)


REFINER = RefinerWrapper()


def is_folder(of: str) -> bool:
    """Whether what stands behind the @ is a folder, or is written as the path of one; else it is a model's name."""
    return bool(of) and (of.startswith((".", "/", "~")) or Path(of).expanduser().is_dir())


def _unrefined(view: Observation, act: Action, mistake: str) -> Action:
    """The act as it was, which says so where its data is free for that: in some games it binds."""
    told = act._replace(data={UNREVISED: mistake})
    return told if act.data is None and view.problem(told) is None else act
