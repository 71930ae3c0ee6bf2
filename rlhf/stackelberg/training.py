"""The training of a Refiner: turns in, adapters out, by GRPO through `apportion.rlhf.align` (section 3.4)."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError

from apportion.corpus.files.textfile import read_text
from apportion.corpus.schema import SPLITS
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, digest, locked, write_atomically
from apportion.foundation.progress import Progress, silent
from apportion.foundation.settings import problems
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.stackelberg.dialogues import prompt_episodes, warmup_episodes
from apportion.rlhf.stackelberg.epoch_checkpoints import EpochKeeper, epoch_folders
from apportion.rlhf.stackelberg.instances.instance import Instance, with_intents, write_instances
from apportion.rlhf.stackelberg.instances.sources import turns_of
from apportion.rlhf.stackelberg.refiner import CARD
from apportion.rlhf.stackelberg.reward import StackelbergReward, counted, measurer_of, reward_with
from apportion.rlhf.stackelberg.settings import RefineSettings, RewardSettings
from apportion.rlhf.stackelberg.validation import TestSet, measured, split

LEARNED, UNSEEN, CURVE, METRICS = "learned.jsonl", "held_out.jsonl", "curve.json", "metrics.json"
PROBABILITIES = "probabilities.sqlite"
"""The answers of a Measurer at a server: a killed training pays for none of them twice."""

TURNS = "turns"
"""In the card: the digest of all turns, learned from and held out; a card without one is of before there was any."""


@dataclass(frozen=True)
class TrainedRefiner:
    """What a training has left: the folder, the curve on held-out turns, and the last step's metrics by name."""

    folder: Path
    curve: tuple[TestSet, ...]
    last: dict[str, float]
    turns: int


def read_settings(path: Path) -> RefineSettings:
    """The settings of a file; paths in it count from its folder.

    Raises
    ------
    InputError
        It cannot be read, is no TOML, or a setting is unknown or out of range.
    """
    try:
        settings = RefineSettings.model_validate(tomllib.loads(read_text(path)))
        settings.align_settings(Path("turns.jsonl"), 1)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}. Correct that line.") from None
    except ValidationError as error:
        raise InputError(f"{path}: {'; '.join(problems(error))}.") from None
    here = path.resolve().parent
    return settings.model_copy(
        update={
            "instances": tuple(here / one for one in settings.instances),
            "output": here / settings.output,
            "measurer": settings.measurer.model_copy(update={"model": _anchored(settings.measurer.model, here)}),
            "align": {**settings.align, "policy": _anchored(settings.aligned["policy"], here)},
        }
    )


def train_refiner(
    settings: RefineSettings,
    progress: Progress = silent,
    told: Callable[[str], None] = lambda text: None,
) -> TrainedRefiner:
    """Train a Refiner, or go on where a killed training was; a finished one is measured again, not trained.

    Parameters
    ----------
    settings : RefineSettings
    progress : callable
        ``progress(done, total, text)`` after every step.
    told : callable
        Gets what a person should know, a sentence each.

    Raises
    ------
    InputError
        Turns without intents, a model that cannot be loaded, an output that holds another training or is in use.
    UnitError
        A reward or loss that is not finite, an alarm, or a damaged checkpoint.
    """
    learned, unseen = _turns(settings)
    out = settings.output
    for path in (out, *out.parents):
        check_path(path)
        if path.exists() and not path.is_dir():
            raise InputError(f"{path}: a file, where output = {str(out)!r} needs a folder; choose another output.")
    busy = f"{out}: another process trains there. Wait for it, or choose another output."
    with locked(out / ".lock", busy, InputError):
        _claim(settings, digest([asdict(one) for one in (*learned, *unseen)]))
        write_instances(out / LEARNED, learned)
        if unseen:
            write_instances(out / UNSEEN, unseen)
        align = settings.align_settings(out / LEARNED, 1)
        a_step = align.batch_size // align.num_generations
        steps = math.ceil(len(learned) / a_step)
        align = settings.align_settings(out / LEARNED, steps * settings.epochs)
        told(f"{len(learned):,} turns to learn from, {len(unseen):,} held out; {steps:,} steps an epoch")
        if settings.measurer.server is not None:
            # Whether the server gives probabilities at all is told before anything is warmed up or loaded.
            _reward(settings, learned[:1]).of(learned[0], [learned[0].said])
        last = _align(settings, align, learned, steps, progress)
        curve = _curve(settings, align, unseen[: settings.most_held_out]) if unseen else ()
        return TrainedRefiner(out, curve, last, len(learned))


def _turns(settings: RefineSettings) -> tuple[list[Instance], list[Instance]]:
    turns = turns_of(settings.instances, instances=10**9, seed=settings.seed).instances
    ready = with_intents(turns, ", ".join(map(str, settings.instances)))
    learned, unseen = split(ready, settings.held_out, settings.seed)
    for one in ready:
        counted(one, settings.k)
    drawn = {game: [one for one in learned if one.game == game] for game in {one.game for one in learned}}
    kept = {one.name for each in drawn.values() for one in _some(each, settings)}
    return [one for one in learned if one.name in kept], unseen


