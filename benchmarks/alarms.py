"""Claim: no alarm of the alignment's defaults stops a run on a corpus of real dialogues.

The bundled demo, USS SGD and ReDial, ESConv, ConTurE and CaSiNo; three seeds, the first 200 dialogues of each, all else
at its default: turn rewards by `rrd`, 25 steps of PPO on `tiny`. A run that an alarm stops fails the claim; its reason
is printed. CaSiNo's negotiations are written as `chat` files here: the first participant rates the second with the
satisfaction that was declared afterwards. In `casino` the buttons that were pressed (`Submit-Deal`, …) are turns, as
they are in its files; in `casino-words` they are left out.

    python benchmarks/alarms.py ../shared/data --work FOLDER [--corpora casino sgd] [--seeds 0 1 2]
    python benchmarks/alarms.py ../shared/data --work FOLDER --set kl_coefficient=0.2 --replies 4

Finished work in FOLDER is used again, the alignment itself is not. There is no peer: nothing else has these alarms.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

import pyarrow.parquet as pq
import torch

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Episode
from apportion.foundation.errors import UnitError
from apportion.foundation.progress import silent
from apportion.rlhf.alignment import align_here
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.job import Job
from apportion.rlhf.training.reward import ModelReward
from benchmarks.measure import tell, timed

WATCHED = ("kl", "response_tokens", "repetition", "sameness", "entropy")
DIALOGUES = 200
METHOD = "rrd"
"""The last of decompose.methods by default, against whose reward model a policy is aligned."""
SATISFACTION = (
    "Extremely dissatisfied", "Slightly dissatisfied", "Undecided", "Slightly satisfied", "Extremely satisfied",
)  # fmt: skip
"""What CaSiNo's participants could answer, from 1 to 5."""
SPEAKERS = {"mturk_agent_1": "user", "mturk_agent_2": "assistant"}
BUTTONS = ("Submit-Deal", "Accept-Deal", "Reject-Deal", "Walk-Away")
"""What CaSiNo's participants pressed and did not say."""
SOURCES: dict[str, tuple[str, str, str]] = {
    # corpus, importer, file, and the rating that `apportion init` chooses
    "sgd": ("uss", "uss/SGD.txt.gz", "satisfaction"),
    "redial": ("uss", "uss/ReDial.txt.gz", "satisfaction"),
    "esconv": ("esconv", "esconv/esconv_hf_train.jsonl.gz", "empathy"),
    "conture": ("conture", "conture/data.json.gz", "coherent"),
    "casino": ("chat", "casino", "score"),
    "casino-words": ("chat", "casino", "score"),
    "demo": ("", "", "satisfaction"),
}
CONFIG = """
corpus = {corpus}
output = {output}
rating = {rating}
seeds = [{seed}]
[run]
threads = 1
workers = 1
limit = {limit}
[decompose]
methods = [{method}]
"""


def casino_chats(folder: Path, left_out: Sequence[str] = ()) -> list[dict[str, Any]]:
    """CaSiNo as chats: the second participant is the assistant, whom the first one's satisfaction credits."""
    chats = []
    for part in ("train", "valid", "test"):
        with gzip.open(folder / f"casino_{part}.json.gz", "rt", encoding="utf-8") as file:
            dialogues = json.load(file)
        for dialogue in dialogues:
            said = [one for one in dialogue["chat_logs"] if one["text"] not in left_out]
            satisfaction = dialogue["participant_info"]["mturk_agent_1"]["outcomes"]["satisfaction"]
            chats.append(
                {
                    "id": f"casino-{dialogue['dialogue_id']}",
                    "messages": [{"role": SPEAKERS[one["id"]], "content": one["text"]} for one in said],
                    "score": 1 + SATISFACTION.index(satisfaction),
                }
            )
    return chats


def corpus_of(name: str, data: Path, work: Path) -> Path:
    """The corpus' folder; it is imported where it is not there yet."""
    if name == "demo":
        return ROOT / "demo" / "corpus"
    folder = work / "corpora" / name
    if folder.exists():
        return folder
    kind, file, _ = SOURCES[name]
    source, options = data / file, []
    if kind == "chat":
        chats = work / f"{name}.jsonl"
        rows = casino_chats(source, BUTTONS if name == "casino-words" else ())
        chats.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        source, options = chats, ["-o", "low=1", "-o", "high=5"]
    timed(["import", kind, str(source), str(folder), *options])
    return folder


