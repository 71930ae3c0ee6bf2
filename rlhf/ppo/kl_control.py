"""How much a nat of divergence costs, and how that changes while a policy is trained."""

from __future__ import annotations

from apportion.rlhf.settings import AlignSettings


class KLControl:
    """The weight of the divergence in the reward, fixed or steered towards a target divergence.

    References
    ----------
    Ziegler et al., 2019, "Fine-tuning language models from human preferences", section 2.2.
    """

    def __init__(self, settings: AlignSettings, coefficient: float | None = None) -> None:
        self._settings = settings
        self.coefficient = settings.divergence_weight if coefficient is None else coefficient

    def update(self, divergence: float) -> None:
        """Take in a step's mean ``divergence`` (nats a reply); the fixed weight stays."""
        if self._settings.kl_controller == "fixed":
            return
        error = min(max(divergence / self._settings.kl_target - 1, -0.2), 0.2)
        self.coefficient *= 1 + error * self._settings.batch_size / self._settings.kl_horizon
