"""No turn label reaches training, selection or a request: with other labels, all but the evaluation stays the same.

Of what people's labels teach, so it is with other labels of all sessions that do not train.

Every method there is goes through one of the runs below; one that is in none fails `test_every_method_is_in_a_run`.
"""

import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import TURN_LABELS
from apportion.decompose import RequestMeta, TurnScore
from apportion.decompose.method import (
    LabelStudent,
    LLMMethod,
    ObjectiveMethod,
    RolloutMethod,
    SessionMethod,
    StackedMethod,
    StudentMethod,
)
from apportion.decompose.method_settings import MixSettings
from apportion.decompose.methods import METHODS, _Registry
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.llm_client import ChatMessage, ChatRequest
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution.runner import run_stages
from tests.behaviour.command import chosen_methods, config
from tests.behaviour.filmed_talk import write_filmed_talk, write_intensity_model
from tests.behaviour.small import write_small_corpus
from tests.behaviour.test_played_by_models import plays
from tests.decompose.influence.measurers import small_model, tokenizer
from tests.decompose.influence.probability_server import ProbabilityServer
from tests.decompose.reactions.made_up import write_made_up
from tests.llm_client.openai_server import OpenAIServer, completion, serving

TEXT = """
corpus = "{name}"
output = "runs/{name}"
{more}
[decompose]
{methods}[decompose.llm]
{llm}
[decompose.savoir]
agents = {{ target = "base", partner = "base" }}
[decompose.sotopia_rl]
weights = {{ GOAL = 1 }}
[decompose.intensity]
model = "intensity"
[decompose.influence]
model = "measurer"
[decompose.zero_shot]
model = "measurer"
[decompose.reaction]
pretrained = "learnt.safetensors"
[decompose.stacking]
components = {components}
[train_reward]
epochs = 2
objective = "both"
[evaluate]
bootstrap = 100
"""
SERVED = 'base_url = "{url}"\nmodel = "m"\nmax_retries = 0'
RECORDED = 'provider = "recorded"\nmodel = "claude"\nmax_sessions = 12'
"""Real replies of a language model (`demo/llm_replies.jsonl`): what is not asked word for word as then has none."""
DEMO = Path(__file__).resolve().parents[2] / "demo"
NAMES = ("as_they_are", "shuffled")


def answer(body):
    """An act to a player, and numbers to whoever asks about turns, all by what was asked."""
    said = "\n".join(message["content"] for message in body["messages"])
    if "<conversations>" in said:
        signals = [{"id": sign, "sentence": sign, "sign": mark} for sign, mark in (("good", "+"), ("bad", "-"))]
        return completion(json.dumps({"signals": signals}))
    asked = re.search(r"(?:judge|null|once): (\[[\d, ]*\])$", said)
    if asked is None:
        return completion(plays(body))
    if "<signals>" in said:
        return completion(json.dumps({"signals": [{"id": "good", "turns": json.loads(asked[1])[::2]}]}))
    turns = [{"turn": t, "value": t % 3, "evidence": None} for t in json.loads(asked[1])]
    return completion(json.dumps({"turns": turns}))


def write_played(folder):
    """Sales that scripts played, scored by rules, with labels of who knows which turns."""
    choice = SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=2, rules=Rules(most_acts=6), seed=5)
    write_corpus(choice, folder)
    corpus = Corpus.open(folder)
    rows = [
        {"session_id": session.session_id, "turn": turn.turn, "annotator": "ann", "name": "quality",
         "value": float(turn.turn % 4), "low": 0.0, "high": 3.0}
        for session in corpus.iter_sessions() for turn in session.turns
    ]  # fmt: skip
    labels = pa.Table.from_pylist(rows, schema=TURN_LABELS.arrow)
    Corpus.of(folder, {**corpus.tables, "turn_labels": labels}).write(folder)


def write_demo(folder, sessions=30):
    """The first sessions of the demo's chats, that the recorded replies are about."""
    corpus = Corpus.open(DEMO / "corpus")
    chats = [name for name in corpus.session_ids() if name.startswith("chat-")][:sessions]
    tables = {name: table for name, table in corpus.tables.items() if name != "media"}
    chosen = {name: of.filter(pc.is_in(of["session_id"], pa.array(chats))) for name, of in tables.items()}
    Corpus.of(folder, chosen).write(folder)


@dataclass(frozen=True)
class Run:
    """Methods that one corpus can feed, and how far the run goes."""

    methods: tuple[str, ...]
    write: Callable[[Path], object] = write_small_corpus
    server: Callable[[], OpenAIServer] | None = None
    last: str = "evaluate"
    more: str = ""
    llm: str = SERVED
    components: tuple[str, ...] = tuple(name for name in MixSettings().components if name != "people-student")


