"""How demo/llm_replies.jsonl was made: the demo's prompts out to text files, a real model's replies back in.

    python -m apportion.demo.builders.record_replies export FOLDER
    python -m apportion.demo.builders.record_replies collect FOLDER --model FAMILY --date YYYY-MM-DD

`export` writes the prompts that have no recorded reply yet, one a file; `collect` reads the answers.

Both first measure the films with every back-end for faces that the demo may take, in runs/recording, so that the face
mesh has to be here (`apportion models fetch mesh`): what people are described as, and with it the prompts, may differ
between them. A prompt that two back-ends share is asked once, and belongs to the first.

FOLDER has a folder a set: `mesh-default` and `mesh-paper` (worded as the demo does, and as LLM-GELI does),
`mesh-audit-repeat` and so on (a perturbation of the audit each), and the same for `haar`. A request is `KEY.txt` in it,
the messages word for word as the chain sends them; its answer is `KEY.json` beside it, the JSON object that the request
asks for and nothing else, kept as it was written. A model that answers sees one file at a time and nothing of the other
sets. Nobody needs this to run the demo.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from apportion.decompose.audit.query import audit_cases
from apportion.decompose.methods import METHODS
from apportion.decompose.reply_parsing import parse_reply
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.llm_client.cache.recorded import RecordingHeader
from apportion.llm_client.prompts.strict_json import ReplyMistakeError
from apportion.llm_client.request import ChatRequest
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import Config, load_config
from apportion.pipeline.engine.engine import Engine
from apportion.pipeline.engine.stage import Unit
from apportion.pipeline.execution.local import run_locally

DEMO = Path(__file__).resolve().parents[1]
RECORDING = DEMO / "llm_replies.jsonl"
MEASURED = DEMO.parent / "runs" / "recording"
BACKENDS = ("mesh", "haar")
"""What the demo's `detector = "auto"` can be."""
WORDINGS = ("default", "paper")
"""The prompts that the demo's methods are recorded for: its own, and LLM-GELI's."""
AUDIT = "audit-"
HOW = (
    "real replies of {model}, which was given only the prompts, in files of up to 10 independent requests; up to fifty "
    "of them shared one conversation, and the temperature that the requests name could not be set. Those of the audit: "
    "one fresh conversation a perturbation, which was told nothing of the audit and read all requests of its "
    "perturbation, so that replies to one perturbation are not independent of one another"
)


@dataclass(frozen=True)
class Asked:
    """A request with the turns it asks for, and the set it belongs to."""

    request: ChatRequest
    turns: tuple[int, ...]
    group: str

    @property
    def audits(self) -> bool:
        """Whether it is a question of the audit."""
        return f"-{AUDIT}" in self.group

    @property
    def label(self) -> str:
        """What the recording calls it."""
        subject = self.request.subject
        return f"{subject}, audit: {self.group.partition(AUDIT)[2]}" if self.audits else subject


def demo_with(detector: str, output: Path) -> Config:
    """The demo's configuration with a back-end by name, its films measured in ``output``."""
    config = load_config(DEMO / "demo.toml")
    features = config.features.model_copy(update={"detector": detector})
    config = config.model_copy(update={"output": output, "features": features})
    run_locally(config, ["verbalize"], quiet=True)
    return config


def all_requests(measured: Path) -> dict[str, Asked]:
    """Every request that the demo makes with any back-end, in any wording and in its audit, by key."""
    found: dict[str, Asked] = {}
    for detector in BACKENDS:
        for asked in requests(demo_with(detector, measured / detector), detector):
            found.setdefault(asked.request.key(), asked)
    return found


def requests(config: Config, detector: str) -> Iterator[Asked]:
    """The requests of the LLM methods in every wording, then those of the audit."""
    for wording in WORDINGS:
        llm = config.decompose.llm.model_copy(update={"prompt": wording})
        decompose = config.decompose.model_copy(update={"llm": llm})
        yield from _judgements(config.model_copy(update={"decompose": decompose}), f"{detector}-{wording}")
    yield from _audit(config, f"{detector}-{AUDIT}")


