"""One response per context and policy, or the best of several; a run that was stopped goes on where it stood."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import torch

from apportion.corpus.schema import BEST_RESPONSES, KEY, RESPONSES, TableSchema
from apportion.corpus.session import Episode
from apportion.foundation.files import place_file, write_atomically
from apportion.foundation.model_hub.names import model_digest
from apportion.foundation.progress import Progress
from apportion.reward_model.score_journal import open_journal
from apportion.rlhf.compare.blind import blinded
from apportion.rlhf.compare.metadata import key_path, note_path, note_text, pairs_path
from apportion.rlhf.compare.responses import context_text, write_rows
from apportion.rlhf.compare.win_rate import scored_context
from apportion.rlhf.policy.contexts import (
    ContextSet,
    ContextTurn,
    DialogueContext,
    as_chat,
    choose_contexts,
    known_messages,
    make_contexts,
    opening_window,
    speaker_messages,
)
from apportion.rlhf.policy.folder import open_policy, open_tokenizer
from apportion.rlhf.policy.loading import Policy, oom_advice
from apportion.rlhf.policy_settings import Placement, Window
from apportion.rlhf.sampling.rollout import finite_probabilities, sample_replies
from apportion.rlhf.training.reward import ModelReward, Reward, best_and_worst, finite_scores
from apportion.rlhf.training.rng_state import quiet_transformers

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class SharedContexts:
    """The same C contexts as each policy reads them (``by_policy``, by its name), in one order.

    ``first`` says what came of the target turns under the first policy's window, ``no_room`` how many contexts were
    left out because another policy has no room for them, ``of_all`` how many there were to choose from.
    """

    by_policy: Mapping[str, tuple[DialogueContext, ...]]
    first: ContextSet
    no_room: int
    of_all: int

    @property
    def shown(self) -> tuple[DialogueContext, ...]:
        """The contexts as the first policy reads them; ``history`` is the text that people are shown."""
        return next(iter(self.by_policy.values()))

    @property
    def sessions(self) -> int:
        """How many sessions the contexts are from."""
        return len({context.session_id for context in self.shown})


def share_contexts(
    episodes: Sequence[Episode], tokenizers: Mapping[str, PreTrainedTokenizerBase], window: Window, count: int
) -> SharedContexts:
    """Up to ``count`` contexts, spread evenly over all those that every policy has room for.

    ``episodes``: two ratings of one speaker in a session count once. ``tokenizers``: by the policy's name, in order.
    ``window``: how many turns and tokens a policy reads.
    """
    once = list({(episode.session_id, episode.rating.target): episode for episode in episodes}.values())

    def history(episode: Episode, position: int) -> str:
        before = opening_window(episode.turns[:position], episode.rating.target, window.context_turns)
        return context_text((*known_messages(episode), *speaker_messages(before, episode)))

    sets = {
        name: make_contexts(
            once, tokenizer, history, context_turns=window.context_turns, max_context_tokens=window.max_context_tokens
        )
        for name, tokenizer in tokenizers.items()
    }
    by_place = [{(c.session_id, c.turn): c for c in contexts.contexts} for contexts in sets.values()]
    first = next(iter(sets.values()))
    places = [place for place in by_place[0] if all(place in other for other in by_place)]
    spread = choose_contexts([by_place[0][place] for place in places], count)
    kept = [(context.session_id, context.turn) for context in spread]
    by_policy = {name: tuple(at[place] for place in kept) for name, at in zip(sets, by_place, strict=True)}
    return SharedContexts(by_policy, first, len(first.contexts) - len(places), len(places))


@dataclass(frozen=True)
class SamplingSettings:
    """How responses are drawn.

    ``temperature`` goes before the window's; None takes the most likely token each time. ``batch`` changes bits.
    ``best_of``: for each n of them a response is the best of the first n drawn, by the reward model in the folder
    ``reward_model``; none: the first is the response. ``pairs``: whether the best and the worst drawn are written, too.
    """

    window: Window
    placement: Placement
    temperature: float | None
    seed: int
    batch: int
    blind: bool
    best_of: tuple[int, ...] = ()
    reward_model: Path | None = None
    pairs: bool = False

    @property
    def drawn(self) -> int:
        """Replies drawn to a context."""
        return max(self.best_of, default=1)

    @property
    def schema(self) -> TableSchema:
        """Of the table; where it is blind, n would tell who is who."""
        return BEST_RESPONSES if self.best_of and not self.blind else RESPONSES

    def called(self, name: str) -> tuple[str, ...]:
        """What the responses of the policy ``name`` are called, for each n where there are several."""
        several = len(self.best_of) > 1
        return tuple(f"{name} best of {n}" if several and n > 1 else name for n in self.best_of or (1,))


def fingerprint_of(policies: Mapping[str, str], contexts: SharedContexts, sampling: SamplingSettings) -> dict[str, Any]:
    """Everything that decides what the table holds, as plain JSON values."""
    digest = hashlib.sha256()
    for name, read in contexts.by_policy.items():
        rows = [(c.session_id, c.turn, c.history, c.prompt) for c in read]
        digest.update(json.dumps([name, rows], ensure_ascii=False).encode())
    return {
        "policies": {name: model_digest(source) for name, source in policies.items()},
        "contexts": len(contexts.shown),
        "asked": digest.hexdigest(),
        "max_new_tokens": sampling.window.max_new_tokens,
        "temperature": sampling.temperature,
        "device": sampling.placement.device,
        "dtype": sampling.placement.dtype,
        "seed": sampling.seed,
        "batch": sampling.batch,
        "blind": sampling.blind,
        **_best_by(sampling),
    }


def _best_by(sampling: SamplingSettings) -> dict[str, Any]:
    if sampling.reward_model is None:
        return {}
    pairs = {"pairs": True} if sampling.pairs else {}
    return {"best_of": list(sampling.best_of), "reward_model": model_digest(str(sampling.reward_model)), **pairs}


def generate(
    policies: Mapping[str, str],
    contexts: SharedContexts,
    sampling: SamplingSettings,
    fingerprint: Mapping[str, Any],
    out: Path,
    progress: Progress,
) -> pa.Table:
    """Let every policy answer every context and write the table; finished batches of a stopped run are used again.

    ``policies``: where each policy is, by its name. ``fingerprint``: `fingerprint_of` all that. ``out``: parquet, JSON
    Lines or CSV by its suffix; ``NAME.made.json`` and, where asked for, ``NAME.key.*`` and ``NAME.pairs.jsonl`` come
    beside it. ``progress``: ``progress(done, total, policy)`` after each batch; done and total count drawn replies.
    Returns RESPONSES, with the policies' own names, or BEST_RESPONSES.
    """
    rows: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    done, total = 0, len(contexts.shown) * len(policies) * sampling.drawn
    reward = ModelReward(sampling.reward_model, sampling.placement.device) if sampling.reward_model else None
    with (
        open_journal(out, dict(fingerprint)) as journal,
        torch.random.fork_rng(),
        quiet_transformers(),
        oom_advice(sampling.placement, f"batch (now {sampling.batch}), or take smaller policies"),
    ):
        for number, (name, source) in enumerate(policies.items()):
            opened: Policy | None = None
            read = contexts.by_policy[name]
            tokenizer = open_tokenizer(source) if sampling.pairs else None
            for start in range(0, len(read), sampling.batch):
                drawn = []
                for draw in range(sampling.drawn):
                    batch = f"{number}-{start}-{draw}" if draw else f"{number}-{start}"
                    texts = journal.done.get(batch)
                    if texts is None:
                        opened = opened or open_policy(source, sampling.window, sampling.placement, name)
                        texts = _answers(opened, read[start : start + sampling.batch], sampling, start, draw)
                        journal.add(batch, texts)
                    drawn.append(texts)
                    done += len(texts)
                    progress(done, total, name)
                shown = contexts.shown[start : start + sampling.batch]
                scores = _scores(shown, name, drawn, reward) if reward else []
                rows.extend(_rows(shown, name, drawn, sampling, scores))
                if tokenizer is not None:
                    pairs.extend(_pairs(read[start : start + sampling.batch], name, drawn, scores, tokenizer))
        table = pa.Table.from_pylist(rows, schema=(BEST_RESPONSES if reward else RESPONSES).arrow)
        _write(table, pairs, fingerprint, sampling, out)
    return table


def _answers(
    policy: Policy, contexts: Sequence[DialogueContext], sampling: SamplingSettings, start: int, draw: int
) -> list[str]:
    # The same numbers for every policy: what differs between two of them is then less a matter of luck.
    drawn = f"{sampling.seed} {start} {draw}" if draw else f"{sampling.seed} {start}"
    torch.manual_seed(int.from_bytes(hashlib.sha256(drawn.encode()).digest()[:8]) >> 1)
    problem = (
        f"policy {policy.name!r}: its probabilities are no finite numbers, so nothing can be drawn from them "
        f"(session {contexts[0].session_id!r}, turn {contexts[0].turn}). Its weights are damaged, or the training "
        "blew up: train it again with a lower learning rate."
    )
    length = sampling.window.max_new_tokens
    with finite_probabilities(problem):
        rollout = sample_replies(
            policy, policy.model, contexts, max_new_tokens=length, temperature=sampling.temperature
        )
    return list(rollout.texts)


def _rows(
    contexts: Sequence[DialogueContext],
    name: str,
    drawn: Sequence[Sequence[str]],
    sampling: SamplingSettings,
    scores: Sequence[Sequence[float]],
) -> list[dict[str, Any]]:
    """The responses out of the replies ``drawn``, as many each time as there are contexts; ``scores`` are theirs."""
    rows = []
    for n, called in zip(sampling.best_of or (1,), sampling.called(name), strict=True):
        for place, context in enumerate(contexts):
            best = max(range(n), key=lambda draw: scores[draw][place]) if scores else 0
            row = {
                "session_id": context.session_id,
                "turn": context.turn,
                "context": context.history,
                "policy": called,
                "response": drawn[best][place],
                "seed": sampling.seed,
            }
            different = {texts[place] for texts in drawn[:n]}
            kept = {"best_of": n, "candidates": len(different), "reward": scores[best][place]} if scores else {}
            rows.append({**row, **kept})
    return rows


def _pairs(
    contexts: Sequence[DialogueContext],
    name: str,
    drawn: Sequence[Sequence[str]],
    scores: Sequence[Sequence[float]],
    tokenizer: PreTrainedTokenizerBase,
) -> list[dict[str, Any]]:
    """Of all replies to a context the best and the worst, in TRL's conversational form of preferences.

    A context gives none where all its replies earn the same.
    """
    pairs: list[dict[str, Any]] = []
    for place, context in enumerate(contexts):
        paid = [of_draw[place] for of_draw in scores]
        best, worst = best_and_worst(paid, 0.0)
        if best != worst:
            replies = (ContextTurn("assistant", drawn[draw][place]) for draw in (best, worst))
            chosen, rejected = (as_chat((reply,), tokenizer) for reply in replies)
            pair = {
                "prompt": as_chat(context.messages, tokenizer),
                "chosen": chosen,
                "rejected": rejected,
                "margin": paid[best] - paid[worst],
                "session_id": context.session_id,
                "turn": context.turn,
                "policy": name,
            }
            pairs.append(pair)
    return pairs


def _scores(
    contexts: Sequence[DialogueContext], name: str, drawn: Sequence[Sequence[str]], reward: Reward
) -> list[list[float]]:
    read = [scored_context(context.session_id, context.turn, context.history) for context in contexts]
    histories = [context.history for context in read]
    return [finite_scores(reward, read, histories, texts, f"policy {name!r}") for texts in drawn]


def _write(
    table: pa.Table,
    pairs: Sequence[Mapping[str, Any]],
    fingerprint: Mapping[str, Any],
    sampling: SamplingSettings,
    out: Path,
) -> None:
    """Key, pairs, note and table, the table last: a table that is there is whole, and so is what belongs to it."""
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.stem}.") as name:
        folder = Path(name)
        if sampling.blind:
            table, key = blinded(table, sampling.seed)
            letters = folder / f"key{out.suffix}"
            write_rows(key, letters, KEY)
            place_file(letters, key_path(out))
        if sampling.pairs:
            write_atomically(pairs_path(out), "".join(f"{json.dumps(pair, ensure_ascii=False)}\n" for pair in pairs))
        scratch = folder / f"table{out.suffix}"
        write_rows(table, scratch, sampling.schema)
        write_atomically(note_path(out), note_text(fingerprint, scratch, out))
        place_file(scratch, out)
