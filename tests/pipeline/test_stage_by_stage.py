"""Plan and configuration are resolved stage by stage: what a run does not need, it does not load."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.pipeline.config import load_config
from tests.behaviour.small import film_one_person, write_small_corpus

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES = 60  # one of them asks what a rating is about that is called no more than "score"
FILM = """
import sys
from pathlib import Path
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.shards import run_units
from apportion.pipeline.preflight import check

folder, config_file, session = sys.argv[1:]
config = load_config(config_file, checked=()).with_run(sessions=(session,))
config = config.model_copy(update={"output": Path(folder) / "run"})
check(config, ["verbalize"])
for stage in ("features", "verbalize"):
    print(stage, *(outcome.status for outcome in run_units(config, stage, 0, 1, lambda *told: None)))
print(*sorted({name.split(".")[1] for name in sys.modules if name.startswith("apportion.")}))
"""
CHAT = """
import json, os, sys, threading
from concurrent.futures import Executor, Future
from apportion.corpus.importers import import_to
from apportion.pipeline.config import load_config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution.runner import run_stages

folder, root = sys.argv[1], os.getcwd() + "/"
entered, importing = set(), [0]

def look(frame, event, argument):
    code = frame.f_code
    if code.co_name == "<module>" and event in ("call", "return"):
        importing[0] += 1 if event == "call" else -1
    elif event == "call" and not importing[0]:
        entered.add(code.co_filename)

class Here(Executor):
    def submit(self, work, *given):
        future = Future()
        future.set_result(work(*given))
        return future

sys.setprofile(look)
threading.setprofile(look)
import_to("chat", folder + "/chats.jsonl", folder + "/corpus", {"low": "1", "high": "5"})
done = run_stages(load_config(folder + "/a.toml", checked=()), ["rewards"], StageProgress(quiet=True), Here())
sys.setprofile(None)
print(json.dumps(done.counts(), sort_keys=True))
ours = {os.path.relpath(os.path.realpath(name), root) for name in entered if name.startswith(root + "apportion/")}
print(*sorted(ours))
"""


def in_a_process(code: str, *arguments: object) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("film", ["made up", pytest.param("demo", marks=pytest.mark.slow)])
def test_a_film_is_described_without_decomposition_training_or_language_models(tmp_path, film):
    config, session = ROOT / "demo" / "demo.toml", "video-4"
    if film == "made up":
        film_one_person(write_small_corpus(tmp_path / "corpus", sessions=2))
        config, session = tmp_path / "a.toml", "s00"
        config.write_text('corpus = "corpus"\n[features]\nemotion_model = "none"\n')
    *outcomes, packages = in_a_process(FILM, tmp_path, config, session)
    assert outcomes == ["features done", "verbalize done"]
    loaded = set(packages.split())
    assert {"features", "corpus", "pipeline"} <= loaded
    assert not loaded & {"decompose", "rlhf", "llm_client", "environments", "evaluation", "reward_model"}


def test_a_chat_message_enters_few_files_on_its_way_to_a_reward(tmp_path):
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
    said += [{"role": "user", "content": "Great, thanks."}]
    chats = [json.dumps({"id": f"c{n}", "score": 1 + n % 5, "messages": said}) for n in range(12)]
    (tmp_path / "chats.jsonl").write_text("\n".join(chats))
    (tmp_path / "a.toml").write_text('corpus = "corpus"\noutput = "run"\n[decompose]\nmethod = "sentiment"\n')
    outcomes, files = in_a_process(CHAT, tmp_path)
    assert json.loads(outcomes) == {"judge": {"done": 12}, "rewards": {"done": 1}, "split": {"done": 1}}
    entered = files.split()
    assert "corpus/importers/chat.py" in entered and "decompose/projection.py" in entered
    assert len(entered) <= MOST_FILES


def test_a_section_that_nothing_asks_for_is_not_read_and_one_that_is_wrong_is_told(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('corpus = "c"\n[decompose]\nmethod = "uniform"\n[align]\nsteps = -1\nbetta = 1\n')
    config = load_config(path, checked=["decompose"])
    assert config.decompose.methods == ("uniform",)
    with pytest.raises(InputError, match=r"(?s)a.toml.*align.steps = -1.*did you mean") as late:
        config.align  # noqa: B018
    with pytest.raises(InputError, match=r"align.steps = -1"):
        load_config(path, checked=()).check_given()
    with pytest.raises(InputError) as early:
        load_config(path)
    assert str(early.value) == str(late.value)
