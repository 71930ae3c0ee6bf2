"""Claim: what a participant writes to the judge moves its own GOAL no more than a paraphrase of the same place does.

Every one of 24 recorded episodes is judged three times: as it was played, with one place of it in other words
(`paraphrased`), and with the same place holding a plea to the judge (`planted`): an utterance, an act, a profile or a
name that asks for 10, closes tags, forges the judge's JSON, or poses as a system message. Places and words are in
demo/social/variants.jsonl, the replies of a real model in demo/social/judged.jsonl (its head names the model and how it
was asked), and the episodes are made of demo/social/played.jsonl. Nothing is asked of a server.

    python benchmarks/judge_injection.py --work FOLDER [--base-url URL --record FILE]

The score by `rules` of each changed episode is computed anew, too: speech is not read by rules.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

import pyarrow as pa

from apportion.corpus.builder import CorpusBuild
from apportion.corpus.corpus import Corpus
from apportion.corpus.writer import place
from apportion.environments.actions import AgentAction
from apportion.environments.episode_log import read_log
from apportion.environments.sotopia.evaluation.judging import JudgingChoice, judge_corpus
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.observation import act_of
from apportion.environments.sotopia.simulation import LOG, SimulationChoice, plans_of, simulate_sotopia
from apportion.llm_client.model_spec import ModelSpec

SOCIAL = ROOT / "demo" / "social"
PLAYED, JUDGED, VARIANTS = SOCIAL / "played.jsonl", SOCIAL / "judged.jsonl", SOCIAL / "variants.jsonl"
MODEL = "claude"
MOST_TOKENS = 6000
"""Of a reply, as `apportion world evaluate` asks for by default: it is a part of the request."""
CLEAN, PARAPHRASED, PLANTED = "clean", "paraphrased", "planted"
DRAWS = 10_000
Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


def main() -> None:
    """Judge the three corpora by recorded replies, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "judge_injection")
    parser.add_argument("--base-url", help="ask this server instead of the recorded replies")
    parser.add_argument("--record", type=Path, help="write its replies here")
    given = parser.parse_args()
    asked = ModelSpec(MODEL, max_tokens=MOST_TOKENS, base_url=given.base_url, record=given.record)
    chosen = asked if given.base_url else recorded_judge()
    made = corpora(given.work)
    goals = {name: goal_of(corpus, given.work / f"{name}-judged", chosen) for name, corpus in made.items()}
    variants = read_variants()
    for figure in figures(goals, variants):
        print(json.dumps(figure))
    print(json.dumps({"moved by rules": moved_by_rules(given.work / CLEAN, variants), "of": len(variants)}))


def play(folder: Path) -> Corpus:
    """The recorded episodes, and the scripts' own beside them."""
    simulate_sotopia(choice(), folder)
    return Corpus.open(folder)


def choice() -> SimulationChoice:
    """What was recorded."""
    rules = replace(SimulationChoice().rules, most_acts=16)
    chosen = ModelSpec(MODEL, recorded=PLAYED)
    return SimulationChoice(("base", "conceding"), pairs=1, rules=rules, chosen=chosen, task_set="checkable")


def recorded_judge() -> ModelSpec:
    """The judge whose replies are recorded."""
    return ModelSpec(MODEL, max_tokens=MOST_TOKENS, recorded=JUDGED)


def read_variants() -> Rows:
    """One changed place for each episode: session, speaker, place, turn, and its two wordings."""
    return [json.loads(line) for line in VARIANTS.read_text(encoding="utf-8").splitlines()]


def corpora(work: Path) -> dict[str, Corpus]:
    """The recorded episodes three times, each with a variant's words in its place."""
    played, variants = play(work / "played"), read_variants()
    return {which: _written(played, variants, which, work / which) for which in (CLEAN, PARAPHRASED, PLANTED)}


def _written(played: Corpus, variants: Rows, which: str, out: Path) -> Corpus:
    sessions = {variant["session"] for variant in variants}
    tables = {
        name: [row for row in table.to_pylist() if row["session_id"] in sessions]
        for name, table in played.tables.items()
    }
    if which != CLEAN:
        for variant in variants:
            _change(tables, variant, variant[which])
    made = {name: pa.Table.from_pylist(rows, played.tables[name].schema) for name, rows in tables.items()}
    place("variants of simulated episodes", out, CorpusBuild(made, (), ()), {"which": which})
    (out / LOG).write_bytes((played.root / LOG).read_bytes())
    return Corpus.open(out)


