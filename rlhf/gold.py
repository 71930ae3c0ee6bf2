"""Whether a policy gains, by reward models that it does not learn from: what stops a training and chooses its step.

Gold A is asked of validation contexts while the policy trains; gold B of test contexts, once, after every choice. The
divergence beside both is from the policy at the start (Gao et al., 2023, Scaling laws for reward model
overoptimization, section 2).
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from torch import Tensor

from apportion.corpus.session import Episode
from apportion.rlhf.compare.best_of_n import divergence, expected_best
from apportion.rlhf.gold_report import CurvePoint, GoldReport, gain_of, spread
from apportion.rlhf.policy.contexts import DialogueContext, choose_contexts, make_contexts
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.sampling.rollout import Rollout, finite_probabilities, sample_replies
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.metrics import Metrics
from apportion.rlhf.training.reward import SessionReward, finite_scores

MEASURES, CONTEXTS, TEST_CONTEXTS, BEST_OF = 10, 32, 100, 8
"""How often a training is measured, on how many validation contexts; test contexts; replies behind best-of-n."""
SCORES = "gold.scores"
"""In a kept file, beside the adapters: what gold A gave each reply."""


@dataclass(frozen=True)
class Asked:
    """C contexts of one split, and what each of the rewards reads of their histories (a row each)."""

    contexts: tuple[DialogueContext, ...]
    histories: tuple[tuple[str, ...], ...]
    rewards: tuple[SessionReward, ...]

    @classmethod
    def of(
        cls,
        episodes: Sequence[Episode],
        policy: Policy,
        settings: AlignSettings,
        count: int,
        rewards: Sequence[SessionReward],
    ) -> Asked:
        """Up to ``count`` contexts, spread evenly over ``episodes``."""
        found = make_contexts(
            episodes,
            policy.tokenizer,
            lambda episode, position: "",
            context_turns=settings.context_turns,
            max_context_tokens=settings.max_context_tokens,
        )
        chosen = choose_contexts(found.contexts, count)
        places = {(e.session_id, e.turns[at].turn): (e, at) for e in episodes for at in e.target_positions}
        answered = [places[context.session_id, context.turn] for context in chosen]
        histories = tuple(tuple(reward.history(*place) for place in answered) for reward in rewards)
        return cls(chosen, histories, tuple(rewards))

    def scores(self, replies: Sequence[str], called: str) -> list[Tensor]:
        """What each reward gives the replies [shape=(C,)] float64."""
        rows = zip(self.rewards, self.histories, strict=True)
        return [
            torch.tensor(finite_scores(reward, self.contexts, histories, replies, called), dtype=torch.float64)
            for reward, histories in rows
        ]


class GoldWatch:
    """Gold A between the steps of a training, and gold B behind its end.

    All that decides is in the metrics, which a checkpoint holds, and in the files of ``folder``: a killed run goes on
    to the same bits. Its random numbers are its own, so that a training with it makes the same steps as one without.

    ``asked``: validation contexts for the proxy and gold A; ``tested``: test contexts for proxy, gold A and gold B.
    """

    def __init__(
        self, policy: Policy, settings: AlignSettings, seed: int, asked: Asked, tested: Asked, folder: Path | None
    ) -> None:
        self._policy, self._settings, self._seed = policy, settings, seed
        self._asked, self._tested = asked, tested
        self._temporary = tempfile.TemporaryDirectory(prefix="apportion-gold-") if folder is None else None
        self._folder = Path(self._temporary.name) if self._temporary else folder
        self._start: CurvePoint | None = None
        self._start_scores: list[Tensor] = []

    def measured(self, step: int, model: PeftModel, metrics: Metrics) -> Mapping[str, float]:
        """``gold``, ``gold_reward``, ``gold_kl`` and ``gold_below`` after every tenth of the steps, and the last one.

        ``gold_below``: by how many standard errors of the paired difference gold lies below its best so far.
        """
        if step % math.ceil(self._settings.steps / MEASURES) and step != self._settings.steps:
            return {}
        self._measure_start(model)
        with _aside(model, self._seed):
            point, (_, scores) = self._point(model, step)
        kept = kept_step(metrics)
        best = self._start_scores[1]
        if kept is not None:
            of_kept = self._read(kept)[SCORES]
            best = of_kept if of_kept.mean() > best.mean() else best
        if kept is None or point.gold > metrics.at(kept)["gold"]:
            self._write(step, model, scores)
        below = _standard_errors(best - scores)
        return {"gold": point.gold, "gold_reward": point.reward, "gold_kl": point.kl, "gold_below": below}

    def fell(self, metrics: Metrics) -> bool:
        """Whether gold was below its best by more than a standard error, as often in a row as alarms have patience."""
        last = [value for _, name, value in metrics.rows if name == "gold_below"][-self._settings.alarms.patience :]
        return len(last) == self._settings.alarms.patience and all(value > 1 for value in last)

    def finish(self, model: PeftModel, metrics: Metrics, told: str) -> GoldReport:
        """Give ``model`` the adapters of the best step, and say what it has gained on contexts no choice has seen."""
        self._measure_start(model)
        kept = kept_step(metrics)
        assert kept is not None and self._start is not None  # The last step is always measured.
        weights = {name: weight for name, weight in self._read(kept).items() if name != SCORES}
        set_peft_model_state_dict(model, weights)
        with _aside(model, self._seed):
            after = self._tested.scores(self._replies(model, self._tested.contexts)[0], "gold")
        with _aside(model, self._seed), model.disable_adapter():
            before = self._tested.scores(self._replies(model, self._tested.contexts)[0], "gold")
            best_of = self._best_of(model)
        gains = [gain_of(self._tested.contexts, *pair) for pair in zip(before, after, strict=True)]
        both = torch.stack([torch.cat([before[place], after[place]]) for place in (1, 2)])
        agreement = float(torch.corrcoef(both)[0, 1]) if bool((both.std(dim=1) > 0).all()) else 0.0
        steps = sorted({step for step, name, _ in metrics.rows if name == "gold"})
        points = [
            CurvePoint(step, *(metrics.at(step)[name] for name in ("gold_kl", "gold_reward", "gold"))) for step in steps
        ]
        if self._temporary:
            self._temporary.cleanup()
        return GoldReport(
            told=told,
            kept=kept,
            contexts=len(self._tested.contexts),
            gain=gains[2],
            reward_gain=gains[0],
            agreement=agreement,
            fell=self.fell(metrics),
            curve=tuple(map(self._above_start, (self._start, *points))),
            best_of=tuple(map(self._above_start, best_of)),
        )

    def _above_start(self, point: CurvePoint) -> CurvePoint:
        means = [float(given.mean()) for given in self._start_scores]
        sds = [spread(given) for given in self._start_scores]
        return replace(point, reward=(point.reward - means[0]) / sds[0], gold=(point.gold - means[1]) / sds[1])

    def _measure_start(self, model: PeftModel) -> None:
        """What the policy was: with its adapters off it can be asked at any time, to the same bits."""
        if self._start is None:
            with _aside(model, self._seed), model.disable_adapter():
                self._start, self._start_scores = self._point(model, 0)

    def _point(self, model: PeftModel, step: int) -> tuple[CurvePoint, list[Tensor]]:
        replies, divergence = self._replies(model, self._asked.contexts, with_divergence=step > 0)
        scores = self._asked.scores(replies, f"gold after step {step}")
        return CurvePoint(step, divergence, *(float(given.mean()) for given in scores)), scores

    def _replies(
        self, model: PeftModel, contexts: Sequence[DialogueContext], with_divergence: bool = False
    ) -> tuple[list[str], float]:
        """One reply to each context, and their mean divergence from the start (0 where nobody asks for it)."""
        texts: list[str] = []
        total, at_once, settings = 0.0, self._settings.batch_size, self._settings
        for first in range(0, len(contexts), at_once):
            batch = contexts[first : first + at_once]
            rollout = sample_replies(
                self._policy,
                model,
                batch,
                max_new_tokens=settings.max_new_tokens,
                temperature=settings.temperature,
            )
            texts.extend(rollout.texts)
            if with_divergence:
                total += float(reply_divergence(model, rollout, settings.temperature).sum())
        return texts, total / len(contexts)

    def _best_of(self, model: PeftModel) -> tuple[CurvePoint, ...]:
        """Best-of-n by the proxy from the start's replies: exact in its divergence, unbiased in what it expects."""
        drawn = [self._asked.scores(self._replies(model, self._asked.contexts)[0], "best-of-n") for _ in range(BEST_OF)]
        reward, gold = (torch.stack([scores[place] for scores in drawn], dim=1).numpy() for place in (0, 1))
        sizes = [n for n in (1, 2, 4, 8) if n <= BEST_OF]
        return tuple(
            CurvePoint(n, divergence(n), *(float(expected_best(reward, n, of).mean()) for of in (reward, gold)))
            for n in sizes
        )

    def _path(self, step: int) -> Path:
        assert self._folder is not None
        return self._folder / f"kept-{step:06d}.safetensors"

    def _write(self, step: int, model: PeftModel, scores: Tensor) -> None:
        path = self._path(step)
        path.parent.mkdir(parents=True, exist_ok=True)
        # False: as `write_adapter` has it.
        adapters = get_peft_model_state_dict(model, save_embedding_layers=False)
        weights = {name: weight.detach().cpu().contiguous() for name, weight in adapters.items()}
        scratch = path.with_suffix(".tmp")
        save_file({**weights, SCORES: scores}, scratch)
        scratch.replace(path)

    def _read(self, step: int) -> dict[str, Tensor]:
        return load_file(self._path(step))


