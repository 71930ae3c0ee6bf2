"""A training of a Refiner that takes seconds, and a Measurer warmed up on the scripted game."""

from pathlib import Path

from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.stackelberg.dialogues import prompt_episode
from apportion.rlhf.stackelberg.instances.instance import write_instances
from apportion.rlhf.stackelberg.questions import CLOSE, OPEN, speech_chat
from apportion.rlhf.training.tiny_policy import build_tiny
from tests.rlhf.stackelberg.round_table import round_table

CONFIG = """
instances = ["turns.jsonl"]
output = "refiner"
epochs = 2
held_out = 0.25
{more}
[measurer]
model = "measurer"
[align]
policy = "tiny"
batch_size = 8
mini_batch_size = 8
micro_batch_size = 8
num_generations = 4
max_context_tokens = 320
max_new_tokens = 8
lora = {{r = 4, alpha = 8, targets = ["q_proj", "v_proj"]}}
tiny = {{hidden = 32, layers = 1, vocabulary = 600, warmup_steps = 4, warmup_batch = 2}}
samples = 0
{align}
"""


def write_measurer(folder: Path, steps: int = 4, hidden: int = 32, seed: int = 7, turns: int = 40) -> None:
    """A small Measurer that has read ``turns`` of the scripted game for ``steps``."""
    tiny = {"hidden": hidden, "layers": 1 if hidden == 32 else 2, "vocabulary": 1000, "warmup_steps": steps}
    settings = AlignSettings(max_context_tokens=300, max_new_tokens=20, tiny={**tiny, "warmup_batch": 8})
    heard = [
        prompt_episode(one.name, speech_chat(one.after(one.said)), f"{OPEN}{one.answered}{CLOSE}")
        for one in round_table(turns, seed + 100)
        if one.answered
    ]
    policy = build_tiny(heard, settings, seed)
    policy.model.save_pretrained(str(folder))
    policy.tokenizer.save_pretrained(str(folder))


def training(folder: Path, count: int = 8, more: str = "", align: str = "") -> Path:
    """The file of a training of ``count`` turns, with a Measurer beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_instances(folder / "turns.jsonl", round_table(count))
    if not (folder / "measurer").exists():
        write_measurer(folder / "measurer")
    (folder / "refine.toml").write_text(CONFIG.format(more=more, align=align))
    return folder / "refine.toml"
