"""A small text-only run of all real stages, and what it left in its store."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS, SESSIONS, UTTERANCES
from apportion.foundation.files import file_digest
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.store import MANIFEST
from apportion.pipeline.execution.local import run_locally
from tests.llm_client.openai_server import OpenAIServer, serving
from tests.pipeline.llm_run import good

CONFIG = """
corpus = "corpus"
output = "{output}"

[run]
recorded = "replies.jsonl"

[split]
train = 0.4
validation = 0.2
test = 0.2
policy = 0.2

[decompose]
method = "llm"
compare = ["uniform", "sentiment"]

[decompose.llm]
provider = "recorded"
model = "m"

[train_reward]
epochs = 1
head_hidden_size = 8

[evaluate]
bootstrap = 100

[align]
steps = 1
batch_size = 2
mini_batch_size = 2
ppo_epochs = 1
max_new_tokens = 4
samples = 1

[align.lora]
r = 2

[align.tiny]
hidden = 32
layers = 1
vocabulary = 300
warmup_steps = 2
"""
SESSION_COUNT = 15


def write_corpus(folder: Path) -> None:
    """A shop's chats: the customer's replies are kind or not, and the score says how many were."""
    sessions, utterances, ratings = [], [], []
    for number in range(SESSION_COUNT):
        name = f"chat-{number:02d}"
        kind = [bool(number >> bit & 1) for bit in range(4)]
        texts = [("clerk", "How can I help you today?")]
        for item, pleased in enumerate(kind):
            texts.append(("customer", "Thank you, that is great!" if pleased else "No, that is terrible and sad."))
            texts.append(("clerk", f"Let me look at number {item} of order {number}."))
        sessions.append({"session_id": name, "source": "test", "language": "en"})
        utterances += [
            {"session_id": name, "turn": turn, "speaker": speaker, "text": text}
            for turn, (speaker, text) in enumerate(texts)
        ]
        scale = {"name": "satisfaction", "low": 1.0, "high": 5.0, "higher_is_better": True}
        ratings.append(
            {"session_id": name, "rater": "customer", "target": "clerk", "score": 1.0 + sum(kind), "annotator": None}
            | scale
        )
    rows = ((SESSIONS, sessions), (UTTERANCES, utterances), (RATINGS, ratings))
    Corpus.of(folder, {schema.name: pa.Table.from_pylist(r, schema=schema.arrow) for schema, r in rows}).write(folder)


def write_replies(folder: Path) -> None:
    """Recorded replies to all that a run of the corpus in ``folder`` asks, of a server in this process."""
    asking = folder / "asking.toml"
    live = CONFIG.format(output="asked").replace('provider = "recorded"', 'base_url = "{}"')
    with serving(OpenAIServer(answer=good)) as server:
        asking.write_text(live.format(server.url).replace("recorded =", "record ="))
        run_locally(load_config(asking), ["judge"], quiet=True)


def write_config(folder: Path, output: str) -> Path:
    """The configuration of a run of the corpus in ``folder``."""
    path = folder / f"{output}.toml"
    path.write_text(CONFIG.format(output=output))
    return path


def artifacts(output: Path) -> dict[str, str]:
    """Every artifact's manifest (which names its files' hashes) by its place in the store, and its own hash."""
    manifests = (output / "store").rglob(MANIFEST)
    return {path.relative_to(output).as_posix(): file_digest(path) for path in manifests}
