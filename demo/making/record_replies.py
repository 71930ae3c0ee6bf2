"""How demo/llm_replies.jsonl was made: the demo's prompts out to text files, a real model's replies back in.

    python -m demo.making.record_replies export BATCHES      prompts that have no recorded reply yet, ten a file,
                                                             worded as the demo does and as LLM-GELI does
    python -m demo.making.record_replies collect BATCHES --model FAMILY --date YYYY-MM-DD
    python -m demo.making.record_replies export-audit FOLDER     the audit's requests, one file a perturbation
    python -m demo.making.record_replies collect-audit FOLDER --model FAMILY --date YYYY-MM-DD

A model is given one file at a time and nothing else: each holds the messages of ten requests, word for word as the
chain sends them, and asks for one JSON reply a request. Its answers are put beside each batch as `NAME.replies.jsonl`,
a line `{"request": N, "reply": {...}}` for each. The audit's files hold a line `{"key", "system", "user", "turns"}` a
request, and its answers are `FOLDER/replies/NAME.jsonl` with a line `{"key", "text"}` each, the text as it was written.
Nobody needs this to run the demo.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from decompose.audit.ask import audit_cases
from decompose.judging.requests import session_requests
from decompose.methods import METHODS
from decompose.prompting.reply import parse_reply
from foundation.errors import InputError
from foundation.files import write_atomically
from llm_client.kept.recorded import RecordingHeader
from llm_client.prompts.strict_json import ReplyMistakeError
from llm_client.request import ChatRequest
from pipeline.assembly import open_engine
from pipeline.config import Config, load_config
from pipeline.engine.stage import Unit

DEMO = Path(__file__).resolve().parents[1]
RECORDING = DEMO / "llm_replies.jsonl"
BATCH = 10
WORDINGS = ("default", "paper")
"""The prompts that the demo's methods are recorded for: its own, and LLM-GELI's."""
TASK = (
    "Below are {count} independent requests, each with a system and a user message. Answer each one by itself, as if "
    "it were the only one, from its own text alone. Give one line of JSON a request and nothing else: "
    '{{"request": N, "reply": REPLY}} where REPLY is the JSON object that the request asks for.'
)


def requests(config: Config) -> dict[str, tuple[ChatRequest, tuple[int, ...]]]:
    """Every request that the LLM methods of the demo make in any wording, by key, with the turns it asks for."""
    found: dict[str, tuple[ChatRequest, tuple[int, ...]]] = {}
    for wording in WORDINGS:
        llm = config.decompose.llm.model_copy(update={"prompt": wording})
        decompose = config.decompose.model_copy(update={"llm": llm})
        found.update(_requests(config.model_copy(update={"decompose": decompose})))
    return found


def _requests(config: Config) -> dict[str, tuple[ChatRequest, tuple[int, ...]]]:
    engine = open_engine(config)
    found = {}
    for name in config.decompose.methods:
        method = METHODS[name]
        for session in engine.sessions.values() if method.asks else ():
            described = engine.artifact("describe", Unit(session.session_id)) if method.uses_descriptors else None
            if method.uses_descriptors and session.media and described is None:
                raise InputError(f"{session.session_id} has no descriptors yet: run `apportion describe` first")
            descriptors = described.table("descriptors") if described else None
            for request, meta in session_requests(method, session, engine.config.rating, descriptors, config.decompose):
                found[request.key()] = (request, meta.turns)
    return found


def audit_requests(config: Config) -> dict[str, dict[str, tuple[ChatRequest, tuple[int, ...]]]]:
    """Every request that the demo's audit makes, by perturbation and key, with the turns it asks for."""
    engine = open_engine(config)
    found: dict[str, dict[str, tuple[ChatRequest, tuple[int, ...]]]] = {}
    for unit in engine.plan.units["audit"]:
        session = engine.sessions[str(unit.session_id)]
        described = engine.artifact("describe", Unit(session.session_id)) if session.media else None
        if session.media and described is None:
            raise InputError(f"{session.session_id} has no descriptors yet: run `apportion describe` first")
        descriptors = described.table("descriptors") if described else None
        method = METHODS[str(unit.method)]
        asked = audit_cases(
            str(unit.perturbation), method, session, engine.config.rating, descriptors, config.decompose
        )
        for case, _ in asked:
            for request in case.requests():
                found.setdefault(str(unit.perturbation), {})[request.key()] = (request, case.episode.target_turns)
    return found


def export_audit(config: Config, folder: Path) -> None:
    """Write the audit's requests without a recorded reply, one file a perturbation."""
    answered = {entry["key"] for entry in _recorded()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, requests_ in audit_requests(config).items():
        lines = [
            {"key": key, "system": request.messages[0].content, "user": request.messages[1].content, "turns": turns}
            for key, (request, turns) in requests_.items()
            if key not in answered
        ]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
        print(f"{len(lines)} requests in {folder / name}.jsonl")


def collect_audit(config: Config, folder: Path, model: str, date: str) -> None:
    """Add the replies to the audit's requests to the recording, as they were written; bad ones are told, and kept."""
    known = {key: asked for found in audit_requests(config).values() for key, asked in found.items()}
    entries = {entry["key"]: entry for entry in _recorded()}
    for path in sorted((folder / "replies").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            answer = json.loads(line)
            request, turns = known[answer["key"]]
            try:
                parse_reply(answer["text"], turns, None, None)
            except ReplyMistakeError as mistake:
                print(f"{path.name}: {request.subject}: {mistake}")
            entry = {"key": answer["key"], "reply": answer["text"], "model": model, "date": date}
            entries[answer["key"]] = {**entry, "label": f"{request.subject}, audit: {path.stem}"}
    _write(entries, model)
    print(f"{len(known.keys() & entries.keys())} of {len(known)} requests of the audit answered in {RECORDING}")


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
    audited = {key for found in audit_requests(config).values() for key in found}
    entries = {entry["key"]: entry for entry in _recorded() if entry["key"] in known.keys() | audited}
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
            entries[key] = {"key": key, "reply": reply, "model": model, "date": date, "label": request.subject}
    _write(entries, model)
    print(f"{len(known.keys() & entries.keys())} of {len(known)} requests answered in {RECORDING}")


def _write(entries: Mapping[str, Mapping[str, str]], model: str) -> None:
    how = (
        f"real replies of {model}, which was given only the prompts, in files of up to {BATCH} independent requests; "
        "up to fifty of them shared one conversation, and the temperature that the requests name could not be set. "
        "Those of the audit: one fresh conversation a perturbation, which was told nothing of the audit and read all "
        "requests of its perturbation, so that replies to one perturbation are not independent of one another"
    )
    days = sorted({entry["date"] for entry in entries.values()})
    lines = [asdict(RecordingHeader(model, "/".join(days), how)), *(entries[key] for key in sorted(entries))]
    write_atomically(RECORDING, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _recorded() -> list[dict[str, str]]:
    if not RECORDING.is_file():
        return []
    return [json.loads(line) for line in RECORDING.read_text(encoding="utf-8").splitlines()[1:]]


def main() -> None:
    """Export prompts or collect replies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("export", "collect", "export-audit", "collect-audit"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="", help="the model family that answered")
    parser.add_argument("--date", default="", help="the day that it answered")
    arguments = parser.parse_args()
    config = load_config(DEMO / "demo.toml")
    if arguments.action.startswith("export"):
        {"export": export, "export-audit": export_audit}[arguments.action](config, arguments.folder)
    else:
        act = {"collect": collect, "collect-audit": collect_audit}[arguments.action]
        act(config, arguments.folder, arguments.model, arguments.date)


if __name__ == "__main__":
    main()