def kept_step(metrics: Metrics) -> int | None:
    """The measured step with the highest gold, the earliest of equal ones; None before any was measured."""
    found = [(value, -step) for step, name, value in metrics.rows if name == "gold"]
    return -max(found)[1] if found else None


@contextmanager
def _aside(model: PeftModel, seed: int) -> Iterator[None]:
    """Random numbers of its own, no gradients, and every layer's mode as it was; the same replies each time."""
    modes = [(module, module.training) for module in model.modules()]
    device = model.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad(), finite_probabilities():
        torch.manual_seed(seed)
        try:
            yield
        finally:
            for module, training in modes:
                module.training = training


def reply_divergence(model: PeftModel, rollout: Rollout, temperature: float, rows: int = 4) -> Tensor:
    """KL of each sampled reply (B) from the policy at the start, in nats: of whole distributions, token by token.

    Its mean is that of log pi - log pi_start over replies, with less variance. ``rows`` go through the model at once.
    """

    def log_probabilities(part: Rollout) -> Tensor:
        length = part.mask.shape[1]
        positions = (part.attention.cumsum(dim=1) - 1).clamp(min=0)
        read: dict[str, Any] = {"input_ids": part.tokens, "attention_mask": part.attention, "position_ids": positions}
        logits = model(**read, logits_to_keep=length + 1, use_cache=False).logits[:, -length - 1 : -1]
        return torch.log_softmax(logits.float() / temperature, dim=-1)

    found = []
    for places in torch.split(torch.arange(len(rollout.mask)), rows):
        part = rollout.rows(places, cut=True)
        now = log_probabilities(part)
        with model.disable_adapter():
            start = log_probabilities(part)
        found.append((((now.exp() * (now - start)).sum(dim=-1)) * part.mask).sum(dim=1))
    return torch.cat(found).double().clamp(min=0.0)  # Rounding: a divergence is never below 0.


def _standard_errors(difference: Tensor) -> float:
    """A mean in its standard errors; bounded where nothing varies."""
    error = float(difference.std()) / math.sqrt(len(difference)) if len(difference) > 1 else 0.0
    mean = float(difference.mean())
    return max(-99.0, min(99.0, mean / error)) if error > 0 else math.copysign(99.0, mean) if mean else 0.0