def _of_text(name):
    method = METHODS[name]
    return not (
        method.asks
        or method.reads_features
        or isinstance(method, RolloutMethod | StudentMethod | LabelStudent | StackedMethod)
    )


RUNS = {
    "text": Run(tuple(name for name in METHODS if _of_text(name))),
    "judged": Run(
        ("llm", "llm-multimodal", "sentiment", "reaction-llm", "mix", "llm-student", "llm-rubric"),
        server=lambda: OpenAIServer(answer),
    ),
    "recorded": Run(
        ("llm", "reaction-llm", "mix", "llm-student"), write_demo, last="rewards",
        more=f'[run]\nrecorded = "{DEMO / "llm_replies.jsonl"}"', llm=RECORDED,
    ),
    "probabilities": Run(("influence-served", "zero-shot-served"), server=ProbabilityServer),
    "seen and heard": Run(
        ("affect", "affect-raw", "intensity", "intensity-raw", "rrd-va", "ircr-va", "rudder-va", "reaction", "mix"),
        write_filmed_talk, last="rewards",
    ),
    "played": Run(
        ("savoir", "savoir-paper", "savoir-paper-raw", "shapley-hindsight", "expected-utility", "leave-one-out",
         "sotopia-rl"),
        write_played, lambda: OpenAIServer(answer), "rewards", 'rating = "GOAL"',
    ),
}  # fmt: skip


LABELLED = Run(("people-student", "mix"), last="rewards", components=MixSettings().components)
"""What people's labels teach."""


def test_every_method_is_in_a_run():
    missing = set(METHODS) - {name for run in (*RUNS.values(), LABELLED) for name in run.methods}
    assert not missing, f"give each of {sorted(missing)} a run here in which labels are shuffled"


def shuffle_labels(folder, sessions=None):
    """Labels change places: all, or those of these sessions."""
    corpus = Corpus.open(folder)
    labels = corpus.turn_labels
    values = labels.column("value").to_pylist()
    places = [i for i, of in enumerate(labels.column("session_id").to_pylist()) if sessions is None or of in sessions]
    for place, value in zip(places, random.Random(1).sample([values[i] for i in places], len(places)), strict=True):
        values[place] = value
    assert values != labels.column("value").to_pylist()
    place = labels.schema.get_field_index("value")
    changed = labels.set_column(place, labels.schema.field(place), pa.array(values, pa.float64()))
    Corpus.of(folder, {**corpus.tables, "turn_labels": changed}).write(folder)


def files(folder):
    stages = (
        path
        for path in (folder / "store").iterdir()
        if path.name not in ("evaluate", "inputs", "activity", "scratch", "hand-labels")
    )
    return {p.relative_to(folder): p.read_bytes() for stage in stages for p in stage.rglob("*") if p.is_file()}


def judged_turns(engine, methods):
    """Turns that each method has a value of."""
    rows = pa.concat_tables([artifact.table("rewards") for artifact in engine.finished("rewards").values()])
    return {name: rows.filter(pc.field("method") == name)["raw_reward"].drop_null().length() for name in methods}


def carried_out(folder, run, name):
    """The engine of the finished run, and everything that was asked, whole and in any order."""
    with ExitStack() as open_while, ThreadPoolExecutor(1) as executor, StageProgress(quiet=True) as progress:
        server = None if run.server is None else open_while.enter_context(serving(run.server()))
        url = "http://localhost:1/v1" if server is None else server.url
        text = TEXT.format(name=name, methods=chosen_methods(*run.methods), llm=run.llm.format(url=url), more=run.more,
                           components=list(run.components))  # fmt: skip
        chosen = load_config(config(folder, text))
        assert not run_stages(chosen, [run.last], progress, executor).quarantined
    requests = [] if server is None else server.requests
    return open_engine(chosen), Counter(json.dumps(body, sort_keys=True) for body in requests)


def write_corpora(folder, run):
    """The same corpus twice, the second with labels that were shuffled."""
    for name in NAMES:
        run.write(folder / name)
    shuffle_labels(folder / "shuffled")


