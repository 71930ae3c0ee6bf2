"""Claims on influence: what is shared is computed once, and how far its values agree with people.

Run: python -m benchmarks.influence sharing
     python -m benchmarks.influence agreement ../shared/data/uss/SGD.txt.gz --model FOLDER --read IDS.txt

`sharing`: 2K = 6 replies to n = 8 utterances of a game of seven, by a small model with random weights. Tokens that go
through the model (the padding of batches among them) beside one pass each; log-probabilities beside one pass each and
beside a loop over the tokens.

`agreement`: sessions of a USS corpus whose ids are not in IDS.txt (those that the model has read), by `influence` with
the model in FOLDER. Within-session Spearman with the mean human turn rating over the sessions with at least 4 labelled
turns whose labels differ; a constant prediction counts as 0, a turn without a value as the mean of its session. Beside
it: VADER on the rater's next reply, the turn's place, how long the reply is, and each part of the formula left out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.uss import NAME, import_corpus
from apportion.corpus.session import Episode
from apportion.decompose.influence.judge import Question, moved, questions_of, weight_of
from apportion.decompose.influence.local_scorer import LocalMeasurer, load_measurer
from apportion.decompose.influence.prefix_tree import SharedPrefixes
from apportion.decompose.influence.scorer import LogprobResult, Prompt
from apportion.decompose.method_settings import InfluenceSettings
from apportion.decompose.session_methods.sentiment import load_classifier
from apportion.evaluation.confidence_intervals.bootstrap import estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.llm_client.request import ChatMessage
from apportion.rlhf.training.tiny_policy import train_tokenizer
from benchmarks.measure import tell

CANDIDATES, REPLIES = 8, 6


@dataclass(frozen=True)
class Variant:
    """A part of the formula left out, or taken in another way."""

    against: Literal["silence", "others"] = "silence"
    signed: bool = True
    per_token: bool = False
    alone: bool = False


SAID = (
    "I think that player three is the werewolf; nobody else was so quiet when the night was told.",
    "I am the seer, and I have looked at player five. He is good, so vote with me today.",
    "No, I do not believe a word of it. Player three has defended nobody, and player one has accused him twice.",
)
REPLY = (
    "I trust you, and I will vote for player three.",
    "Player three seems suspicious to me, too.",
    "I agree with the seer, let us vote together.",
    "I do not trust you at all, you may be the wolf.",
    "I would rather vote for player one.",
    "I have nothing to say about player three.",
)
VARIANTS = {
    "influence": Variant(),
    "influence, no sign": Variant(signed=False),
    "influence, mean over tokens": Variant(per_token=True),
    "influence, no sign, mean over tokens": Variant(signed=False, per_token=True),
    "influence, no sign, no other replies": Variant(signed=False, alone=True),
    "influence, no sign, against other utterances": Variant(signed=False, against="others"),
}


def sharing() -> None:
    torch.manual_seed(0)
    tokenizer = train_tokenizer([*SAID, *REPLY], 512)
    size = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=8192, **size)).eval()
    history = "\n".join(f"Player {turn % 7 + 1}: {SAID[turn % 3]}" for turn in range(20))
    # Other words from the first on: nothing of two speeches is shared.
    speeches = [f"Player 7: {'ABCDEFGH'[i]}. {SAID[i % 3]} {SAID[(i + 1) % 3]}" for i in range(CANDIDATES)]
    prompts = [
        Prompt((ChatMessage("user", f"{history}\n{speech}\nWhat do you say?"),), "<response>") for speech in speeches
    ]
    measurer = LocalMeasurer(model, tokenizer)
    started = time.perf_counter()
    found = measurer.measure(prompts, REPLY)
    shared_s = time.perf_counter() - started
    sequences = [one for prompt in prompts for one in measurer.sequences(prompt, REPLY)]
    each = SharedPrefixes(model, share=False)
    started = time.perf_counter()
    whole = np.array([float(logs.sum()) for logs in each.log_probabilities(sequences)])
    each_s = time.perf_counter() - started
    loop = np.array([by_token(model, one.ids, one.start) for one in sequences[:: REPLIES + 1]])
    computed = found.computed or 0
    tell(
        "tokens computed, shared", computed, "tokens", one_pass_each=each.computed, times_fewer=each.computed / computed
    )
    differences = 1e6 * np.abs(found.sums.ravel() - whole), 1e6 * np.abs(found.sums.ravel()[:: REPLIES + 1] - loop)
    tell("largest difference from one pass each", float(differences[0].max()), "1e-6 nats", texts=len(whole))
    tell("largest difference from a loop over the tokens", float(differences[1].max()), "1e-6 nats", texts=len(loop))
    tell("time, shared", shared_s, "s", one_pass_each=each_s)


@torch.inference_mode()
def by_token(model: LlamaForCausalLM, ids: tuple[int, ...], start: int) -> float:
    """The sum of a reply's log-probabilities, a pass for each token."""
    logs = (
        torch.log_softmax(model(torch.tensor([ids[:place]])).logits[0, -1].double(), dim=-1)[ids[place]]
        for place in range(start, len(ids))
    )
    return float(sum(logs))