def trained_run(name: str, seed: int, corpus: Path, settings: argparse.Namespace) -> Path:
    """The run folder, with splits and the reward model of ``seed``."""
    config, output = settings.work / f"{name}{seed}.toml", settings.work / "runs" / f"{name}{seed}"
    values = {
        "corpus": str(corpus.resolve()),
        "output": str(output.resolve()),
        "rating": SOURCES[name][2],
        "method": METHOD,
    }
    quoted = {key: json.dumps(value) for key, value in values.items()}
    config.write_text(CONFIG.format(**quoted, seed=seed, limit=settings.dialogues), encoding="utf-8")
    timed(["train-reward", str(config)])
    return output


class Overheard:
    """A reward model, and what it was last asked to score."""

    def __init__(self, folder: Path) -> None:
        self._model = ModelReward(folder)
        self.replies: Sequence[str] = ()

    def history(self, episode: Episode, position: int) -> str:
        """As the model reads it."""
        return self._model.history(episode, position)

    def __call__(
        self, contexts: Sequence[DialogueContext], histories: Sequence[str], replies: Sequence[str]
    ) -> list[float]:
        """The model's scores."""
        self.replies = replies
        return self._model(contexts, histories, replies)


def align(name: str, seed: int, corpus: Path, run: Path, settings: argparse.Namespace) -> bool:
    """Align once and tell how near to every limit it came; whether an alarm stopped it."""
    rating = SOURCES[name][2]
    opened = Corpus.open(corpus)
    splits = pq.read_table(run / "splits.parquet")
    sessions = [opened.session(session_id) for session_id in splits["session_id"].to_pylist()]
    episodes = [episode for session in sessions for episode in session.episodes(rating)]
    reward = Overheard(run / "reward_models" / f"{METHOD}-seed{seed}")
    curves: dict[str, list[float]] = {}

    def watch(step: int, metrics: Mapping[str, float]) -> None:
        for metric, value in metrics.items():
            curves.setdefault(metric, []).append(value)
        if settings.replies:
            shown = [reward.replies[i * len(reward.replies) // settings.replies] for i in range(settings.replies)]
            measured = {metric: round(metrics[metric], 3) for metric in ("reward", *WATCHED)}
            print(
                json.dumps(
                    {"corpus": name, "seed": seed, "step": step, **measured, "replies": shown}, ensure_ascii=False
                ),
                flush=True,
            )

    stopped = None
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(
            episodes=episodes, splits=splits, reward_model=run, settings=AlignSettings.model_validate(settings.changes),
            seed=seed, out=Path(folder) / "policy",
        )  # fmt: skip
        try:
            align_here(job, reward, progress=silent, watch=(watch,))
        except UnitError as error:
            stopped = str(error)
    told = {metric: [round(value, 4) for value in curves[metric]] for metric in ("reward", *WATCHED)}
    tell(f"alarms: {name}, seed {seed}", len(curves["kl"]), "steps", stopped=stopped,
         s=round(time.perf_counter() - started), changes=settings.changes, **told)  # fmt: skip
    return stopped is not None


def setting(text: str) -> tuple[str, Any]:
    """``KEY=VALUE`` of [align], VALUE as JSON."""
    key, _, value = text.partition("=")
    return key, json.loads(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds uss/, esconv/, conture/ and casino/")
    parser.add_argument("--work", type=Path, required=True, help="a folder for corpora and runs")
    parser.add_argument("--corpora", nargs="+", choices=sorted(SOURCES), default=list(SOURCES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--dialogues", type=int, default=DIALOGUES)
    parser.add_argument("--set", type=setting, nargs="*", default=[], metavar="KEY=VALUE", help="keys of [align]")
    parser.add_argument("--replies", type=int, default=0, help="print that many replies of each step")
    settings = parser.parse_args()
    settings.changes = dict(settings.set)
    settings.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    stopped = 0
    for name in settings.corpora:
        corpus = corpus_of(name, settings.data, settings.work)
        for seed in settings.seeds:
            stopped += align(name, seed, corpus, trained_run(name, seed, corpus, settings), settings)
    tell("alarms: runs that an alarm stopped", stopped, "runs", claim=0, of=len(settings.corpora) * len(settings.seeds))


if __name__ == "__main__":
    main()