def _judgements(config: Config, group: str) -> Iterator[Asked]:
    engine = open_engine(config)
    for method in (METHODS[name] for name in config.decompose.methods):
        for session in engine.sessions.values() if method.asks else ():
            descriptors = _descriptors(engine, session.session_id) if method.reads_descriptors else None
            for request, meta in session_requests(method, session, engine.config.rating, descriptors, config.decompose):
                yield Asked(request, meta.turns, group)


def _audit(config: Config, group: str) -> Iterator[Asked]:
    engine = open_engine(config)
    for unit in engine.plan.units["audit"]:
        session, name, method = engine.sessions[str(unit.session_id)], str(unit.perturbation), METHODS[str(unit.method)]
        descriptors = _descriptors(engine, session.session_id)
        for case, _ in audit_cases(name, method, session, engine.config.rating, descriptors, config.decompose):
            for request in case.requests():
                yield Asked(request, case.episode.target_turns, f"{group}{name}")


def _descriptors(engine: Engine, session_id: str) -> pa.Table | None:
    """What the rater is described as; None where nobody is recorded."""
    if not engine.sessions[session_id].media:
        return None
    described = engine.artifact("verbalize", Unit(session_id))
    if described is None:
        raise InputError(
            f"{session_id} could not be described: run `apportion run --only verbalize` on the demo to see why"
        )
    return described.table("descriptors")


def export(folder: Path, measured: Path = MEASURED, recording: Path = RECORDING) -> dict[str, int]:
    """Write the requests without a recorded reply, one to a file, in a folder a set; returns how many by set."""
    answered = _recorded(recording)
    counts: dict[str, int] = {}
    for key, asked in all_requests(measured).items():
        if key in answered:
            continue
        place = folder / asked.group
        place.mkdir(parents=True, exist_ok=True)
        messages = "\n\n".join(f"[{message.role}]\n{message.content}" for message in asked.request.messages)
        (place / f"{key}.txt").write_text(f"{messages}\n", encoding="utf-8")
        counts[asked.group] = counts.get(asked.group, 0) + 1
    return counts


def collect(folder: Path, model: str, date: str, measured: Path = MEASURED, recording: Path = RECORDING) -> list[str]:
    """Add the replies in ``folder`` to the recording as they were written, and drop those that nothing asks for.

    Returns what is amiss, a line each: requests without a reply, and replies to the audit that the chain cannot read;
    those are kept, since the audit counts them.

    Raises ``InputError``: a reply that no request asked for, or one outside the audit that the chain cannot read.
    """
    known = all_requests(measured)
    entries = {key: entry for key, entry in _recorded(recording).items() if key in known}
    amiss = []
    for path in sorted(folder.glob("*/*.json")):
        asked, text = known.get(path.stem), path.read_text(encoding="utf-8").strip()
        if asked is None:
            raise InputError(f"{path}: no request has this key. Export the requests again.")
        try:
            parse_reply(text, asked.turns, None, None)
        except ReplyMistakeError as mistake:
            if not asked.audits:
                raise InputError(f"{path}: {mistake}. Have it answered again.") from None
            amiss.append(f"{path}: {mistake}")
        entries[path.stem] = {"key": path.stem, "reply": text, "model": model, "date": date, "label": asked.label}
    _write(entries, model, recording)
    return [*amiss, *(f"no reply: {asked.group} {asked.label}" for key, asked in known.items() if key not in entries)]


def _write(entries: Mapping[str, Mapping[str, str]], model: str, recording: Path) -> None:
    days = sorted({entry["date"] for entry in entries.values()})
    lines = [asdict(RecordingHeader(model, "/".join(days), HOW.format(model=model)))]
    lines += [dict(entries[key]) for key in sorted(entries)]
    write_atomically(recording, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _recorded(recording: Path) -> dict[str, dict[str, str]]:
    if not recording.is_file():
        return {}
    entries = map(json.loads, recording.read_text(encoding="utf-8").splitlines()[1:])
    return {entry["key"]: entry for entry in entries}


def main() -> None:
    """Export prompts or collect replies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("export", "collect"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="", help="the model family that answered")
    parser.add_argument("--date", default="", help="the day that it answered")
    arguments = parser.parse_args()
    if arguments.action == "export":
        for group, count in export(arguments.folder).items():
            print(f"{count} requests in {arguments.folder / group}")
        return
    for line in collect(arguments.folder, arguments.model, arguments.date):
        print(line)


if __name__ == "__main__":
    main()
