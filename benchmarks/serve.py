"""Claim: `apportion policy serve` answers 64 clients at once, equal to the model to 1e-6, and loses none in kills.

Run: python -m benchmarks.serve [--requests 20]

A MiniLM reward model with a random head, and **made-up** chats of 4 turns. 64 clients (4 processes of 16 threads) have one
chat in flight each, as OpenRLHF's have, and try again each second until they are answered. Then the same with kill -9: of
the server, which is started again at its port, and of two of the processes, which are started again for what they lack.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measure import ROOT, tell

PROCESSES, THREADS = 4, 16
WORDS = "is there a train to the town at nine yes no thanks but that was late again please help me now".split()


def chat(number: int) -> list[dict[str, str]]:
    drawn = random.Random(number)
    said = [" ".join(drawn.choices(WORDS, k=drawn.randint(4, 16))) for _ in range(4)]
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]


def started(model: str, port: int) -> tuple[subprocess.Popen, int]:
    """The server, once it answers, and its port."""
    command = [sys.executable, "-m", "apportion", "policy", "serve", model, "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return server, int(server.stdout.readline().partition("http://")[2].split(":")[1])


def clients(port: int, numbers: list[int], answers: Path) -> None:
    """A line an answer: the chat's number, its seconds, tries and rewards; what ``answers`` holds is not asked again."""
    had = {json.loads(line)[0] for line in answers.read_text().splitlines()} if answers.exists() else set()

    def ask(number: int) -> None:
        body, began, tries, said = (
            json.dumps({"dialogues": [{"messages": chat(number)}]}).encode(),
            time.time(),
            0,
            None,
        )
        while said is None:
            tries += 1
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/score", body, timeout=180) as response:
                    said = [turn["reward"] for turn in json.load(response)["dialogues"][0]["turns"]]
            except OSError:
                time.sleep(1)
        with answers.open("a") as file:
            file.write(json.dumps([number, time.time() - began, tries, said]) + "\n")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, [number for number in numbers if number not in had]))


def asked(model: str, requests: int, kill: bool) -> None:
    """Tell what the clients met."""
    from apportion import RewardModel

    (server, port), spawn = started(model, 0), get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        count = requests * PROCESSES * THREADS
        work = [(port, list(range(i, count, PROCESSES)), Path(folder) / f"{i}.jsonl") for i in range(PROCESSES)]
        running, began = [spawn.Process(target=clients, args=one) for one in work], time.time()
        for one in running:
            one.start()
        if kill:
            time.sleep(5)
            for one in (server, *running[:2]):
                one.kill()
            server.wait()
            running += [spawn.Process(target=clients, args=one) for one in work[:2]]
            for one in running[PROCESSES:]:
                one.start()
            server, _ = started(model, port)
        for one in running:
            one.join()
        seconds = time.time() - began
        rows = [json.loads(line) for _, _, path in work for line in path.read_text().splitlines()]
    server.terminate()
    lost, waits = count - len({row[0] for row in rows}), sorted(row[1] for row in rows)
    local = RewardModel.from_pretrained(model)
    apart = max(abs(x - y) for row in rows for x, y in zip(row[3], local.score(chat(row[0])), strict=True))
    p50, p99 = (round(1000 * waits[int(share * (len(waits) - 1))]) for share in (0.5, 0.99))
    more = {"p50_ms": p50, "p99_ms": p99, "lost": lost, "largest_difference": float(f"{apart:.1g}")}
    tries = max(row[2] for row in rows)
    tell("serve, kill -9" if kill else "serve", count / seconds, "requests/s", requests=count, most_tries=tries,
         ended=server.wait(), load=round(os.getloadavg()[0], 1), **more)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20, help="of each client")
    arguments = parser.parse_args()
    import torch

    from apportion.reward_model.model import RewardModel
    from apportion.reward_model.settings import RewardModelSettings

    with tempfile.TemporaryDirectory() as work:
        model = RewardModel.new(RewardModelSettings(backbone="minilm", scoring="pooled"), width=768, seed=0)
        torch.nn.init.normal_(model.head.last_weight)
        model.save_pretrained(work)
        for kill in (False, True):
            asked(work, arguments.requests, kill)
