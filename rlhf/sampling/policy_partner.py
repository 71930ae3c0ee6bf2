"""Another policy as the other side of a dialogue: a causal language model that answers on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.foundation.files import model_digest
from apportion.rlhf.policy.contexts import DialogueContext, HistoryText, window_of
from apportion.rlhf.policy.opening import open_policy
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.sampling.interactive_partner import Dialogue, LivePartner
from apportion.rlhf.sampling.seeded_sampling import drawn_replies

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
        return {**own, "files": model_digest(self.policy)} if Path(self.policy).is_dir() else own


class PolicyPartner(LivePartner):
    """The other side, said by a policy of its own.

    What is drawn is decided by ``seed`` and by what is answered, so that a training that goes on after a kill hears
    the same; random numbers outside are left alone.

    Parameters
    ----------
    episodes, history_text
        As `LivePartner`.
    policy : Policy
        Tokenizer and model.
    settings : PolicyPartnerSettings
        Its window and sampling.
    seed : int
        Of what is drawn.
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
        """What the policy says in each dialogue (B of them).

        Raises
        ------
        UnitError
            A reply that is longer than the window, or probabilities that are no finite numbers.
        """
        contexts = [self._context(dialogue) for dialogue in dialogues]
        said: list[str | None] = []
        for start in range(0, len(contexts), self._settings.batch_size):
            said += self._drawn(contexts[start : start + self._settings.batch_size])
        return said

    def _drawn(self, contexts: Sequence[DialogueContext]) -> list[str | None]:
        policy, settings = self._policy, self._settings
        return [
            text or None
            for text in drawn_replies(policy, policy.model, contexts, settings, self._seed, settings.greedy)
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
    """The partner of an alignment, loaded.

    Raises
    ------
    InputError
        The model cannot be loaded, or does not suit.
    """
    window = Window.model_construct(**{name: getattr(settings, name) for name in Window.model_fields})
    placement = Placement.model_construct(**{name: getattr(settings, name) for name in Placement.model_fields})
    policy = open_policy(settings.policy, window, placement, settings.policy)
    return PolicyPartner(episodes, history, policy, settings, job.seed)