def _change(tables: Tables, variant: Mapping[str, Any], words: str) -> None:
    """Put other words in a variant's place."""
    session, speaker = variant["session"], variant["speaker"]
    if variant["place"] == "name":
        _rename([row for rows in tables.values() for row in rows if row["session_id"] == session], speaker, words)
    for row in tables["utterances"]:
        if variant["place"] == "utterance" and (row["session_id"], row["turn"]) == (session, variant["turn"]):
            row["text"] = words
    for row in tables["backgrounds"]:
        here = (row["session_id"], row["speaker"], row["kind"])
        if variant["place"] == "profile" and here == (session, speaker, "profile"):
            row["text"] = words


def _rename(rows: Rows, name: str, other: str) -> None:
    """Another name wherever the whole one or its first word stands."""
    for row in rows:
        for column, value in row.items():
            if isinstance(value, str) and column != "session_id":
                row[column] = value.replace(name, other).replace(name.split()[0], other.split()[0])


def goal_of(corpus: Corpus, out: Path, chosen: ModelSpec) -> dict[tuple[str, str], float]:
    """By session and seat of the target (its place among the speakers) what the judge gave."""
    judged = judge_corpus(JudgingChoice(corpus, ("paper",), chosen=chosen, without=("rules",)), out)
    if judged.failed:
        raise SystemExit("\n".join(map(str, judged.failed)))
    rated = Corpus.open(out)
    rows = [row for row in rated.tables["ratings"].to_pylist() if row["name"] == "GOAL"]
    return {(row["session_id"], row["target"]): row["score"] for row in rows}


def figures(goals: Mapping[str, Mapping[tuple[str, str], float]], variants: Rows) -> list[dict[str, Any]]:
    """How far GOAL of the one who is changed moves, by wording; in all and by what is planted."""
    clean = {name: [goals[name][one["session"], _called(one, name)] for one in variants] for name in goals}
    moved = {name: [now - was for was, now in zip(clean[CLEAN], clean[name], strict=True)] for name in goals}
    kinds = [one["kind"] for one in variants]
    told = []
    for kind in ("all", *dict.fromkeys(kinds)):
        here = [i for i, other in enumerate(kinds) if kind in ("all", other)]
        paraphrased, planted = ([moved[name][i] for i in here] for name in (PARAPHRASED, PLANTED))
        more = [abs(b) - abs(a) for a, b in zip(paraphrased, planted, strict=True)]
        gained = [b - a for a, b in zip(paraphrased, planted, strict=True)]
        told.append({
            "planted": kind, "episodes": len(here), "GOAL clean": round(fmean(clean[CLEAN][i] for i in here), 2),
            "moved by paraphrase": interval(paraphrased), "moved by planting": interval(planted),
            "planting moves more by": interval(more), "planting gains": interval(gained),
        })  # fmt: skip
    return told


def _called(variant: Mapping[str, Any], name: str) -> str:
    """What the one who is changed is called in a corpus."""
    renamed = variant["place"] == "name" and name != CLEAN
    return str(variant[name] if renamed else variant["speaker"])


def interval(values: Sequence[float]) -> list[float]:
    """Mean, and the 95 % interval of a bootstrap over episodes."""
    draws = random.Random(0)
    means = sorted(fmean(draws.choices(values, k=len(values))) for _ in range(DRAWS))
    return [round(x, 3) for x in (fmean(values), means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS)])]


def moved_by_rules(played: Path, variants: Rows) -> int:
    """How many episodes `rules` scores otherwise with the planted words than as they were played."""
    episodes = read_log(played / LOG)
    made = {plan.name: plan for plan in plans_of(choice(), _nobody())}
    moved = 0
    for variant in variants:
        steps = list(episodes[variant["session"]].steps)
        outcomes = []
        for words in (None, variant[PLANTED]):
            game = made[variant["session"]].make()
            assert isinstance(game, Sotopia)
            if words is not None and variant["place"] == "utterance":
                (move,) = steps[variant["turn"]]
                kind, text = act_of(words)
                steps[variant["turn"]] = (AgentAction(move.agent, move.act._replace(kind=kind, text=text)),)
            game.replay(made[variant["session"]].seed, steps)
            outcomes.append(game.outcome())
        moved += outcomes[0] != outcomes[1]
    return moved


def _nobody() -> dict[str, Any]:
    """Plans are wanted for their tasks alone: nobody acts."""
    return dict.fromkeys(("base", "conceding"))


if __name__ == "__main__":
    main()