def leaks(one, two):
    """Where the labels can be seen in two runs that differ by them alone: stages with other files, and requests."""
    (plain, asked), (other, asked_again) = one, two
    before, after = (files(engine.config.output) for engine in (plain, other))
    changed = {path.parts[1] for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return changed | ({"requests"} if asked != asked_again else set())


QUICK = ("judged",)


@pytest.mark.parametrize(
    "run", [pytest.param(run, id=name, marks=() if name in QUICK else pytest.mark.slow) for name, run in RUNS.items()]
)
def test_rewards_and_requests_are_the_same_when_labels_are_shuffled(tmp_path, run):
    write_corpora(tmp_path, run)
    small_model().save_pretrained(tmp_path / "measurer")
    tokenizer().save_pretrained(tmp_path / "measurer")
    write_made_up(tmp_path / "learnt.safetensors")
    write_intensity_model(tmp_path / "intensity")
    (plain, asked), (other, asked_again) = (carried_out(tmp_path, run, name) for name in NAMES)
    assert not leaks((plain, asked), (other, asked_again))
    assert bool(asked) == (run.server is not None)
    judged = judged_turns(plain, run.methods)
    assert all(judged.values()), judged
    if run.last == "evaluate":
        trained = {unit.method for unit in plain.finished("train-reward")}
        direct = {f"{name}-direct" for name in run.methods if isinstance(METHODS[name], ObjectiveMethod)}
        assert {*run.methods, *direct} <= trained
        one, two = (list(engine.finished("evaluate").values()) for engine in (plain, other))
        assert one[0].text("evaluation.json") != two[0].text("evaluation.json")


def test_what_people_s_labels_teach_is_the_same_when_labels_of_sessions_that_do_not_train_are_shuffled(tmp_path):
    write_made_up(tmp_path / "learnt.safetensors")
    engines = {}
    for name in ("as_they_are", "others", "training"):
        write_small_corpus(tmp_path / name)
        if engines:
            splits = engines["as_they_are"].finished("split").popitem()[1].table("splits").to_pylist()
            shuffle_labels(
                tmp_path / name,
                {row["session_id"] for row in splits if (row["split"] == "train") == (name == "training")},
            )
        engines[name], _ = carried_out(tmp_path, LABELLED, name)
    plain, others, training = ((engine, Counter()) for engine in engines.values())
    assert not leaks(plain, others) and leaks(plain, training) == {"fit", "rewards"}
    handed = [engine.finished("hand-labels").popitem()[1].output_hash for engine in engines.values()]
    assert handed[0] == handed[1] != handed[2]
    assert all(judged_turns(engines["as_they_are"], LABELLED.methods).values())
    weights = {row["source"]: row["weight"] for row in fitted_sources(engines["as_they_are"])}
    assert weights["people-student"] > 0


def fitted_sources(engine):
    tables = [a.table("sources") for unit, a in engine.finished("fit").items() if unit.method == "mix"]
    return pa.concat_tables(tables).to_pylist()


def labels_of(episode):
    """What no method may read: people's labels of an episode's target turns, out of the corpus' own file."""
    labels = Corpus.open(os.environ["PLANTED_LEAK"]).turn_labels.to_pylist()
    own = {row["turn"]: row["value"] for row in labels if row["session_id"] == episode.session_id}
    return {turn: own.get(turn, 0.0) for turn in episode.target_turns}


def judge_by_labels(episode, behaviour, settings, asker):
    return [TurnScore(turn, value) for turn, value in labels_of(episode).items()]


def requests_with_labels(session, rating_name, behaviour, settings):
    return [
        (ChatRequest("m", (ChatMessage("user", f"{labels_of(e)}"),)), RequestMeta(*e.key, 0, e.target_turns))
        for e in session.episodes(rating_name)
    ]


def ask_with_labels(episode, behaviour, settings, asker):
    asker.complete(ChatRequest("m", (ChatMessage("user", f"{labels_of(episode)}"),)))
    return [TurnScore(turn, float(turn % 3)) for turn in episode.target_turns]


PLANTED = {
    "values": SessionMethod("planted", "Reads the labels", f"{__name__}:judge_by_labels"),
    "requests": LLMMethod(
        "planted", "Sends the labels", f"{__name__}:ask_with_labels", requests=f"{__name__}:requests_with_labels"
    ),
}


@pytest.mark.parametrize("through", PLANTED)
def test_a_leak_that_was_planted_is_found(tmp_path, monkeypatch, through):
    monkeypatch.setattr(_Registry, "_ours", {**_Registry._ours, "planted": PLANTED[through]})
    with pytest.raises(AssertionError, match="planted"):
        test_every_method_is_in_a_run()
    asks = PLANTED[through].asks
    run = Run(("uniform", "planted"), server=(lambda: OpenAIServer(lambda body: completion("0"))) if asks else None,
              last="rewards")  # fmt: skip
    write_corpora(tmp_path, run)
    found = []
    for name in NAMES:
        monkeypatch.setenv("PLANTED_LEAK", str(tmp_path / name))
        found.append(carried_out(tmp_path, run, name))
    assert leaks(*found) == ({"requests"} if asks else {"judge", "rewards"})
