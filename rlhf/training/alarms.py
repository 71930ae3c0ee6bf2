"""Alarms for reward hacking: signs that a policy games its reward model rather than answers better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from torch import Tensor

from apportion.rlhf.policy_settings import AlarmSettings
from apportion.rlhf.settings import AlignSettings


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
            self.start = {name: metrics[name] for name in _LIMITS}
        reasons = {
            name: limit.passed(self.settings, self.start[name], metrics[name]) for name, limit in _LIMITS.items()
        }
        self.streaks = {name: self.streaks.get(name, 0) + 1 if reason else 0 for name, reason in reasons.items()}
        stopping = [reasons[name] for name in _LIMITS if self.streaks[name] >= self.settings.patience]
        return "; ".join(reason for reason in stopping if reason) or None

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to hold."""
        return {name: value for name, value in asdict(self).items() if name != "settings"}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.start, self.streaks = state["start"], state["streaks"]


def reward_hacking(settings: AlignSettings, step: int, reason: str) -> str:
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
    for tokens in _kept(replies, mask):
        pairs = list(pairwise(tokens))
        shares.append(1 - len(set(pairs)) / len(pairs) if pairs else 0.0)
    return sum(shares) / len(shares)


def sameness(replies: Tensor, mask: Tensor, contexts: Sequence[int]) -> float:
    """How alike the replies to different contexts are, from 0 (no token pair in common) to 1 (one reply for all).

    The mean over replies of `shared_pairs`. ``replies`` [shape=(B, L)] int64, ``mask`` [shape=(B, L)] bool,
    ``contexts`` (B of them) say what is answered.
    """
    shares = shared_pairs(_kept(replies, mask), contexts)
    return sum(shares) / len(shares)


def shared_pairs(said: Sequence[Sequence[int]], contexts: Sequence[int]) -> list[float]:
    """Of each reply the largest share of its pairs of neighbouring tokens that a reply to another context has, too.

    ``said``: the tokens of B replies, ``contexts`` (B) what they answer; 0 where all contexts are one. A reply of one
    token is compared by it.
    """
    pairs_of_replies: list[set[Any]] = [set(pairwise(tokens)) or set(tokens) for tokens in said]
    shares = []
    for pairs, here in zip(pairs_of_replies, contexts, strict=True):
        others = (other for other, there in zip(pairs_of_replies, contexts, strict=True) if there != here)
        shares.append(max((len(pairs & other) / len(pairs) for other in others if pairs), default=0.0))
    return shares


def _kept(replies: Tensor, mask: Tensor) -> list[list[int]]:
    rows = zip(replies.tolist(), mask.tolist(), strict=True)
    return [[token for token, kept in zip(reply, is_kept, strict=True) if kept] for reply, is_kept in rows]


@dataclass(frozen=True)
class _Limit:
    """A setting, whether a metric is within it (limit, at the start, now), and what is told where it is not."""

    setting: str
    within: Callable[[float, float, float], bool]
    text: str

    def passed(self, settings: AlarmSettings, start: float, now: float) -> str | None:
        limit = getattr(settings, self.setting)
        if not limit or self.within(limit, start, now):
            return None
        return f"{self.text.format(start=start, now=now)} (alarms.{self.setting} = {limit:g})"


_LIMITS = {
    "kl": _Limit("max_kl", lambda most, start, now: now <= most, "KL blow-up: {now:.1f} nats a reply"),
    "response_tokens": _Limit(
        "length_factor",
        lambda factor, start, now: start / factor <= now <= start * factor,
        "length drift: {now:.1f} tokens a reply, {start:.1f} at the start",
    ),
    "repetition": _Limit(
        "repetition_rise",
        lambda rise, start, now: now <= start + rise,
        "repetition: {now:.0%} of a reply's token pairs said before, {start:.0%} at the start",
    ),
    "sameness": _Limit(
        "self_similarity_rise",
        lambda rise, start, now: now <= start + rise,
        "sameness: {now:.0%} of a reply's token pairs are in a reply to another context, {start:.0%} at the start",
    ),
    "entropy": _Limit(
        "entropy_share",
        lambda share, start, now: now >= start * share,
        "entropy collapse: {now:.3f} nats a token, {start:.3f} at the start",
    ),
}
