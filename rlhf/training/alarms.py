"""Alarms for reward hacking: signs that a policy games its reward model rather than answers better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from torch import Tensor

from apportion.rlhf.alarm_settings import AlarmSettings
from apportion.rlhf.settings import AlignSettings

WATCHED = ("kl", "response_tokens", "repetition", "sameness", "entropy")


@dataclass
class Alarms:
    """What the first step looked like, and for how many steps in a row each limit has been passed."""

    settings: AlarmSettings
    start: dict[str, float] = field(default_factory=dict)
    streaks: dict[str, int] = field(default_factory=dict)

    @property
    def calm(self) -> bool:
        """Whether no limit was passed in the last step."""
        return not any(self.streaks.values())

    def check(self, metrics: Mapping[str, float]) -> str | None:
        """Take in a step's metrics; why the run has to stop, or None."""
        if not self.start:
            self.start = {name: metrics[name] for name in WATCHED}
        reasons = {name: _LIMITS[name](self.settings, self.start[name], metrics[name]) for name in WATCHED}
        self.streaks = {name: self.streaks.get(name, 0) + 1 if reason else 0 for name, reason in reasons.items()}
        stopping = [reasons[name] for name in WATCHED if self.streaks[name] >= self.settings.patience]
        return "; ".join(reason for reason in stopping if reason) or None

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to hold."""
        return {name: value for name, value in asdict(self).items() if name != "settings"}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.start, self.streaks = state["start"], state["streaks"]


def gamed(settings: AlignSettings, step: int, reason: str) -> str:
    """Why a run was stopped in ``step``, and what to do about it."""
    return (
        f"{settings.algorithm.upper()} step {step}: stopped, the policy games its reward. {reason}. Raise "
        f"beta (now {settings.divergence_weight:g}), lower lr (now {settings.learning_rate:g}), or train the "
        "reward model on more sessions; if this is what you want, raise the limit (0 turns an alarm off)."
    )


def repetition(replies: Tensor, mask: Tensor) -> float:
    """Mean over replies of the share of pairs of neighbouring tokens that the reply holds a second time or more.

    ``replies`` [shape=(B, L)] int64, ``mask`` [shape=(B, L)] bool; a reply of less than two pairs repeats nothing.
    """
    shares = []
    for reply, kept in zip(replies.tolist(), mask.tolist(), strict=True):
        tokens = [token for token, is_kept in zip(reply, kept, strict=True) if is_kept]
        pairs = list(pairwise(tokens))
        shares.append(1 - len(set(pairs)) / len(pairs) if pairs else 0.0)
    return sum(shares) / len(shares)


def sameness(replies: Tensor, mask: Tensor, contexts: Sequence[int]) -> float:
    """How alike the replies to different contexts are, from 0 (no token pair in common) to 1 (one reply for all).

    The mean over replies of the largest share of a reply's pairs of neighbouring tokens that a reply to another context
    has, too; 0 where all contexts are one. ``replies`` [shape=(B, L)] int64, ``mask`` [shape=(B, L)] bool, ``contexts``
    (B of them) say what is answered. A reply of one token is compared by it.
    """
    pairs_of_replies = []
    for reply, kept in zip(replies.tolist(), mask.tolist(), strict=True):
        tokens = [token for token, is_kept in zip(reply, kept, strict=True) if is_kept]
        pairs_of_replies.append(set(pairwise(tokens)) or set(tokens))
    shares = []
    for pairs, here in zip(pairs_of_replies, contexts, strict=True):
        others = (other for other, there in zip(pairs_of_replies, contexts, strict=True) if there != here)
        shares.append(max((len(pairs & other) / len(pairs) for other in others if pairs), default=0.0))
    return sum(shares) / len(shares)


def _divergence(limits: AlarmSettings, start: float, now: float) -> str | None:
    if not limits.max_kl or now <= limits.max_kl:
        return None
    return f"KL blow-up: {now:.1f} nats a reply (alarms.max_kl = {limits.max_kl:g})"


def _length(limits: AlarmSettings, start: float, now: float) -> str | None:
    factor = limits.length_factor
    if not factor or start / factor <= now <= start * factor:
        return None
    return f"length drift: {now:.1f} tokens a reply, {start:.1f} at the start (alarms.length_factor = {factor:g})"


def _repeated(limits: AlarmSettings, start: float, now: float) -> str | None:
    rise = limits.repetition_rise
    if not rise or now <= start + rise:
        return None
    return (
        f"repetition: {now:.0%} of a reply's token pairs said before, {start:.0%} at the start "
        f"(alarms.repetition_rise = {rise:g})"
    )


def _same(limits: AlarmSettings, start: float, now: float) -> str | None:
    rise = limits.self_similarity_rise
    if not rise or now <= start + rise:
        return None
    return (
        f"sameness: {now:.0%} of a reply's token pairs are in a reply to another context, {start:.0%} at the start "
        f"(alarms.self_similarity_rise = {rise:g})"
    )


def _entropy(limits: AlarmSettings, start: float, now: float) -> str | None:
    share = limits.entropy_share
    if not share or now >= start * share:
        return None
    return f"entropy collapse: {now:.3f} nats a token, {start:.3f} at the start (alarms.entropy_share = {share:g})"


_LIMITS: dict[str, Callable[[AlarmSettings, float, float], str | None]] = {
    "kl": _divergence,
    "response_tokens": _length,
    "repetition": _repeated,
    "sameness": _same,
    "entropy": _entropy,
}
