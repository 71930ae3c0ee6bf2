"""What every trainer learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion.corpus.session import Episode
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.sampling.partner import Partner
from apportion.rlhf.training.reward import Reward


@dataclass(frozen=True)
class TrainingData:
    """What a trainer learns from.

    ``policy``: The policy at the start; its model receives the adapters. ``contexts``: What is answered; each once
    before any comes again. ``reward``: Scores the replies. ``partner``: The other side of responses of several turns;
    None where a response is one turn. ``episodes``: The sessions outside the test split, with what people said.
    ``thumbs``: Whether people judged a turn good, by session and turn.
    """

    policy: Policy
    contexts: Sequence[DialogueContext]
    reward: Reward
    partner: Partner | None = None
    episodes: Sequence[Episode] = ()
    thumbs: Mapping[tuple[str, int], bool] = field(default_factory=dict)
