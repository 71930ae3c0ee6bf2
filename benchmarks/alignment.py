"""Is an aligned policy better by rewards that it did not learn from, and better than best-of-n from the start?

    python -m benchmarks.alignment ../shared/data/uss/SGD.txt.gz --work FOLDER [--seeds 0 1] [--algorithms ppo raft ...]
        [--corpus esconv] [--policy smollm2] [--set KEY=VALUE ...]
    python -m benchmarks.alignment  # what a judge said of some replies, recorded

Real dialogues with session scores -> turn rewards by `mix` -> the proxy -> a policy by each algorithm, all by the
command line; gold A ends each training and chooses its step. Then replies to contexts of test sessions,
which no choice has seen: of the policy at the start (`base`), its best of 4 and of 16 by the proxy, and of every
algorithm; by the proxy, gold A and gold B (in standard deviations of base's replies, paired, sessions drawn again),
likeness to what was said there (cosine of MiniLM's embeddings), distinct-2 and words. --set is for [align]. Finished
work in FOLDER is used again, so the same command goes on behind a stop; FOLDER/responses-seed*.parquet holds the
replies. No peer runs this.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import sessions_in
from apportion.decompose.corpus_methods.gold import REACTIONS, GoldLesson, gold_reader, train_gold
from apportion.decompose.corpus_methods.trained_network import TrainingConfig
from apportion.evaluation.confidence_intervals.bootstrap import estimate, ratio, resample
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.pipeline.config import load_config
from apportion.reward_model.history_windows import reply_text
from apportion.reward_model.model import RewardModel
from apportion.reward_model.network.backbones import frozen_backbone
from apportion.reward_model.network.texts import embed_texts
from benchmarks.measure import tell, timed
from benchmarks.sources import KINDS

CONFIG = """
corpus = "corpus"
output = "seed{seed}"
seeds = [{seed}]
rating = "{rating}"
[run]
threads = 1
workers = 1
[decompose]
method = "mix"
compare = ["uniform"]
[align]
anyway = true
algorithm = "{algorithm}"
policy = "{policy}"
{settings}
"""
JUDGED = Path(__file__).parent / "judged"
CONTEXTS = 100
Replies = Mapping[tuple[str, int], str]


def align(work: Path, seed: int, algorithm: str, given: argparse.Namespace) -> Path:
    """Train a policy; its folder, kept from the next training in the same run folder."""
    kept = work / "policies" / f"{algorithm}{given.called}-seed{seed}"
    config, settings = work / f"seed{seed}.toml", "\n".join(given.set)
    text = CONFIG.format(seed=seed, rating=given.rating, algorithm=algorithm, policy=given.policy, settings=settings)
    if kept.exists() and (kept / "config.toml").read_text(encoding="utf-8") != text:
        raise SystemExit(f"{kept}: trained by other settings. Call these otherwise (--called), or take it away.")
    if not kept.exists():
        config.write_text(text, encoding="utf-8")
        seconds, _ = timed(["run", "--only", "align", str(config)])
        scratch = kept.with_name(f"tmp.{kept.name}")
        shutil.copytree(work / f"seed{seed}" / "policy", scratch, dirs_exist_ok=True)
        shutil.copy(config, scratch / "config.toml")
        scratch.rename(kept)
        tell(f"alignment: {kept.name}, training", seconds / 60, "min", verdict=_verdict(kept))
    return kept


def _verdict(policy: Path) -> str | None:
    gold = policy / "gold.json"
    return json.loads(gold.read_text(encoding="utf-8"))["verdict"] if gold.is_file() else None


def answers(
    work: Path, seed: int, policies: Mapping[str, str], best_of: Sequence[int], dtype: str
) -> dict[str, Replies]:
    """What each policy says in the contexts of test sessions, by session and turn."""
    out = work / f"responses-seed{seed}-{'-'.join(policies)}.parquet"
    first, *others = [f"{name}={folder}" for name, folder in policies.items()]
    asked = ["policy", "generate", first, str(work / "corpus"), *(f"--policy={other}" for other in others)]
    asked += [f"--out={out}", f"--contexts={CONTEXTS}", f"--dtype={dtype}"]
    asked += [f"--splits={work / f'seed{seed}' / 'splits.parquet'}"]
    if best_of:
        asked += ["--reward-model", str(proxy(work, seed)), *(f"--best-of={n}" for n in best_of)]
    timed([*asked, *(["--force"] if out.exists() and not _same(out, policies) else [])])
    found: dict[str, dict[tuple[str, int], str]] = {}
    for row in pq.read_table(out).to_pylist():
        found.setdefault(row["policy"], {})[row["session_id"], row["turn"]] = row["response"]
    return dict(found)


def proxy(work: Path, seed: int) -> Path:
    """The reward model that every policy of a seed learns from."""
    return work / f"seed{seed}" / "reward_models" / f"mix-seed{seed}"


def golds(work: Path, rating: str, seed: int) -> tuple[Path, Path]:
    """Gold A and B, which the run has made: by other sessions, another method and another encoder."""
    config = load_config(work / f"seed{seed}.toml")
    mine = sessions_in(pq.read_table(work / f"seed{seed}" / "splits.parquet"), "policy")
    sessions = [one for one in Corpus.open(work / "corpus").iter_sessions() if one.session_id in mine]
    training = TrainingConfig(config.decompose, gold_reader(config.train_reward), seed)
    lesson = GoldLesson(sessions, rating, REACTIONS, training)
    return train_gold(lesson, work / f"seed{seed}" / "store" / "checkpoints" / "align" / f"gold-{lesson.key}")


def scored(model: RewardModel, episodes: Mapping[str, Episode], replies: Replies, swapped: bool = False) -> Floats:
    """What the replies are paid [shape=(C,)], in the order of their contexts; ``swapped``: in half a round's next."""
    pairs, places, at = [], [], sorted(replies)
    said = [replies[place] for place in at]
    for (session, turn), reply in zip(at, np.roll(said, len(said) // 2) if swapped else said, strict=True):
        episode = episodes[session]
        places.append(episode.target_turns.index(turn))
        pairs.append((model.window(episode, episode.target_positions[places[-1]])[0], reply_text(reply)))
    return model.score_windows(pairs, places).advantage


def compare(work: Path, rating: str, seed: int, said: Mapping[str, Replies], start: str) -> None:
    """A line a policy: its gains over ``start``, and what its replies are like."""
    sessions = Corpus.open(work / "corpus").iter_sessions()
    episodes = {one.session_id: one.episodes(rating)[0] for one in sessions if one.episodes(rating)}
    models = dict(zip(("proxy", "gold A", "gold B"), (proxy(work, seed), *golds(work, rating, seed)), strict=True))
    values = {
        name: {
            policy: scored(RewardModel.from_pretrained(folder), episodes, replies) for policy, replies in said.items()
        }
        for name, folder in models.items()
    }
    read = RewardModel.from_pretrained(models["proxy"])
    elsewhere = {
        policy: np.roll(scored(read, episodes, replies, swapped=True), -(len(replies) // 2))
        for policy, replies in said.items()
    }
    places = sorted(said[start])
    recorded = [dict(zip(episodes[s].target_turns, episodes[s].target_positions, strict=True))[t] for s, t in places]
    told = [episodes[s].turns[at].text for (s, _), at in zip(places, recorded, strict=True)]
    for policy, replies in said.items():
        texts = [replies[place] for place in places]
        words = [text.lower().split() for text in texts]
        pairs = [pair for of in words for pair in pairwise(of)]
        gains = {
            name: _gain([session for session, _ in places], of[policy] - of[start], of[start])
            for name, of in values.items()
        }
        tell(
            f"alignment, seed {seed}: {policy}", float(np.mean([len(of) for of in words])), "words a reply", **gains,
            of_100_paid_more_than_elsewhere=round(100 * float((values["proxy"][policy] > elsewhere[policy]).mean())),
            likeness=round(_likeness(texts, told), 4), distinct_2=round(len(set(pairs)) / max(1, len(pairs)), 3),
            different=len(set(texts)), contexts=len(texts),
        )  # fmt: skip


def judged() -> None:
    """How often a judge preferred each policy's reply to the start's, in both orders; recorded, sessions drawn again.

    It has won where at least one order says so and the other does not say the opposite; a tie is half a win.
    """
    for file in sorted(JUDGED.glob("alignment*.jsonl")):
        about, *rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
        for policy in rows[0]["verdicts"]:
            votes = [sum({"won": 1, "lost": -1}.get(said, 0) for said in row["verdicts"][policy]) for row in rows]
            won = np.array([0.5 + 0.5 * np.sign(vote) for vote in votes])
            rate, *interval = _mean([row["session_id"] for row in rows], won)
            counts = [int((won == outcome).sum()) for outcome in (1.0, 0.5, 0.0)]
            tell(f"{file.stem}: {policy}, recorded judge", rate or 0.0, "of replies", interval=interval,
                 won_tied_lost=counts, judge=about["judge"], date=about["date"])  # fmt: skip


def _gain(sessions: Sequence[str], more: Floats, start: Floats) -> list[float | None]:
    return _mean(sessions, more / start.std())


def _mean(sessions: Sequence[str], values: Floats) -> list[float | None]:
    """A mean over contexts and its interval, sessions drawn again."""
    sums: dict[str, list[float]] = {}
    for session, value in zip(sessions, values, strict=True):
        of_session = sums.setdefault(session, [0.0, 0.0])
        of_session[0] += float(value)
        of_session[1] += 1.0
    found = estimate(resample(np.array([list(sums.values())]), ratio, EvaluationSettings()), 0.95)
    return [None if value is None else round(value, 3) for value in (found.value, found.low, found.high)]


def _likeness(texts: Sequence[str], told: Sequence[str]) -> float:
    """Mean cosine of what was said and what people said there."""
    ours, theirs = (embed_texts(frozen_backbone("minilm", 128, "pooled"), of) for of in (texts, told))
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return float(np.mean((ours * theirs).sum(axis=1) / np.maximum(lengths, 1e-12)))


def _same(out: Path, policies: Mapping[str, str]) -> bool:
    return set(policies) <= {name.split(" best of ")[0] for name in pq.read_table(out)["policy"].to_pylist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, nargs="?", help="none prints what the judge said, recorded, alone")
    parser.add_argument("--corpus", choices=tuple(KINDS), default="uss", help="what the source is")
    parser.add_argument("--work", type=Path, help="a folder for corpus, runs and responses")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--algorithms", nargs="+", default=["ppo", "raft", "dpo", "grpo"])
    parser.add_argument("--policy", default="smollm2")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="lines of [align]")
    parser.add_argument(
        "--best-of", type=int, nargs="+", default=[1, 4, 16], metavar="N", help="of the start's; 1 is it"
    )
    parser.add_argument("--called", default="", help="what these settings are called")
    given = parser.parse_args()
    if given.source is None:
        judged()
        return
    if given.work is None:
        parser.error("--work is needed beside a source")
    torch.set_num_threads(1)
    given.rating = KINDS[given.corpus][1]
    given.work.mkdir(parents=True, exist_ok=True)
    if not (given.work / "corpus").exists():
        timed(["import", given.corpus, str(given.source), str(given.work / "corpus")])
    for seed in given.seeds:
        trained = {f"{name}{given.called}": str(align(given.work, seed, name, given)) for name in given.algorithms}
        base = "smollm2" if given.policy == "smollm2" else str(next(iter(trained.values()))) + "/base"
        dtype = next((line.split('"')[1] for line in given.set if line.startswith("dtype")), "auto")
        said = answers(given.work, seed, {"base": base}, given.best_of, dtype)
        compare(given.work, given.rating, seed, said | answers(given.work, seed, trained, (), dtype), "base")


if __name__ == "__main__":
    main()