def agreement(source: Path, model: str, read: Path, most: int, context_turns: int) -> None:
    corpus = Corpus.of(source.parent, import_corpus(source, {}).tables)
    known = set(read.read_text(encoding="utf-8").split("\n"))
    sessions = [one for one in corpus.iter_sessions() if one.session_id not in known][:most]
    episodes = [episode for session in sessions for episode in session.episodes(NAME)]
    held, how = TestSet.of(episodes), EvaluationSettings()
    labels = read_labels(corpus.turn_labels, held, how)
    measurer = load_measurer(model)
    started = time.perf_counter()
    found: dict[str, Floats] = {}
    for against in ("silence", "others"):
        chosen = InfluenceSettings(context_turns=context_turns, baseline=against)
        asked = [questions_of(episode, chosen) for episode in episodes]
        measured = [
            measurer.measure_all([(one.prompts, one.replies) for one in some]) if some else [] for some in asked
        ]
        for name, variant in VARIANTS.items():
            if variant.against == against:
                of_episodes = zip(episodes, asked, measured, strict=True)
                found[name] = np.concatenate([values_of(*one, variant) for one in of_episodes])
    found |= peers(episodes)
    sampled = {name: within_session(held, values[None], labels, how) for name, values in found.items()}
    for name, one in sampled.items():
        here, beside = estimate(one, 0.95), estimate(paired_difference(sampled["influence"], one), 0.95)
        tell(
            f"within-session Spearman, {name}", here.value, "rho", interval=[here.low, here.high],
            sessions=here.sessions, influence_less_this=[beside.value, beside.low, beside.high], source=source.name,
        )  # fmt: skip
    tell("measuring twice", time.perf_counter() - started, "s", sessions=len(sessions), source=source.name)


def values_of(
    episode: Episode, asked: Sequence[Question], measured: Sequence[LogprobResult], variant: Variant
) -> Floats:
    """A value for every target turn [shape=(T,)], their mean where there is none."""
    weight = weight_of(episode) if variant.signed else 1.0
    of_turn = {}
    for question, one in zip(asked, measured, strict=True):
        used = LogprobResult(one.sums[:, :1], one.tokens[:, :1]) if variant.alone else one
        of_turn[question.turn] = weight * moved(question, used, per_token=variant.per_token)
    mean = float(np.mean(list(of_turn.values()))) if of_turn else 0.0
    return np.array([of_turn.get(turn, mean) for turn in episode.target_turns])


def peers(episodes: list[Episode]) -> dict[str, Floats]:
    replies = [episode.reply_text(position) for episode in episodes for position in episode.target_positions]
    return {
        "VADER, next reply": np.array(load_classifier("vader")(replies)),
        "place of the turn": np.concatenate([np.arange(len(one.target_turns), dtype=np.float64) for one in episodes]),
        "length of the reply": np.array([float(len(reply)) for reply in replies]),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    claims = parser.add_subparsers(dest="claim", required=True)
    claims.add_parser("sharing")
    beside = claims.add_parser("agreement")
    beside.add_argument("source", type=Path)
    beside.add_argument("--model", required=True)
    beside.add_argument("--read", type=Path, required=True)
    beside.add_argument("--most", type=int, default=10**9, help="sessions")
    beside.add_argument("--context-turns", type=int, default=12, help="what the follower reads")
    given = parser.parse_args()
    if given.claim == "sharing":
        sharing()
    else:
        agreement(given.source, given.model, given.read, given.most, given.context_turns)
