"""Whole runs over text: seconds by stage, memory of all processes, and what doubling costs.

Run: python -m benchmarks.scale [SESSIONS ...] [--turns 160] [--work FOLDER] [--untrained]
     python -m benchmarks.scale ../shared/data/uss/SGD.txt.gz [--chats | --trained | --import-only]

Numbers make SYNTHETIC sessions: chats of the demo's templates joined to --turns turns, the score their mean. From
`import` to the report with `mix` beside `llm`, whose replies a local stub gives by a rule (it stands for a recording,
and nothing is paid); then the same command again, `status`, and the runner's own milliseconds a session and stage (of
five stages that write one small table: key, look-up, commit to the disk, record). Memory is the highest RSS of a
process and of the command's processes together.

--untrained is `mix` without a reward model, as far as the rewards and the report, read by an encoder of one layer and
random weights as wide as MiniLM (to embed costs what the model costs), from a data set of Parquet; what more sessions
take is drawn through the last two sizes.

A file is run by the default chain without a policy, `mix` beside `sentiment` and `uniform`. --chats adds 300 chats of
30 turns of ESConv's texts (../shared/data/esconv), three texts a reply and two a question, their scores drawn.
--trained is rrd with an encoder that is trained on a history of 3 turns. No peer runs this chain.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import resource
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import tell, timed
from tests.llm_client.openai_server import OpenAIServer, completion, serving

DEFAULT = '[decompose]\nmethod = "mix"\ncompare = ["sentiment", "uniform"]\n[align]\nenabled = false\n'
TRAINED = (
    '[decompose]\nmethod = "rrd"\n[train_reward]\nepochs = 3\nhistory_turns = 3\nfreeze_backbone = false\n'
    "[align]\nenabled = false\n"
)
JUDGED = (
    '[run]\nworkers = 2\n[decompose]\nmethod = "mix"\ncompare = ["llm"]\n[decompose.llm]\nmodel = "stub"\n'
    'base_url = "{url}"\n[align]\nenabled = false\n'
)
UNTRAINED = (
    '[run]\nworkers = 2\nlast_stage = "rewards"\n[decompose]\nmethod = "mix"\n[decompose.reaction]\n'
    'backbone = "{0}"\n[train_reward]\nbackbone = "{0}"\n[align]\nenabled = false\n'
)
RATED = ("-o", "low=1", "-o", "high=5")
STAGES, FAR = 5, 100_000
"""The stages that do nothing, by which the runner's own cost is told; and the sessions that are drawn to."""


def write_chats(esconv: Path, out: Path, chats: int = 300, exchanges: int = 15) -> None:
    """Chats in USS's format: a question of two texts, an answer of three, a label drawn for each."""
    said: dict[str, list[str]] = {"usr": [], "sys": []}
    with gzip.open(esconv / "esconv_hf_train.jsonl.gz", "rt") as lines:
        for turn in (turn for line in lines for turn in json.loads(line)["dialog"]):
            said[turn["speaker"]].append(" ".join(turn["text"].split()))
    rng = random.Random(0)
    with gzip.open(out, "wt") as file:
        for _ in range(chats):
            labels = [rng.randint(1, 5) for _ in range(exchanges)]
            for label in labels:
                file.write(f"USER\t{' '.join(rng.sample(said['usr'], 2))}\tINFORM\t{label}\n")
                file.write(f"SYSTEM\t{' '.join(rng.sample(said['sys'], 3))}\tINFORM\t\n")
            file.write(f"USER\tOVERALL\t\t{round(sum(labels[-5:]) / 5)}\n\n")


