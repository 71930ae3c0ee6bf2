"""Claim: what `reaction` and every method beside it read of replies costs at most half of the CPU time that it did.

Run: python benchmarks/reading.py ../shared/data/uss/SGD.txt.gz [--limit 200]

Both ways read the same sessions one by one, as the stage `react` does, on one thread, in turns: ``before`` as it was
until November 2026 (torch's own linear layers, texts of a session in batches of 16 by length, padded to the longest,
every text made tokens twice), ``now`` with `apportion.reward_model.network.backbones` and a session's texts side
by side. CPU time of the process, with cues; beside it the largest difference of any number, and the time of cues alone.
Then the tone of the same sessions for all that asks for it in a run of `apportion benchmark` with three seeds: the
cues, the four forms of the method `sentiment`, and `rrd-ls` once a seed; ``before`` each by itself, ``now`` from what
the first has read (`apportion.decompose.reactions.vader`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.uss import NAME, import_corpus
from apportion.corpus.session import Session
from apportion.decompose.reactions import vader
from apportion.decompose.reactions.cues import tones
from apportion.decompose.reactions.extract import read_session
from apportion.decompose.session_methods.runner import judge_session
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.llm_client.session import LLMSession
from apportion.reward_model.network import backbones, texts
from apportion.reward_model.network.backbones import Backbone, frozen_backbone
from apportion.reward_model.network.tokens import length_batches
from benchmarks.measure import tell

SETTINGS = ReactionSettings()
BY_SENTIMENT = ("sentiment", "sentiment-raw", "sentiment-utterance", "sentiment-utterance-raw", *["sentiment"] * 3)
"""The methods that ask for tones, the last three times in the place of `rrd-ls`."""


@torch.inference_mode()
def embed_as_before(backbone: Backbone, said: Sequence[str]) -> NDArray[np.float32]:
    """`apportion.reward_model.network.texts.embed_texts` as it was."""
    plain = frozen_backbone(SETTINGS.backbone, SETTINGS.max_tokens)
    places = {text: i for i, text in enumerate(dict.fromkeys(text for text in said if text))}
    vectors = np.zeros((len(places) + 1, plain.width // 2), dtype=np.float32)
    tokens = [encoded.reply for encoded in plain.tokens.encode([("", text) for text in places])]
    for batch in length_batches(tokens, 16):
        inputs = plain.tokens.pad([tokens[i] for i in batch])
        layers = plain.encoder(**inputs, output_hidden_states=True).hidden_states[1:]
        mask = inputs["attention_mask"].unsqueeze(-1).to(layers[0].dtype)
        states = torch.stack([(layer * mask).sum(dim=1) for layer in layers]).mean(dim=0) / mask.sum(dim=1)
        vectors[batch] = states.float().numpy()
    return vectors[[places.get(text, len(places)) for text in said]]


def no_embedding(backbone: Backbone, said: Sequence[str]) -> NDArray[np.float32]:
    return np.zeros((len(said), 384), dtype=np.float32)


def timed(read: Callable[[Session], pa.Table], sessions: Sequence[Session]) -> tuple[pa.Table, float]:
    started = time.process_time()
    tables = [read(session) for session in sessions]
    return pa.concat_tables(tables), time.process_time() - started


def read(session: Session) -> pa.Table:
    return read_session(session, NAME, SETTINGS)


def numbers(table: pa.Table) -> NDArray[np.float64]:
    columns = (table.column(name).combine_chunks() for name in ("cues", "embedding"))
    return np.concatenate([column.flatten().to_numpy().astype(np.float64) for column in columns])


def all_tones(session: Session) -> list[float | None]:
    """What every method and the cues ask of the tones of a session's texts."""
    settings = DecomposeSettings()
    said = [[episode.turns[i].text for i in episode.reply_positions(at)]
            for episode in session.episodes(NAME) for at in episode.target_positions]  # fmt: skip
    numbers: list[float | None] = [number for reply in said for number in tones(reply)]
    for method in BY_SENTIMENT:
        judged = judge_session(method, session, NAME, None, settings, LLMSession(settings.llm)).judgements
        numbers += judged.column("raw_reward").to_pylist()
    return numbers


def tell_tones(sessions: Sequence[Session], source: str) -> None:
    """CPU time of all tones, each read by itself and from what was read; the numbers have to be the same."""
    found, seconds = {}, {}
    for way, reading in (("before", vader._read.__wrapped__), ("now", vader._read)):
        vader._read.cache_clear()
        with patch.object(vader, "_read", reading):
            started = time.process_time()
            found[way] = [all_tones(session) for session in sessions]
            seconds[way] = time.process_time() - started
    for way, took in seconds.items():
        tell(
            f"all that asks for tones, {way}", took, "CPU s", sessions=len(sessions),
            share_of_before=took / seconds["before"], equal=found["before"] == found["now"], source=source,
        )  # fmt: skip


def main(source: Path, limit: int | None) -> None:
    torch.set_num_threads(1)
    corpus = Corpus.of(source.parent, import_corpus(source, {}).tables)
    sessions = list(corpus.iter_sessions())[:limit]
    backbones.reading_backbone(SETTINGS.backbone, SETTINGS.max_tokens)
    frozen_backbone(SETTINGS.backbone, SETTINGS.max_tokens)
    seconds = {"before": 0.0, "now": 0.0, "cues alone": 0.0}
    ways = {"before": embed_as_before, "now": texts.embed_texts, "cues alone": no_embedding}
    tables: dict[str, list[pa.Table]] = {way: [] for way in ways}
    for start in range(0, len(sessions), 50):  # In turns, so that what else the machine does meets all alike.
        for way, embed in ways.items():
            with patch.object(texts, "embed_texts", embed), patch.object(vader, "_read", vader._read.__wrapped__):
                table, took = timed(read, sessions[start : start + 50])
            tables[way].append(table)
            seconds[way] += took
    before, now = (numbers(pa.concat_tables(tables[way])) for way in ("before", "now"))
    for way, took in seconds.items():
        tell(
            f"reading the replies, {way}", took, "CPU s", sessions=len(sessions),
            share_of_before=took / seconds["before"], source=source.name,
        )  # fmt: skip
    difference = float(np.abs(before - now).max()) * 1e6
    tell("largest difference of any number", difference, "millionths", numbers=len(now), source=source.name)
    tell_tones(sessions, source.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--limit", type=int, help="use only the first sessions")
    given = parser.parse_args()
    main(given.source, given.limit)
