"""A run's conversations as other people's trainers read them: JSON lines of prompts and rewards of turns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from apportion.foundation.errors import InputError
from apportion.pipeline.results.dataset import NOT_SPLIT, DatasetReport, read_splits, reward_rows
from apportion.pipeline.results.run_folder import RunFolder, write_once

Row = dict[str, Any]
KEY = ("session_id", "rater", "target", "rating")


def _plain(row: Row) -> Row:
    return row


def _verl(row: Row) -> Row:
    nothing = {"style": "model", "ground_truth": ""}
    return {"data_source": "apportion", "prompt": row["prompt"], "reward_model": nothing, "extra_info": row}


def _openrlhf(row: Row) -> Row:
    return {"input": row["prompt"], "label": json.dumps(row, ensure_ascii=False)}


def _skyrl(row: Row) -> Row:
    nothing = {"method": "model", "ground_truth": ""}
    return {"prompt": row["prompt"], "env_class": "apportion", "reward_spec": nothing, "extra_info": row}


TARGETS: Mapping[str, Callable[[Row], Row]] = {
    "verl": _verl,
    "openrlhf": _openrlhf,
    "skyrl": _skyrl,
    "atropos": _plain,
    "prime-rl": _plain,
    "nemo-rl": _plain,
    "rllm": _plain,
}
"""By trainer, a row in its columns: those that its adapter in `apportion.rlhf.adapters` reads."""


def export_rows(
    run: RunFolder, target: str, out: Path, methods: Sequence[str], session_ids: Sequence[str], force: bool
) -> DatasetReport:
    """Write ``out/SPLIT.jsonl``: a row a credited turn, from which a policy goes on.

    In the columns of ``target`` it holds ``prompt`` (messages before the turn, after a system message of what the
    credited speaker knew), ``answers`` and ``turn_rewards`` (what that speaker said from the turn on, and what each
    turn is paid, the mean over seeds) and ``replies`` (what the others said after each). Messages that follow one
    another on the same side are one; the turn that opens a conversation begins no row.

    Raises InputError: as `apportion.pipeline.results.dataset.reward_rows`; rewards of several methods.
    """
    rows = reward_rows(run, methods, set(session_ids))
    if len(found := sorted({row["method"] for row in rows})) > 1:
        raise InputError(f"{run.folder} has rewards of {', '.join(found)}. Choose one with --method.")
    splits = read_splits(run)
    by_split: dict[str, list[Row]] = {}
    for _, same in groupby(sorted(rows, key=_key), _key):
        of_seeds = list(same)
        split = by_split.setdefault(splits.get(of_seeds[0]["session_id"], NOT_SPLIT), [])
        split += [TARGETS[target](row) for row in turn_rows(of_seeds)]
    counts = {name: len(of) for name, of in sorted(by_split.items())}
    report = DatasetReport(out, counts, kind=target, following=f"docs/guides/trainers.md says how {target} reads it")
    for name in report.rows:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in by_split[name])
        write_once(out / f"{name}.jsonl", "".join(lines).encode(), force, report)
    return report


def _key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEY)


def turn_rows(of_seeds: Sequence[Row]) -> Iterator[Row]:
    """A row a credited turn of one conversation, but for its opening; ``of_seeds`` are its rewards by each seed."""
    first = of_seeds[0]
    paid = [_mean(of) for of in zip(*(row["rewards"] for row in of_seeds), strict=True)]
    known = [{"role": "system", "content": "\n".join(of["text"] for of in first["backgrounds"])}]
    messages, rewards = _merged(first["messages"], paid)
    turns = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    for number, at in enumerate(turns):
        if rewards[at] is not None and at > 0:  # Without a message there is no prompt.
            after = turns[number:]
            yield {
                **{name: first[name] for name in KEY},
                "turn": number,
                "prompt": [*(known if first["backgrounds"] else []), *messages[:at]],
                "answers": [messages[place]["content"] for place in after],
                "replies": [messages[place + 1]["content"] for place in after if place + 1 < len(messages)],
                "turn_rewards": [rewards[place] for place in after],
            }


def _merged(messages: Sequence[Row], paid: Sequence[float | None]) -> tuple[list[Row], list[float | None]]:
    """Messages of alternating sides, as chat templates ask for; of joined turns the rewards are summed."""
    found, rewards = list[Row](), list[float | None]()
    for message, reward in zip(messages, paid, strict=True):
        if found and found[-1]["role"] == message["role"]:
            found[-1] = {**message, "content": f"{found[-1]['content']}\n{message['content']}"}
            rewards[-1] = reward if rewards[-1] is None else rewards[-1] + (reward or 0.0)
        else:
            found.append(message)
            rewards.append(reward)
    return found, rewards


def _mean(of_seeds: Sequence[float | None]) -> float | None:
    given = [reward for reward in of_seeds if reward is not None]
    return fmean(given) if given else None
