"""Does PPO raise the reward of a reward model that was learned from real session scores, without running away?

USS SGD (1,000 real dialogues with session scores) -> reaction-aware turn rewards -> reward model (frozen MiniLM) -> a
small LLaMA, warmed up on that text -> PPO, all by the command line. Claim, over three seeds: on the contexts of test
sessions, which neither policy nor reward model has seen, the mean reward rises by at least one standard deviation of
the replies' rewards before, and the divergence stays under 10 nats a response.

    python -m benchmarks.alignment ../shared/data/uss/SGD.txt.gz --work FOLDER [--seeds 0 1 2] [--figure FILE.png]

Finished work in FOLDER is used again, so the same command goes on behind a stop. There is no peer: nothing else runs
this chain.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.measure import tell, timed

CONFIG = """
corpus = "corpus"
output = "run"
seeds = [{seed}]
[run]
threads = 1
workers = 1
[decompose]
method = "reaction"
[align]
steps = {steps}
beta = {kl}
gae_lambda = 1.0
[align.tiny]
warmup_steps = {warmup}
"""
CONTEXTS = 200
LAST = 10
MOST_KL = 10.0
SHOWN = 6


def align(work: Path, seed: int, settings: argparse.Namespace) -> dict[str, list[float]]:
    """Run the chain for one seed; its curves by metric."""
    config = work / f"seed{seed}.toml"
    text = CONFIG.format(seed=seed, steps=settings.steps, kl=settings.kl, warmup=settings.warmup)
    config.write_text(text, encoding="utf-8")
    started = time.perf_counter()
    timed(["run", "--only", "align", str(config)])
    tell(f"alignment, seed {seed}: the chain", (time.perf_counter() - started) / 60, "min, finished work used again")
    found: dict[str, list[float]] = {}
    for row in pq.read_table(work / "run" / "histories.parquet").sort_by("step").to_pylist():
        if row["stage"] == "align":
            found.setdefault(row["metric"], []).append(row["value"])
    return found


def held_out(work: Path, seed: int) -> dict[str, dict[str, float]]:
    """Rewards of replies before and after on test contexts: mean, sd, responses of each policy."""
    policy, out = work / "run" / "policy", work / f"responses{seed}.parquet"
    policies = [f"after={policy}", str(work / "corpus"), "--policy", f"before={policy / 'base'}"]
    drawn = ["--contexts", str(CONTEXTS), "--seed", str(seed), "--force"]
    timed(["policy", "generate", *policies, "--out", str(out), *drawn])
    result = work / f"comparison{seed}.json"
    model = work / "run" / "reward_models" / f"reaction-seed{seed}"
    timed(["policy", "compare", str(out), "--reward-model", str(model), "--out", str(result)])
    found = json.loads(result.read_text(encoding="utf-8"))
    (rate,) = found["win_rates"]
    (won,) = [rate["rate"]["value"] if rate["left"] == "after" else 1 - rate["rate"]["value"]]
    return {**{row["policy"]: row for row in found["rewards"]}, "win": {"rate": won}}


def samples(work: Path, seed: int) -> list[dict[str, str]]:
    """The first few contexts with the replies before and after."""
    rows = pq.read_table(work / f"responses{seed}.parquet").to_pylist()
    said: dict[tuple[str, int], dict[str, str]] = {}
    for row in rows:
        place = said.setdefault((row["session_id"], row["turn"]), {"context": row["context"].splitlines()[-1]})
        place[row["policy"]] = row["response"]
    spread = list(said.values())
    return [spread[i * len(spread) // SHOWN] for i in range(SHOWN)]


def draw(curves: dict[int, dict[str, list[float]]], path: Path) -> None:
    """Reward and divergence over steps, a line a seed (the paper's Figures 6 and 7)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(8.4, 3.2), dpi=120)
    for colour, (seed, found) in zip(("#1b6ca8", "#c8553d", "#4b8b3b"), curves.items(), strict=False):
        for one, metric in zip(axes, ("reward", "kl"), strict=True):
            values = found[metric]
            smooth = [statistics.fmean(values[max(0, i - 4) : i + 1]) for i in range(len(values))]
            one.plot(range(1, len(values) + 1), values, color=colour, alpha=0.25, linewidth=0.8)
            one.plot(range(1, len(values) + 1), smooth, color=colour, linewidth=1.4, label=f"seed {seed}")
    axes[0].set(xlabel="PPO step", ylabel="mean reward")
    axes[1].set(xlabel="PPO step", ylabel="KL, nats a reply")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="a folder for corpus, runs and responses")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--kl", type=float, default=0.2, help="align.beta")
    parser.add_argument("--warmup", type=int, default=400, help="supervised steps of the small LLaMA")
    parser.add_argument("--figure", type=Path, help="where to draw the curves")
    settings = parser.parse_args()
    settings.work.mkdir(parents=True, exist_ok=True)
    if not (settings.work / "corpus").exists():
        timed(["import", "uss", str(settings.source), str(settings.work / "corpus")])
    curves, rises, divergences = {}, [], []
    for seed in settings.seeds:
        curves[seed] = align(settings.work, seed, settings)
        found = held_out(settings.work, seed)
        before, after = found["before"], found["after"]
        rises.append((after["mean"] - before["mean"]) / before["sd"])
        divergences.append(max(curves[seed]["kl"]))
        tell(f"alignment, seed {seed}: rise of the mean reward on test contexts", rises[-1],
             "standard deviations of the rewards before", before=before["mean"], sd_before=before["sd"],
             after=after["mean"], win_rate=found["win"]["rate"], contexts=before["responses"])  # fmt: skip
        tell(f"alignment, seed {seed}: KL, highest step", divergences[-1], "nats a response",
             last_steps=statistics.fmean(curves[seed]["kl"][-LAST:]))  # fmt: skip
        for one in samples(settings.work, seed):
            print(json.dumps({"sample": seed, **one}, ensure_ascii=False))
    tell("alignment: least rise over the seeds", min(rises), "standard deviations", claim="at least 1",
         highest_kl=max(divergences), kl_claim=f"under {MOST_KL:g} nats a response", steps=settings.steps)  # fmt: skip
    if settings.figure:
        draw(curves, settings.figure)
        print(f"wrote {settings.figure}")


if __name__ == "__main__":
    main()