def _some(turns: Sequence[Instance], settings: RefineSettings) -> Sequence[Instance]:
    from random import Random

    most = settings.count
    return Random(f"{settings.seed}/count").sample(list(turns), most) if len(turns) > most else turns


def _align(
    settings: RefineSettings, align_by: AlignSettings, learned: Sequence[Instance], steps: int, progress: Progress
) -> dict[str, float]:
    from apportion.rlhf.align import align
    from apportion.rlhf.training.job import Asking, Job

    out = settings.output
    if (out / METRICS).is_file():
        found: dict[str, float] = json.loads((out / METRICS).read_text(encoding="utf-8"))
        return found
    keeper = EpochKeeper(out / "checkpoints", out, steps)
    keeper.keep()
    job = Job(
        episodes=warmup_episodes(learned, settings.stages),
        splits=pa.table({"session_id": [], "split": []}, schema=SPLITS.arrow),
        reward_model=None,
        settings=align_by,
        seed=settings.seed,
        out=out,
        checkpoints=out / "checkpoints",
        asking=Asking(cache=out / PROBABILITIES),
        called="align",
        prompts=prompt_episodes(learned, settings.stages),
    )
    history, _ = align(job, keeper.watched(progress))
    keeper.finish()
    rows = [row for row in history.to_pylist() if row["step"] == align_by.steps]
    last = {row["metric"]: row["value"] for row in rows}
    write_atomically(out / METRICS, json.dumps(last, indent=1, sort_keys=True) + "\n")
    return last


def _curve(settings: RefineSettings, align: AlignSettings, unseen: Sequence[Instance]) -> tuple[TestSet, ...]:
    """The reward on held-out turns before the training and after each epoch."""
    from apportion.rlhf.policy.opening import open_policy

    out = settings.output
    reward = _reward(settings, unseen)
    folders: list[Path | None] = [None, *epoch_folders(out)]
    rows = []
    for epoch, folder in enumerate(folders):
        name = str(folder) if folder is not None else start_of(out)
        policy = open_policy(name, align.window, align.placement, name)
        rows.append(measured(epoch, policy, unseen, align.window, reward, settings.samples))
    text = json.dumps([row.to_json() for row in rows], indent=1, sort_keys=True)
    write_atomically(out / CURVE, text + "\n")
    return tuple(rows)


def start_of(folder: Path) -> str:
    """The Refiner before any learning: the base that the adapters in ``folder`` stand on."""
    from apportion.rlhf.policy.opening import base_of

    return base_of(folder)


def opened(folder: Path) -> Policy:
    """The Refiner in a folder, in the window that it was trained with; raises InputError where there is none."""
    from apportion.rlhf.policy.context_config import read_window
    from apportion.rlhf.policy.opening import open_policy
    from apportion.rlhf.policy_settings import Placement, Window

    return open_policy(str(folder), Window.model_validate(read_window(str(folder))), Placement(), folder.name)


def _reward(settings: RefineSettings, instances: Sequence[Instance]) -> StackelbergReward:
    rewards = RewardSettings(
        instances=settings.output / UNSEEN, k=settings.k, stages=settings.stages, impact=settings.impact
    )
    return reward_with(instances, measurer_of(settings.measurer, settings.output / PROBABILITIES), rewards)


def _claim(settings: RefineSettings, turns: str) -> None:
    """Write what the training is, with the digest of its turns; raises InputError where another has begun to learn."""
    record = settings.model_dump(mode="json", exclude={"output"})
    path = settings.output / CARD
    # Before there are checkpoints nothing is lost: a mistake in a first file can be corrected.
    begun = (settings.output / "checkpoints").exists() or (settings.output / METRICS).exists()
    if path.is_file() and begun:
        try:
            # What it does not say is as it was before there was a setting for it.
            card = json.loads(path.read_text(encoding="utf-8"))
            known = card.pop(TURNS, turns)
            held = RefineSettings.model_validate(card)
            same = held.model_dump(mode="json", exclude={"output"}) == record
        except (ValueError, AttributeError, TypeError):
            same = False
        if not same:
            raise InputError(f"{path}: another training is there. Choose another output, or delete the folder.")
        if known != turns:
            raise InputError(
                f"{path}: the training there began with other turns than {', '.join(map(str, settings.instances))} "
                f"holds now; those are in {LEARNED} and {UNSEEN} beside it. Bring the file back, or choose another "
                "output."
            )
        return
    write_atomically(path, json.dumps({**record, TURNS: turns}, indent=1, sort_keys=True) + "\n")


def _anchored(model: str, here: Path) -> str:
    """A model's folder, counted from the file that names it; a name of the Hub as it is."""
    return str((here / model).resolve()) if (here / model).is_dir() or model.startswith((".", "~")) else model
