"""Refining what somebody is about to say (Eq. 3): by a trained Refiner, or by a language model that is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from apportion.environments.environment import Observation
from apportion.foundation.errors import InputError
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, check_finished
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import Complete
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.stackelberg.questions import refine_chat, refined_words

if TYPE_CHECKING:
    from apportion.rlhf.policy.loading import Policy
    from apportion.rlhf.stackelberg.dialogues import Stages

CARD = "refiner.json"
"""What says of a folder that a Refiner was trained there, and how."""


class Refiner(Protocol):
    """Says the same more convincingly."""

    def refined(self, view: Observation, base: str) -> str:
        """u_t of u_base, from what the leader knows alone."""
        ...


@dataclass(frozen=True)
class TrainedRefiner:
    """The Refiner in a folder of `train refiner`; what it draws is decided by the step and by what it reads.

    Its weights are loaded when it is first asked, once for a process.
    """

    folder: str

    def refined(self, view: Observation, base: str) -> str:
        """u_t of u_base.

        Raises
        ------
        ReplyMistakeError
            The Refiner's window has no room for the situation.
        InputError
            The folder cannot be loaded.
        UnitError
            Probabilities that are no finite numbers.
        """
        from apportion.rlhf.policy.contexts import DialogueContext, render, speaker_messages
        from apportion.rlhf.sampling.seeded_sampling import drawn_replies
        from apportion.rlhf.stackelberg.dialogues import asked_chat, prompt_episode, words_said

        policy, window, stages = _opened(str(Path(self.folder).expanduser().resolve()))
        episode = prompt_episode("", asked_chat(view.text, base, stages))
        messages = speaker_messages(episode.turns, episode)
        context = DialogueContext("", 1, messages, render(messages, policy.tokenizer, reply_follows=True), "")
        if len(context.prompt) > window.max_context_tokens:
            raise ReplyMistakeError(
                f"the Refiner reads {window.max_context_tokens} tokens, and the situation has {len(context.prompt)}"
            )
        (reply,) = drawn_replies(policy, policy.model, [context], window, [view.number])
        return words_said(reply, base, stages)


@dataclass(frozen=True)
class AskedRefiner:
    """A language model that is asked by Figure 8 (appendix D.1's "Prompt Refine")."""

    settings: LLMSettings
    complete: Complete

    def refined(self, view: Observation, base: str) -> str:
        """u_t of u_base.

        Raises
        ------
        ReplyMistakeError
            The reply was cut off or declined.
        InputError, StoppedError, UnitError
            As `apportion.llm_client.session.LLMSession.complete`.
        """
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
    _card(Path(folder).expanduser())


def stages_of(folder: str) -> Stages:
    """Whether the Refiner in a folder refines or speaks itself; raises as `check_refiner`."""
    stages: Stages = _card(Path(folder).expanduser())["stages"]
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
    from apportion.rlhf.policy.context_config import read_window
    from apportion.rlhf.policy.opening import open_policy

    card = _card(Path(folder))
    window = Window.model_validate(read_window(folder))
    align = card.get("align")
    given = {name: align[name] for name in Placement.model_fields if name in align} if isinstance(align, dict) else {}
    return open_policy(folder, window, Placement(**given), folder), window, card["stages"]
