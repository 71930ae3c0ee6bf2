"""A small language model that has read a corpus' dialogues: a Measurer where no other model can be had.

It is no useful dialogue model. It knows the words and the turns of one corpus, which is what a shift of its replies'
probabilities can rest on.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode, Session
from apportion.corpus.targets import in_order, unrated_episode
from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import dialogue_chunks, merge_turns
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy_settings import TinySettings, Window
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.tiny_policy import build_tiny

CONTEXT_TURNS = 63
"""Turns that a stretch of dialogue has at most, beside the last."""
REPLY_TOKENS = 64
HELD_OUT = 10
"""One session in so many is not learned from, and tells how well the rest was learned."""


@dataclass(frozen=True)
class CorpusModelSettings:
    """How large the model is, and how long it learns."""

    steps: int = 600
    hidden: int = 192
    layers: int = 3
    vocabulary: int = 4096
    tokens: int = 512
    batch: int = 6
    seed: int = 0


@dataclass(frozen=True)
class HeldOutText:
    """How probable the model finds dialogues that it has not read: nats a token over ``tokens`` of ``sessions``.

    ``uniform`` is what knowing nothing gives: the logarithm of the number of tokens there are.
    """

    nats: float
    uniform: float
    tokens: int
    sessions: int
    read: int

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return asdict(self)


def train_corpus_model(
    sessions: Sequence[Session],
    out: Path,
    settings: CorpusModelSettings,
    note: Callable[[int, float], None] = lambda step, loss: None,
) -> HeldOutText:
    """Learn a causal language model from ``sessions`` and write it into the folder ``out``, with its tokenizer.

    Each speaker is the assistant of a reading of their own, so that it answers for any of them. ``note`` is called with
    a step and its loss (nats a token).

    Raises InputError: fewer than two sessions in which anything is said.
    """
    spoken = [session for session in sessions if in_order(session.turns)]
    if len(spoken) < 2:
        raise InputError(f"{len(spoken)} sessions in which anything is said; a model of them takes two at least.")
    ranked = sorted(spoken, key=lambda session: hashlib.sha256(session.session_id.encode()).digest())
    kept = max(len(ranked) // HELD_OUT, 1)
    align = AlignSettings(
        context_turns=CONTEXT_TURNS,
        max_context_tokens=settings.tokens - REPLY_TOKENS,
        max_new_tokens=REPLY_TOKENS,
        tiny=TinySettings(
            hidden=settings.hidden,
            layers=settings.layers,
            vocabulary=settings.vocabulary,
            warmup_steps=settings.steps,
            warmup_batch=settings.batch,
        ),
    )
    policy = build_tiny(_readings(ranked[kept:]), align, settings.seed, note)
    out.mkdir(parents=True, exist_ok=True)
    policy.model.save_pretrained(str(out))
    policy.tokenizer.save_pretrained(str(out))
    return _held_out(policy, ranked[:kept], align.window, len(ranked) - kept)


def sessions_of(folder: Path, listed: Path | None) -> list[Session]:
    """The sessions of the corpus in ``folder``: all, or those whose ids the file ``listed`` has, one a line.

    Raises InputError: the corpus or the file cannot be read, or no session is listed.
    """
    sessions = list(Corpus.open(folder).iter_sessions())
    if listed is None:
        return sessions
    try:
        wanted = set(listed.read_text(encoding="utf-8").split("\n"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{listed}: cannot be read ({error}). Give a text file with a session's id on each line."
        ) from None
    found = [session for session in sessions if session.session_id in wanted]
    if not found:
        raise InputError(f"{listed}: lists none of the {len(sessions)} sessions of {folder}. Give an id on each line.")
    return found


def _readings(sessions: Sequence[Session]) -> list[Episode]:
    return [unrated_episode(session, speaker) for session in sessions for speaker in in_order(session.turns)]


@torch.inference_mode()
def _held_out(policy: Policy, sessions: Sequence[Session], window: Window, read: int) -> HeldOutText:
    dialogues = [merge_turns(episode.turns, episode) for episode in _readings(sessions)]
    chunks = dialogue_chunks(dialogues, policy.tokenizer, window)
    model: Any = policy.model
    model.eval()
    total = tokens = 0.0
    for chunk in chunks:
        logs = torch.log_softmax(model(chunk[None]).logits[0, :-1].float(), dim=-1)
        total -= float(logs.gather(1, chunk[1:, None]).double().sum())
        tokens += len(chunk) - 1
    nats = total / tokens if tokens else math.nan
    return HeldOutText(nats, math.log(len(policy.tokenizer)), int(tokens), len(sessions), read)
