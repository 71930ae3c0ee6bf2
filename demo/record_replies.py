"""How demo/llm_replies.jsonl was made: the demo's prompts out to text files, a real model's replies back in.

    python -m demo.record_replies export BATCHES      prompts that have no recorded reply yet, ten a file
    python -m demo.record_replies collect BATCHES --model FAMILY --date YYYY-MM-DD

A model is given one file at a time and nothing else: each holds the messages of ten requests, word for word as the
chain sends them, and asks for one JSON reply a request. Its answers are put beside each batch as `NAME.replies.jsonl`,
a line `{"request": N, "reply": {...}}` for each. Nobody needs this to run the demo.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from corpus.errors import InputError
from decompose.llm import requests_for
from decompose.methods import METHODS
from decompose.reply import parse_reply
from llm_client.recorded import RecordingHeader
from llm_client.request import ChatRequest
from pipeline.config import Config, load_config
from pipeline.shards import open_engine
from pipeline.stage import Unit
from pipeline.store import write_atomically

HERE = Path(__file__).resolve().parent
RECORDING = HERE / "llm_replies.jsonl"
BATCH = 10
TASK = (
    "Below are {count} independent requests, each with a system and a user message. Answer each one by itself, as if "
    "it were the only one, from its own text alone. Give one line of JSON a request and nothing else: "
    '{{"request": N, "reply": REPLY}} where REPLY is the JSON object that the request asks for.'
)


def requests(config: Config) -> dict[str, tuple[ChatRequest, tuple[int, ...]]]:
    """Every request that the LLM methods of the demo make, by key, with the turns it asks for."""
    engine = open_engine(config)
    found = {}
    for name in config.decompose.methods:
        method = METHODS[name]
        for session in engine.sessions.values() if method.concurrent else ():
            described = engine.artifact("describe", Unit(session.session_id)) if method.uses_descriptors else None
            if method.uses_descriptors and session.media and described is None:
                raise InputError(f"{session.session_id} has no descriptors yet: run `apportion describe` first")
            descriptors = described.table("descriptors") if described else None
            for request, meta in requests_for(session, engine.config.rating, descriptors, config.decompose):
                found[request.key()] = (request, meta.turns)
    return found


def export(config: Config, folder: Path) -> None:
    """Write the requests without a recorded reply, ten to a text file, with an index beside them."""
    answered = {entry["key"] for entry in _recorded()}
    missing = [(key, request) for key, (request, _) in requests(config).items() if key not in answered]
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        name = f"batch-{start // BATCH:02d}"
        parts = [TASK.format(count=len(batch))]
        for number, (_, request) in enumerate(batch):
            messages = "\n\n".join(f"[{message.role}]\n{message.content}" for message in request.messages)
            parts.append(f"===== request {number} =====\n{messages}")
        (folder / f"{name}.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        (folder / f"{name}.keys.json").write_text(json.dumps([key for key, _ in batch]))
    print(f"{len(missing)} requests in {folder}")


def collect(config: Config, folder: Path, model: str, date: str) -> None:
    """Check the replies as the chain will, and add them to the recording."""
    known = requests(config)
    entries = {entry["key"]: entry for entry in _recorded() if entry["key"] in known}
    for index in sorted(folder.glob("*.keys.json")):
        keys = json.loads(index.read_text())
        answers = index.with_name(index.name.replace(".keys.json", ".replies.jsonl"))
        if not answers.is_file():
            print(f"{answers.name} is still missing")
            continue
        for line in answers.read_text(encoding="utf-8").splitlines():
            answer = json.loads(line)
            request, turns = known[keys[answer["request"]]]
            reply = json.dumps(answer["reply"], ensure_ascii=False)
            parse_reply(reply, turns, None, None)
            key = request.key()
            entries[key] = {"key": key, "reply": reply, "model": model, "date": date, "label": request.label}
    how = (
        f"real replies of {model}, which was given only the prompts, in files of up to {BATCH} independent requests; "
        "up to forty of them shared one conversation, and the temperature that the requests name could not be set"
    )
    lines = [asdict(RecordingHeader(model, date, how)), *(entries[key] for key in sorted(entries))]
    write_atomically(RECORDING, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    print(f"{len(entries)} of {len(known)} requests answered in {RECORDING}")


def _recorded() -> list[dict[str, str]]:
    if not RECORDING.is_file():
        return []
    return [json.loads(line) for line in RECORDING.read_text(encoding="utf-8").splitlines()[1:]]


def main() -> None:
    """Export prompts or collect replies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("export", "collect"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="", help="the model family that answered")
    parser.add_argument("--date", default="", help="the day that it answered")
    arguments = parser.parse_args()
    config = load_config(HERE / "demo.toml")
    if arguments.action == "export":
        export(config, arguments.folder)
    else:
        collect(config, arguments.folder, arguments.model, arguments.date)


if __name__ == "__main__":
    main()
