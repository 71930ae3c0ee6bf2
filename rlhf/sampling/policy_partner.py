"""Another policy as the other side of a dialogue: a causal language model that answers on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.foundation.model_hub.names import model_digest, model_folder
from apportion.rlhf.policy.contexts import DialogueContext, HistoryText, window_of
from apportion.rlhf.policy.folder import open_policy
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.sampling.partner import Dialogue, LivePartner
from apportion.rlhf.sampling.rollout import sample_seeded

if TYPE_CHECKING:
    from apportion.rlhf.policy.loading import Policy
    from apportion.rlhf.training.job import Job


class PolicyPartnerSettings(Window, Placement):
    """The policy that answers, what it reads and how it is sampled."""

    policy: str = Field(
        min_length=1,
        description="the name or folder of a Hugging Face causal language model with a chat template, or a folder that "
        "an alignment has written",
    )
    greedy: bool = Field(default=False, description="the most likely answer each time, in place of a drawn one")
    batch_size: int = Field(default=24, ge=1, description="dialogues that are answered at once")

    def identity(self) -> dict[str, Any]:
        """All of it; a folder counts by its content as well."""
        own = self.model_dump(mode="json", exclude={"device"})
        return {**own, "files": model_digest(self.policy)} if model_folder(self.policy).is_dir() else own


class PolicyPartner(LivePartner):
    """The other side, said by a policy of its own.

    What is drawn is decided by ``seed`` and by what is answered, so that a training that goes on after a kill hears
    the same; random numbers outside are left alone.

    ``episodes``, ``history_text``: as `LivePartner`.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        history_text: HistoryText,
        policy: Policy,
        settings: PolicyPartnerSettings,
        seed: int,
    ) -> None:
        super().__init__(episodes, history_text)
        self._policy, self._settings, self._seed = policy, settings, seed

    def speak(self, dialogues: Sequence[Dialogue]) -> list[str | None]:
        """What the policy says in each dialogue (B of them)."""
        contexts = [self._context(dialogue) for dialogue in dialogues]
        said: list[str | None] = []
        for start in range(0, len(contexts), self._settings.batch_size):
            said += self._drawn(contexts[start : start + self._settings.batch_size])
        return said

    def _drawn(self, contexts: Sequence[DialogueContext]) -> list[str | None]:
        policy, settings = self._policy, self._settings
        return [
            text or None
            for text in sample_seeded(policy, policy.model, contexts, settings, self._seed, settings.greedy)
        ]

    def _context(self, dialogue: Dialogue) -> DialogueContext:
        episode, settings = dialogue.episode, self._settings
        window = window_of(dialogue.turned, self._policy.tokenizer, settings.context_turns, settings.max_context_tokens)
        if window is None:
            raise UnitError(
                f"partner_settings: {dialogue.place}: what the partner is to answer is longer than "
                f"max_context_tokens = {settings.max_context_tokens} of its own. Raise that."
            )
        messages, prompt = window
        return DialogueContext(episode.session_id, episode.turns[-1].turn, messages, prompt, "")


def of_job(
    job: Job, settings: PolicyPartnerSettings, episodes: Sequence[Episode], history: HistoryText
) -> PolicyPartner:
    """The partner of an alignment, loaded. Raises InputError: the model cannot be loaded, or does not suit."""
    policy = open_policy(settings.policy, Window.of(settings), Placement.of(settings), settings.policy)
    return PolicyPartner(episodes, history, policy, settings, job.seed)
