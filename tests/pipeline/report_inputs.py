"""Inputs of a report, made up: sessions of a shop's chat, five methods, training curves and a policy's replies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from apportion.corpus.schema import DESCRIPTORS, REWARDS, SOURCES, SPLITS
from apportion.corpus.session import Episode, Rating, Turn
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.evaluation.evaluate import evaluate
from apportion.evaluation.inputs import Evidence, MethodValues
from apportion.evaluation.settings import EvaluationSettings
from apportion.pipeline.report.page import ReportInputs, Sample
from tests.evaluation.made_up import features, labels

METHODS = ("llm", "llm-multimodal", "rrd", "sentiment", "uniform")
SAYINGS = (
    "Good morning, what can I do for you today?",
    "I see. Could you tell me the number of the order and when it was meant to arrive?",
    "That is our fault and I am sorry. A new lamp leaves the warehouse tonight, and the old one is yours to keep.",
    "Hm.",
    "You will have to call another department for that.",
    "I have put a note on your account, so that nobody asks you the same again.",
)
REPLIES = ("Hello, my lamp never came.", "It is 4411, last Tuesday.", "Oh, that is kind of you!", "Fine.", "Seriously?")


def made_up_episodes(sessions: int, seed: int = 0, turns: tuple[int, int] = (5, 14)) -> tuple[Episode, ...]:
    rng = np.random.default_rng(seed)
    episodes = []
    for i in range(sessions):
        said = []
        for t in range(int(rng.integers(*turns))):
            said.append(Turn(2 * t, "agent", str(rng.choice(SAYINGS)), 9.0 * t, 9.0 * t + 5))
            said.append(Turn(2 * t + 1, "customer", str(rng.choice(REPLIES)), 9.0 * t + 5, 9.0 * t + 9))
        rating = Rating("customer", "agent", "satisfaction", float(rng.integers(1, 6)), 1.0, 5.0)
        episodes.append(Episode(f"chat-{i:03d}", tuple(said), rating))
    return tuple(episodes)


def made_up_rewards(episodes: tuple[Episode, ...], mean: float, noise: float, kinds: tuple[str, ...]) -> pa.Table:
    """Turn rewards that sum to score - mean where ``noise`` is 0; the projection of random judgements."""
    rng = np.random.default_rng(3)
    rows = []
    for episode in episodes:
        turns = episode.target_turns
        for method in kinds:
            judged = np.zeros(len(turns)) if method == "uniform" else rng.normal(size=len(turns))
            shares = (episode.score - mean) / len(turns) + 0.5 * (judged - judged.mean())
            shares = shares + rng.normal(size=len(turns)) * noise
            for turn, share, raw in zip(turns, shares, judged, strict=True):
                key = dict(zip(("session_id", "rater", "target", "name"), episode.key, strict=True))
                why = "the customer warms up" if method == "llm" and raw > 1 else None
                sd = 0.07 if method.startswith("llm") else None
                rows.append({**key, "turn": turn, "method": method, "seed": 0, "reward": float(share)})
                rows[-1].update(sd=sd, raw_reward=float(raw), rationale=why)
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def made_up_splits(episodes: tuple[Episode, ...]) -> pa.Table:
    names = ("train", "train", "test", "validation", "train", "test", "policy")
    rows = [{"session_id": e.session_id, "split": names[i % len(names)]} for i, e in enumerate(episodes)]
    return pa.Table.from_pylist(rows, schema=SPLITS.arrow)


def made_up_histories() -> pa.Table:
    rng = np.random.default_rng(1)
    rows = []
    for method in METHODS:
        for seed in (0, 1):
            for step in range(1, 11):
                for part, base in (("train loss", 0.4), ("validation loss", 0.6)):
                    value = base + np.exp(-step / 3) + 0.02 * rng.normal()
                    rows.append(("train-reward", method, seed, step, part, float(value)))
    for step in range(1, 301):
        rows.append(("align", "llm", 0, step, "reward", float(np.tanh(step / 100) + 0.1 * rng.normal())))
        rows.append(("align", "llm", 0, step, "kl", float(step / 60 + 0.2 * abs(rng.normal()))))
        rows.append(("align", "llm", 0, step, "clip_fraction", float(0.1 * abs(rng.normal()))))
    names = ("stage", "method", "seed", "step", "metric", "value")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    types = (pa.string(), pa.string(), pa.int32(), pa.int32(), pa.string(), pa.float64())
    return pa.table([pa.array(columns[n], t) for n, t in zip(names, types, strict=True)], names=list(names))


def made_up_sources() -> pa.Table:
    empty = "it needs no score of this corpus, and is held back: its larger values go with lower scores"
    rows = [
        ("mix", 0, "llm", 0.72, 0.61, 0.85, 0.31, 0.18, 0.42, 7, "it needs no score of this corpus"),
        ("mix", 0, "<b>prior", 0.28, 0.15, 0.39, 0.19, 0.06, 0.3, 7, "it needs no score of this corpus"),
        ("mix", 0, "sentiment", 0.0, 0.0, 0.0, -0.01, -0.05, 0.02, 7, empty),
        (
            "mix",
            0,
            "behaviour",
            0.0,
            0.0,
            0.0,
            0.0,
            None,
            None,
            0,
            "these scores settle 0% of what turns are worth, and nothing else goes with them",
        ),
    ]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=SOURCES.arrow)


def made_up_inputs(sessions: int = 12, changes: Mapping[str, object] | None = None) -> ReportInputs:
    episodes = made_up_episodes(sessions)
    splits = made_up_splits(episodes)
    split_of = dict(zip(splits["session_id"].to_pylist(), splits["split"].to_pylist(), strict=True))
    mean = float(np.mean([e.score for e in episodes if split_of[e.session_id] == "train"]))
    rewards = made_up_rewards(episodes, mean, 0.0, METHODS)
    rng = np.random.default_rng(5)
    faces = features(
        (e.session_id, t, "customer", "during", "smile", float(rng.random() > 0.6))
        for e in episodes
        for t in e.target_turns
    )
    people = labels(
        (e.session_id, t, w, float(rng.integers(1, 6))) for e in episodes for t in e.target_turns for w in "xy"
    )
    evaluation = evaluate(
        MethodValues(made_up_rewards(episodes, mean, 0.1, METHODS), rewards, dict.fromkeys(METHODS, mean)),
        SplitEpisodes(episodes, splits),
        Evidence(faces, people),
        EvaluationSettings(bootstrap=200),
    )
    seen = [
        {"session_id": e.session_id, "turn": t, "person": "customer", "window": window, "text": "smiles, looks away"}
        for e in episodes[:3]
        for t in e.target_turns
        for window in ("during", "reply")
    ]
    plain: dict[str, object] = {
        "evaluation": evaluation.to_json(),
        "rewards": rewards,
        "episodes": episodes,
        "splits": splits,
        "method": "llm",
        "descriptors": pa.Table.from_pylist(seen, schema=DESCRIPTORS.arrow),
        "sources": made_up_sources(),
        "histories": made_up_histories(),
        "samples": (
            Sample(
                "user: My lamp never came.\nassistant: I see.\nuser: And now?",
                "Ok.",
                "I am sorry, I will help.",
                -0.21,
                0.64,
            ),
            Sample("user: Thank you!", "Good bye", "It was a pleasure.", 0.1, 0.2),
        ),
        "quarantine": (
            {
                "stage": "features",
                "session_id": "chat-777",
                "unit": "chat-777",
                "status": "failed",
                "cause": "chat-777: left.mp4 ends after 0 bytes. Copy the recording again.",
            },
        ),
        "warnings": ("60 rated sessions give 9 test sessions, too few to tell methods apart.",),
        "config": '{\n "seeds": [0]\n}',
        "versions": {"apportion": "0.1.0", "torch": "2.13.0"},
        "notes": ("The data is made up for a test.", "LLM replies are recorded, not asked for anew."),
    }
    plain.setdefault("rating", "satisfaction")
    return ReportInputs(**{**plain, **(changes or {})})  # type: ignore[arg-type]
