"""Our PPO beside TRL 1.12's PPOTrainer: samples a second and peak memory, same model, batch, lengths, LoRA and epochs.

    python -m benchmarks.ppo [--rounds 3] [--threads 1] [--peer /tmp/trl112] [--device cuda --shape 1b]

Random weights. Policy and reward model have one shape; TRL also demands a value model of it, which its `peft_config`
leaves to be trained in full. So there are two peers: TRL as it ships (`trl`), and TRL given a value model with the same
adapters by hand (`trl, adapters on its value model`), the least that it can be brought to. In both the reference is the
policy with its adapters off. One minibatch of the whole batch, four inner epochs (TRL's default), no dropout (TRL turns
it off), replies of full length.

Every measurement is a process of its own; the sides take turns, and medians over the rounds are told. The first step
of a process warms up. Memory on a CPU is the process' peak less what it holds when all is imported; on a GPU that of
the device. Speed is told by wall clock and by CPU seconds, which other work on the machine hardly touches. TRL 1.12
needs an environment of its own; it is made where there is none.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, tell
from benchmarks.ppo_task import SHAPES, Task, measured, worker

PEER_PINS = ("torch==2.13.0", "transformers==5.23.0", "peft==0.21.2", "accelerate==1.15.0", "trl==1.12.0")
OURS, TRL, TRL_LORA = "apportion", "trl", "trl, adapters on its value model"
SCRIPTS = {OURS: ("ppo_ours", ""), TRL: ("ppo_trl", ""), TRL_LORA: ("ppo_trl", "lora-critic")}
SPEED_BAR, MEMORY_BAR = 1.5, 0.6


def peer_python(folder: Path) -> str:
    """The interpreter of TRL's environment, which is made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making TRL's environment in {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEER_PINS], check=True)
    return str(python)


def measure(side: str, task: Task, peer: str) -> dict[str, Any]:
    """One process of one side; ``failed`` holds its last words where it did not get through."""
    script, variant = SCRIPTS[side]
    python = sys.executable if side == OURS else peer
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": str(task.threads), "HF_HUB_OFFLINE": "1"}
    command = [python, "-m", f"benchmarks.{script}", *worker(task, "--variant", variant)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:300]}
    return measured(done.stdout)


def matmul_flops(task: Task) -> float:
    """Floating-point operations a second of large products in the number format of ``task``, the best of five."""
    import torch

    torch.set_num_threads(task.threads)
    size = 8192 if task.device == "cuda" else 2048
    left, right = (torch.randn(size, size, device=task.device, dtype=getattr(torch, task.dtype)) for _ in range(2))
    best = 0.0
    for _ in range(5):
        started = time.perf_counter() if task.device == "cuda" else time.process_time()
        for _ in range(10 if task.device == "cuda" else 1):
            product = left @ right
        if task.device == "cuda":
            torch.cuda.synchronize()
        ended = time.perf_counter() if task.device == "cuda" else time.process_time()
        best = max(best, 2.0 * size**3 * (10 if task.device == "cuda" else 1) / (ended - started))
    del product
    return best


def flops_per_sample(task: Task, passes: int = 4, an_epoch: int = 2) -> float:
    """What our step has to multiply for a sample, attention's own products left out.

    Passes of the layers over prompt and reply: generation, policy, reference and reward model once (``passes``; one
    less where the reward model is another one's size), and each inner epoch forward and backward to the activations
    (frozen weights need no gradient; ``an_epoch``, one more with gradient checkpointing). The head reads the reply
    alone, and the reward model has none.
    """
    head_width = task.hidden // task.heads
    attention = 2 * task.hidden * task.hidden + 2 * task.hidden * task.kv_heads * head_width
    layers = task.layers * (attention + 3 * task.hidden * task.intermediate)
    head = task.hidden * task.vocabulary
    updates = an_epoch * task.ppo_epochs
    return 2.0 * ((passes + updates) * layers * (task.prompt + task.reply) + (3 + updates) * head * task.reply)


def report(found: dict[str, list[dict[str, Any]]], task: Task, shape: str) -> None:
    """One line a side, and one a comparison."""
    speed = "samples_per_s" if task.device == "cuda" else "samples_per_cpu_s"
    medians: dict[str, dict[str, float]] = {}
    for side, runs in found.items():
        good = [run for run in runs if "failed" not in run]
        if not good:
            tell(f"ppo {shape}, {side}", -1, "samples/s, -1: failed", failed=runs[0]["failed"])
            continue
        numbers = [name for name, value in good[0].items() if isinstance(value, float | int)]
        medians[side] = {name: statistics.median(run[name] for run in good) for name in numbers}
        own = {name: round(value, 4) for name, value in medians[side].items()}
        tell(f"ppo {shape}, {side}", own.pop(speed), speed, rounds=[round(run[speed], 3) for run in good], **own)
    if OURS not in medians:
        return
    for side in (TRL, TRL_LORA):
        if side not in medians:
            continue
        faster = medians[OURS][speed] / medians[side][speed]
        wall = medians[OURS]["samples_per_s"] / medians[side]["samples_per_s"]
        memory = medians[OURS]["peak_mib"] / medians[side]["peak_mib"]
        tell(f"ppo {shape}, times as fast as {side}", faster, "x", wall=round(wall, 3), bar=SPEED_BAR,
             held=faster >= SPEED_BAR)  # fmt: skip
        tell(f"ppo {shape}, memory as a share of {side}", memory, "x", bar=MEMORY_BAR, held=memory <= MEMORY_BAR)
    limit = matmul_flops(task) / flops_per_sample(task)
    length = task.prompt + task.reply
    tell(f"ppo {shape}, tokens of prompt and reply", medians[OURS][speed] * length, "tokens/s",
         limit_by_measured_products=round(limit * length, 1), share=round(medians[OURS][speed] / limit, 3))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=list(SHAPES), default="small")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--inner-epochs", type=int, default=4)
    parser.add_argument("--peer", type=Path, default=Path("/tmp/trl112"), help="folder of TRL 1.12's environment")
    arguments = parser.parse_args()
    task = replace(
        SHAPES[arguments.shape],
        device=arguments.device,
        threads=arguments.threads,
        ppo_epochs=arguments.inner_epochs,
    )
    peer = peer_python(arguments.peer)
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in SCRIPTS}
    for number in range(1, arguments.rounds + 1):
        for side, runs in found.items():
            runs.append(measure(side, task, peer))
            print(f"round {number}, {side}: {runs[-1]}", file=sys.stderr, flush=True)
    report(found, task, arguments.shape)


if __name__ == "__main__":
    main()
