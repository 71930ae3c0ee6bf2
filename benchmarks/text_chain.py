"""The default chain without a policy, in CPU and wall seconds and memory.

Run: python -m benchmarks.text_chain ../shared/data/uss/SGD.txt.gz [--chats | --trained | --import-only]

The chain: `mix` beside `sentiment` and `uniform`, reward models, evaluation, report. --chats adds 300 chats of 30 turns
of ESConv's texts (../shared/data/esconv), three texts a reply and two a question, their scores drawn. --trained
is rrd with an encoder that is trained on a history of 3 turns. No peer runs this chain.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import tempfile
from pathlib import Path

from benchmarks.measure import tell, timed

DEFAULT = '[decompose]\nmethod = "mix"\ncompare = ["sentiment", "uniform"]\n[align]\nenabled = false\n'
TRAINED = (
    '[decompose]\nmethod = "rrd"\n[train_reward]\nepochs = 3\nhistory_turns = 3\nfreeze_backbone = false\n'
    "[align]\nenabled = false\n"
)


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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--chats", action="store_true", help="also 300 chats of 30 turns")
    parser.add_argument("--trained", action="store_true", help="rrd, and train the encoder too")
    parser.add_argument("--import-only", action="store_true", help="stop after the import")
    arguments = parser.parse_args()
    chain = TRAINED if arguments.trained else DEFAULT
    with tempfile.TemporaryDirectory() as folder:
        sources = [arguments.source]
        if arguments.chats:
            sources.append(Path(folder) / "chats.txt.gz")
            write_chats(arguments.source.parents[1] / "esconv", sources[1])
        for place, source in enumerate(sources):
            corpus, run, config = (Path(folder) / f"{name}{place}" for name in ("corpus", "run", "config"))
            seconds, _ = timed(["import", "uss", str(source), str(corpus)])
            tell("import uss", seconds, "s", source=source.name)
            if arguments.import_only:
                continue
            config.write_text(f'corpus = "{corpus}"\noutput = "{run}"\n{chain}')
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds, peak = timed(["run", str(config)])
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            name = "text chain, encoder trained" if arguments.trained else f"default chain, {source.name}"
            tell(name, seconds, "s", cpu_s=round(cpu), peak_mib=round(peak))