def synthetic(work: Path, sessions: int, turns: int) -> tuple[Path, dict[str, Any]]:
    """``chats.jsonl``, of ``turns`` turns each, joined from the demo's templates, the same for the same numbers; where
    the configuration belongs, and what a result tells of it."""
    from apportion.demo.builders.dialogues import make_chats

    work.mkdir(parents=True)
    with (work / "chats.jsonl").open("w", encoding="utf-8") as file:
        for number in range(sessions):
            # A chat has 11 turns or more, the last one the user's, as the next one's first is.
            chats = [chat.session for chat in make_chats(turns // 10 + 1, seed=number)]
            texts = [turn.text for chat in chats for turn in chat.turns[:-1]][:turns]
            told = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
            score = sum(chat.ratings[0].score for chat in chats) / len(chats)
            file.write(json.dumps({"id": f"s{number:05d}", "messages": told, "score": round(score, 3)}) + "\n")
    return work / "config.toml", {"sessions": sessions, "turns": turns, "load": round(os.getloadavg()[0], 1)}


def in_rows(chats: Path) -> Path:
    """The same as a data set of Parquet, a row a turn, which is read in parts where it has 100,000 rows."""
    kinds = {"id": pa.string(), "turn": pa.int64(), "role": pa.string(), "content": pa.string(), "score": pa.float64()}
    found, schema = chats.with_suffix(".parquet"), pa.schema(list(kinds.items()))
    with chats.open(encoding="utf-8") as lines, pq.ParquetWriter(found, schema) as writer:
        told = map(json.loads, lines)
        while some := list(islice(told, 1000)):
            own = [({**one, "turn": at}, chat) for chat in some for at, one in enumerate(chat["messages"])]
            rows = [{**turn, "id": chat["id"], "score": chat["score"]} for turn, chat in own]
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return found


def judged(body: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each asked turn, by the length of the reply to it."""
    text = body["messages"][-1]["content"]
    asked = json.loads(text.rsplit("Turns to judge:", 1)[1])
    said = {t["turn"]: t["text"] for t in json.loads(text.split("<transcript>")[1].split("</transcript>")[0])}
    values = [{"turn": t, "value": len(said.get(t + 1, "")) % 101 / 10 - 5, "evidence": "stub"} for t in asked]
    return completion(json.dumps({"turns": values}))


@contextmanager
def memory() -> Iterator[dict[str, float]]:
    """The highest RSS in MiB of this process's children, each by itself and all together, until the block ends."""
    peaks, ended = {"process_mib": 0.0, "together_mib": 0.0}, threading.Event()

    def look() -> None:
        while not ended.wait(0.5):
            sizes = [0.0]
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    sizes.append(process.memory_info().rss / 2**20)
            for name, size in (("process_mib", max(sizes)), ("together_mib", sum(sizes))):
                peaks[name] = max(peaks[name], round(size))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()


def runner_ms(config: Path) -> tuple[float, float]:
    """Milliseconds, and those of the processor alone, that the runner takes for a session and stage beside its work."""
    from apportion.pipeline.assembly import open_engine
    from apportion.pipeline.config import load_config
    from apportion.pipeline.engine.plan import Plan
    from apportion.pipeline.engine.stage import Outputs, Stage, Stages

    table = {"turns": pa.table({"turn": range(160), "value": [0.5] * 160})}
    names = [f"nothing{number}" for number in range(STAGES)]
    stages = [
        Stage(name, lambda *given: Outputs(table), tuple(names[max(0, i - 1) : i]), "session")
        for i, name in enumerate(names)
    ]
    opened = open_engine(load_config(config))
    with tempfile.TemporaryDirectory(dir=config.parent) as folder:
        own = opened.config.model_copy(update={"output": Path(folder)})
        engine = replace(opened, config=own, plan=Plan(Stages.of(*stages), own, opened.sessions))
        engine.begin(names)
        begun, cpu, units = time.perf_counter(), time.process_time(), 0
        for stage in stages:
            for unit in engine.plan.units[stage.name]:
                outcome = engine.run(stage, unit, lambda *told: None)
                assert outcome.status == "done", outcome
                units += 1
        return (time.perf_counter() - begun) / units * 1e3, (time.process_time() - cpu) / units * 1e3


def carried_out(config: Path, kind: str, source: Path, chain: str, *options: str) -> dict[str, Any]:
    """Import ``source`` and run ``chain`` on it: seconds, and of both together those of the processor and memory."""
    corpus, run = config.with_name("corpus"), config.with_name("run")
    config.write_text(f'corpus = "{corpus}"\noutput = "{run}"\n{chain}')
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with memory() as peaks:
        import_s, _ = timed(["import", kind, str(source), str(corpus), *options])
        run_s, peak_mib = timed(["run", str(config)])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"import_s": import_s, "run_s": run_s, "cpu_s": round(cpu_s), "peak_mib": round(peak_mib), **peaks}


def measure(work: Path, sessions: int, turns: int) -> float:
    """Everything about so many sessions; the seconds of the processor that the run took."""
    from apportion.pipeline.execution.status import run_status

    config, told = synthetic(work, sessions, turns)
    with serving(OpenAIServer(answer=judged)) as server:
        found = carried_out(config, "chat", work / "chats.jsonl", JUDGED.format(url=server.url), *RATED)
        first = run_status(work / "run", work / "run" / "llm_cache.sqlite").stages
        again, _ = timed(["run", str(config)])
        whole, work_s = found["import_s"] + found["run_s"], {stage.stage: round(stage.seconds, 1) for stage in first}
        tell("import to report", whole, "s", **told, **found, requests=server.answered, work_s=work_s)
    tell("the same again", again, "s", **told)
    tell("status", timed(["status", str(config)])[0], "s", **told)
    own_ms, own_cpu_ms = runner_ms(config)
    tell("the runner's own", own_ms, "ms a session and stage", cpu_ms=round(own_cpu_ms, 2), **told)
    return float(found["cpu_s"])


def measure_untrained(work: Path, sizes: list[int], turns: int) -> None:
    """Seconds and memory of every size, and of `FAR` sessions by the last two."""
    from tests.reward_model.tiny import save_tiny

    found: list[dict[str, Any]] = []
    shape = {"hidden_size": 384, "num_hidden_layers": 1, "max_position_embeddings": 160}
    chain = UNTRAINED.format(save_tiny(work / "encoder", **shape))
    for sessions in sizes:
        config, told = synthetic(work / str(sessions), sessions, turns)
        found.append(carried_out(config, "chat", in_rows(config.with_name("chats.jsonl")), chain, *RATED))
        tell("untrained", found[-1]["cpu_s"], "s of the processor", **told, **found[-1])
    for (less, less_took), (more, more_took) in pairwise(list(zip(sizes, found, strict=True))[-2:]):
        share = (FAR - more) / (more - less)
        far = {name: round(last + share * (last - less_took[name])) for name, last in more_took.items()}
        mib = round((more_took["peak_mib"] - less_took["peak_mib"]) / (more - less) * 1000, 1)
        tell("untrained, drawn on", far["cpu_s"], "s of the processor", sessions=FAR, mib_a_thousand=mib, **far)


def chain(folder: Path, source: Path, arguments: argparse.Namespace) -> None:
    """The default chain over chats in USS's format, or the one whose encoder is trained."""
    folder.mkdir()
    if arguments.import_only:
        seconds, _ = timed(["import", "uss", str(source), str(folder / "corpus")])
        tell("import uss", seconds, "s", source=source.name)
        return
    found = carried_out(folder / "config", "uss", source, TRAINED if arguments.trained else DEFAULT)
    name = "text chain, encoder trained" if arguments.trained else f"default chain, {source.name}"
    tell(name, found["run_s"], "s", cpu_s=found["cpu_s"], peak_mib=found["peak_mib"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="+", help="numbers of sessions, the smallest first, or a file of USS")
    parser.add_argument("--turns", type=int, default=160, help="turns of a synthetic session")
    parser.add_argument("--work", type=Path, help="an empty folder that is kept; default: a temporary one")
    parser.add_argument("--untrained", action="store_true", help="`mix` alone, and no reward model")
    parser.add_argument("--chats", action="store_true", help="also 300 chats of 30 turns")
    parser.add_argument("--trained", action="store_true", help="rrd, and train the encoder too")
    parser.add_argument("--import-only", action="store_true", help="stop after the import")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = chosen.work or Path(temporary)
        if chosen.untrained:
            measure_untrained(work, [int(size) for size in chosen.source], chosen.turns)
        elif chosen.source[0].isdigit():
            took = {size: measure(work / str(size), size, chosen.turns) for size in map(int, chosen.source)}
            for less, more in pairwise(took):
                tell(f"{more} beside {less}", took[more] / took[less], "x the CPU", by=more / less)
        else:
            sources = [Path(chosen.source[0])]
            if chosen.chats:
                sources.append(Path(temporary) / "chats.txt.gz")
                write_chats(sources[0].parents[1] / "esconv", sources[1])
            for place, source in enumerate(sources):
                chain(Path(temporary) / f"chain{place}", source, chosen)
