"""The default chain without a policy, in CPU and wall seconds and memory, and what reading turns once costs.

Run: python -m benchmarks.text_chain ../shared/data/uss/SGD.txt.gz [--chats | --trained | --import-only | --readings]

The chain: `mix` beside `sentiment` and `uniform`, reward models, evaluation, report. --chats adds 300 chats of 30 turns
of ESConv's texts (../shared/data/esconv), three texts a reply and two a question, their scores drawn. --trained
is rrd with an encoder that is trained on a history of 3 turns. --readings learns the run's rewards in five folds by
each `train_reward.scoring` and sets the held-out agreement with people beside it. No peer runs this chain.
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
FOLDS = 5


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


def readings(corpus: Path, run: Path) -> None:
    """Tell the held-out agreement of reward models of `mix` with people, one reading beside the other."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy.stats import spearmanr

    from apportion.corpus.corpus import Corpus
    from apportion.corpus.splits.splits import SplitEpisodes
    from apportion.reward_model.learning.distillation import train_reward_model
    from apportion.reward_model.network.embed import embed_session
    from apportion.reward_model.settings import RewardModelSettings

    sessions = list(Corpus.open(corpus).iter_sessions())
    episodes = tuple(e for session in sessions for e in session.episodes(None) if e.target_turns)
    rewards = pq.read_table(run / "rewards.parquet", filters=[("method", "=", "mix")])
    labels: dict[tuple[str, int], list[float]] = {}
    for row in pq.read_table(corpus / "turn_labels.parquet").to_pylist():
        labels.setdefault((row["session_id"], row["turn"]), []).append(row["value"])
    fold = {session.session_id: place % FOLDS for place, session in enumerate(sessions)}
    found: dict[str, dict[str, float]] = {}
    for scoring in ("windowed", "pooled"):
        settings, scores = RewardModelSettings(scoring=scoring), {}
        embeddings = pa.concat_tables([embed_session(one, None, settings).embeddings for one in sessions])
        for held in range(FOLDS):
            homes = {held: "test", (held + 1) % FOLDS: "validation"}
            split = pa.table({"session_id": list(fold), "split": [homes.get(of, "train") for of in fold.values()]})
            with tempfile.TemporaryDirectory() as out:
                given, _ = train_reward_model(
                    rewards, SplitEpisodes(episodes, split), embeddings, settings, 0, 0.0, Path(out), lambda *told: None
                )
            rows = given.select(["session_id", "turn", "reward"]).to_pylist()
            scores |= {(r["session_id"], r["turn"]): r["reward"] for r in rows if fold[r["session_id"]] == held}
        for episode in episodes:
            keys = [(episode.session_id, turn) for turn in episode.target_turns]
            pairs = [(float(np.mean(labels[key])), scores[key]) for key in keys if key in labels]
            if len(pairs) >= 4 and len({given for given, _ in pairs}) > 1:
                rho = float(spearmanr(*zip(*pairs, strict=True))[0])
                found.setdefault(scoring, {})[episode.session_id] = 0.0 if np.isnan(rho) else rho
    gains = np.array([found["pooled"][one] - of for one, of in found["windowed"].items()])
    half = 1.96 * gains.std() / len(gains) ** 0.5
    means = {name: round(float(np.mean(list(of.values()))), 4) for name, of in found.items()}
    low, high = (round(float(gains.mean() + side * half), 4) for side in (-1, 1))
    tell("agreement, pooled less windowed", float(gains.mean()), "Spearman", low=low, high=high, **means)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--chats", action="store_true", help="also 300 chats of 30 turns")
    parser.add_argument("--trained", action="store_true", help="rrd, and train the encoder too")
    parser.add_argument("--import-only", action="store_true", help="stop after the import")
    parser.add_argument("--readings", action="store_true", help="also compare how the reward model reads turns")
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
            if arguments.readings:
                readings(corpus, run)
