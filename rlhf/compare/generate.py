"""One response per context and policy, batch by batch; a run that was stopped goes on where it stood."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from foundation.errors import UnitError
from foundation.files import file_digest, place_file, write_atomically
from rlhf.compare.blind import blinded
from rlhf.compare.partial_table import PartialTable
from rlhf.compare.questions import Questions
from rlhf.compare.responses import KEY, RESPONSES, write_rows
from rlhf.policy.contexts import DialogueContext
from rlhf.policy.loading import Policy
from rlhf.policy.opening import open_policy, policy_digest
from rlhf.policy.out_of_memory import memory_advice
from rlhf.sampling.rollout import sample_replies
from rlhf.settings import AlignSettings
from rlhf.training.isolation import quiet_transformers

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Drawing:
    """How responses are drawn. ``temperature`` None takes the most likely token each time; ``batch`` changes bits."""

    settings: AlignSettings
    temperature: float | None
    seed: int
    batch: int
    blind: bool


def made_path(out: Path) -> Path:
    """The note beside a table of responses that says what it was made with."""
    return out.with_name(f"{out.stem}.made.json")


def made_for(out: Path) -> str | None:
    """The name of the table that the note beside ``out`` tells of; None where there is no note."""
    note = _note(out)
    return None if note is None else str(note.get("table", out.name))


def is_blind(out: Path) -> bool:
    """Whether the policies' names in ``out`` are letters, as the note beside it says, or else the key."""
    note = _note(out)
    if note is None or made_for(out) != out.name:
        return key_path(out).is_file()
    return bool(note.get("blind"))


def key_path(out: Path) -> Path:
    """The table beside blind responses that says which policy is which."""
    return out.with_name(f"{out.stem}.key{out.suffix}")


def identity(policies: Mapping[str, str], questions: Questions, drawing: Drawing) -> dict[str, Any]:
    """Everything that decides what the table holds, as plain JSON values."""
    asked = hashlib.sha256()
    for name, contexts in questions.of.items():
        rows = [(c.session_id, c.turn, c.history, c.prompt) for c in contexts]
        asked.update(json.dumps([name, rows], ensure_ascii=False).encode())
    settings = drawing.settings
    return {
        "policies": {name: policy_digest(source) for name, source in policies.items()},
        "contexts": len(questions.shared),
        "asked": asked.hexdigest(),
        "max_new_tokens": settings.max_new_tokens,
        "temperature": drawing.temperature,
        "device": settings.device,
        "dtype": settings.dtype,
        "seed": drawing.seed,
        "batch": drawing.batch,
        "blind": drawing.blind,
    }


def is_made(out: Path, made: Mapping[str, Any]) -> bool:
    """Whether ``out`` is there, was made with exactly this, and has not been changed since."""
    try:
        same = _note(out) == {**made, "sha256": file_digest(out), "table": out.name}
    except OSError:
        return False
    return same and (not made["blind"] or key_path(out).is_file())


def generate(
    policies: Mapping[str, str],
    questions: Questions,
    drawing: Drawing,
    made: Mapping[str, Any],
    out: Path,
    progress: Progress,
) -> pa.Table:
    """Ask every policy every question and write the table; finished batches of a stopped run are used again.

    Parameters
    ----------
    policies : mapping of str to str
        Where each policy is, by its name.
    questions : Questions
        What they are asked.
    drawing : Drawing
        How responses are drawn.
    made : mapping
        `identity` of all that.
    out : Path
        Parquet, JSON Lines or CSV by its suffix; ``NAME.made.json`` and, where blind, ``NAME.key.*`` come beside it.
    progress : callable
        ``progress(done, total, policy)`` after each batch; done and total count responses.

    Returns
    -------
    pa.Table
        RESPONSES, with the policies' own names.

    Raises
    ------
    InputError
        A policy that cannot be loaded, or a table that another process is writing.
    UnitError
        A policy whose probabilities are no numbers, or no memory left.
    """
    rows: list[dict[str, Any]] = []
    total = len(questions.shared) * len(policies)
    with (
        PartialTable(out, made) as partial,
        torch.random.fork_rng(),
        quiet_transformers(),
        memory_advice(drawing.settings.placement, f"batch (now {drawing.batch}), or take smaller policies"),
    ):
        for number, (name, source) in enumerate(policies.items()):
            opened: Policy | None = None
            contexts = questions.of[name]
            for start in range(0, len(contexts), drawing.batch):
                chosen = contexts[start : start + drawing.batch]
                texts = partial.read(number, start)
                if texts is None:
                    opened = opened or open_policy(source, drawing.settings.window, drawing.settings.placement, name)
                    texts = _answers(opened, chosen, drawing, start)
                    partial.write(number, start, texts)
                rows.extend(_rows(questions.shared[start:], name, texts, drawing.seed))
                progress(len(rows), total, name)
        table = pa.Table.from_pylist(rows, schema=RESPONSES.arrow)
        _write(table, made, drawing, out, partial)
        partial.remove()
    return table


def _answers(policy: Policy, contexts: Sequence[DialogueContext], drawing: Drawing, start: int) -> list[str]:
    # The same numbers for every policy: what differs between two of them is then less a matter of luck.
    torch.manual_seed(int.from_bytes(hashlib.sha256(f"{drawing.seed} {start}".encode()).digest()[:8]) >> 1)
    try:
        rollout = sample_replies(
            policy,
            policy.model,
            contexts,
            max_new_tokens=drawing.settings.max_new_tokens,
            temperature=drawing.temperature,
        )
    except RuntimeError as error:
        if "probability tensor" not in str(error):
            raise
        raise UnitError(
            f"policy {policy.name!r}: its probabilities are no finite numbers, so nothing can be drawn from them "
            f"(session {contexts[0].session_id!r}, turn {contexts[0].turn}). Its weights are damaged, or the training "
            "blew up: align it again with a lower align.lr."
        ) from None
    return list(rollout.texts)


def _rows(contexts: Sequence[DialogueContext], name: str, texts: Sequence[str], seed: int) -> list[dict[str, Any]]:
    return [
        {
            "session_id": context.session_id,
            "turn": context.turn,
            "context": context.history,
            "policy": name,
            "response": text,
            "seed": seed,
        }
        for context, text in zip(contexts, texts, strict=False)
    ]


def _write(table: pa.Table, made: Mapping[str, Any], drawing: Drawing, out: Path, partial: PartialTable) -> None:
    """Key, note and table, the table last: a table that is there is whole, and so is what belongs to it."""
    if drawing.blind:
        table, key = blinded(table, drawing.seed)
        letters = partial.folder / f"key{out.suffix}"
        write_rows(key, letters, KEY)
        place_file(letters, key_path(out))
    scratch = partial.folder / f"table{out.suffix}"
    write_rows(table, scratch, RESPONSES)
    note = json.dumps(
        {**made, "sha256": file_digest(scratch), "table": out.name}, indent=1, sort_keys=True, ensure_ascii=False
    )
    write_atomically(made_path(out), note + "\n")
    place_file(scratch, out)


def _note(out: Path) -> dict[str, Any] | None:
    try:
        note = json.loads(made_path(out).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) else None
