"""Judging models for tests: what they are asked, read back, and what they answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apportion.corpus.corpus import Corpus
from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.simulation import SimulationChoice
from tests.llm_client.openai_server import Body, completion

SCORES = {"BEL": 8, "REL": 1, "KNO": 3, "SEC": 0, "SOC": -1, "FIN": 2, "GOAL": 7}


def played(folder: Path, scenarios: tuple[str, ...] = ("used_bicycle",), pairs: int = 2) -> Corpus:
    """A small corpus of scripted episodes."""
    write_corpus(SimulationChoice(("conceding", "random"), scenarios, pairs=pairs), folder)
    return Corpus.open(folder)


def damaged(folder: Path) -> list[str]:
    """Ids of such a corpus: nobody has a goal in the first session, and the second has an utterance without text."""
    corpus = played(folder)
    first, second = corpus.session_ids()[:2]
    tables = {name: table.to_pylist() for name, table in corpus.tables.items() if table.num_rows}
    goals = [row for row in tables["backgrounds"] if (row["session_id"], row["kind"]) != (first, "goal")]
    next(row for row in tables["utterances"] if row["session_id"] == second)["text"] = None
    for name, rows in {**tables, "backgrounds": goals}.items():
        (folder / f"{name}.parquet").unlink()
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return corpus.session_ids()


def scored(scores: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a judge says of one person."""
    return {name: {"reasoning": f"{name}: as it was.", "score": score} for name, score in (scores or SCORES).items()}


def asked_about(body: Body) -> list[str]:
    """The labels that a judge is asked about."""
    return [label.strip() for label in body["messages"][1]["content"].rpartition("Evaluate: ")[2].split(",")]


def judge(change: Callable[[dict[str, Any]], object] = lambda document: None) -> Callable[[Body], Body]:
    """A judge that gives everybody `SCORES`; ``change`` spoils its answer."""

    def answer(body: Body) -> Body:
        document = {label: scored() for label in asked_about(body)}
        change(document)
        return completion(json.dumps(document))

    return answer


OVERALL = sum(SCORES.values()) / 7
assert set(SCORES) == set(RANGES)
