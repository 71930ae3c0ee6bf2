"""Claim: `apportion policy serve` answers 64 clients at once, equal to the model to 1e-6, and loses none in kills.

Run: python -m benchmarks.serve [REQUESTS]  (of each client, 20)

A MiniLM reward model with a random head, and **made-up** chats of 4 turns. 64 clients (4 processes of 16 threads) have
one chat in flight each, as OpenRLHF's have, and try again each second until they are answered. Then the same with
kill -9: of the server, which is started again at its port, and of two processes, started again for what they lack.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from multiprocessing import get_context
from pathlib import Path

from benchmarks.measure import ROOT, tell

PROCESSES, THREADS = 4, 16
WORDS = "is there a train to the town at nine yes no thanks but it was late"


def chat(number):
    drawn = random.Random(number)
    said = [" ".join(drawn.choices(WORDS.split(), k=drawn.randint(4, 16))) for _ in range(4)]
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]


def started(model, port):
    command = [sys.executable, "-m", "apportion", "policy", "serve", model, "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return server, int(server.stdout.readline().partition("http://")[2].split(":")[1])


def clients(port, numbers, answers):
    def ask(number):
        body = json.dumps({"dialogues": [{"messages": chat(number)}]}).encode()
        began, tries, said = time.time(), 0, None
        while said is None:
            tries += 1
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/score", body, timeout=180) as response:
                    said = [turn["reward"] for turn in json.load(response)["dialogues"][0]["turns"]]
            except (OSError, HTTPException):
                time.sleep(1)
        with answers.open("a") as file:
            file.write(json.dumps([number, time.time() - began, tries, said]) + "\n")

    had = {json.loads(line)[0] for line in answers.read_text().splitlines()} if answers.exists() else set()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, [number for number in numbers if number not in had]))


def asked(model, local, count, folder, kill):
    (server, port), process, began = started(model, 0), get_context("spawn").Process, time.time()
    work = [(port, range(i, count, PROCESSES), folder / f"{kill}{i}.jsonl") for i in range(PROCESSES)]
    running = [process(target=clients, args=one) for one in work]
    [one.start() for one in running]
    if kill:
        while not all(path.exists() for _, _, path in work):
            time.sleep(0.1)
        [one.kill() for one in (server, *running[:2])]
        running += [process(target=clients, args=one) for one in work[:2] if server.wait()]
        [one.start() for one in running[PROCESSES:]]
        server, _ = started(model, port)
    [one.join() for one in running]
    seconds, load = time.time() - began, round(os.getloadavg()[0], 1)
    server.terminate()
    rows = [json.loads(line) for _, _, path in work for line in path.read_text().splitlines()]
    apart = max(abs(x - y) for row in rows for x, y in zip(row[3], local.score(chat(row[0])), strict=True))
    waits, tries = sorted(1000 * row[1] for row in rows), max(row[2] for row in rows)
    p50, p99 = (round(waits[int(share * (len(waits) - 1))]) for share in (0.5, 0.99))
    more = {"lost": count - len({row[0] for row in rows}), "largest_difference": float(f"{apart:.1g}"), "load": load}
    tell(
        "serve, kill -9" if kill else "serve",
        count / seconds,
        "requests/s",
        p50_ms=p50,
        p99_ms=p99,
        most_tries=tries,
        requests=count,
        **more,
    )


if __name__ == "__main__":
    requests = int(sys.argv[1]) if sys.argv[1:] else 20
    import torch

    from apportion.reward_model import RewardModel, RewardModelSettings

    with tempfile.TemporaryDirectory() as model:
        local = RewardModel.new(RewardModelSettings(backbone="minilm", scoring="pooled"), width=768, seed=0)
        torch.nn.init.normal_(local.head.last_weight, std=0.1)
        local.save_pretrained(model)
        for kill in (False, True):
            asked(model, local, requests * PROCESSES * THREADS, Path(model), kill)
