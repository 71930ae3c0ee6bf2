"""The social trainings by name: what the policy scores before and after, and the folder that plays as it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, place_folder, temporary_name
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.rlhf.policy.folder import write_policy, write_window
from apportion.rlhf.social.episodes import Scores
from apportion.rlhf.social.run import SocialRun, SocialSettings, begin_run
from apportion.rlhf.training.rng_state import quiet_transformers

if TYPE_CHECKING:
    from apportion.rlhf.social.planner import LearnedPlanner

METHODS = {"sotopia-pi": 1, "dsi": 1, "sdpo": 1, "ppdpp": 2, "epo": 2, "dat": 1}
"""By name the fewest ``draws`` that it learns from: REINFORCE compares episodes of a task and seat with each other.

Each is a file here, whose ``train`` is called with a `SocialRun` and returns a `LearnedPlanner`, or None."""
REPORT = "social.json"
"""What a folder says of its training: settings, and scores before and after."""


@dataclass(frozen=True)
class SocialReport:
    """Goal scores on the held-out tasks, ``before`` training and ``after`` it; ``agent@OUT`` plays what it wrote."""

    method: str
    policy: str
    before: Scores
    after: Scores
    agent: str = "policy"

    @property
    def gain(self) -> IntervalEstimate:
        """After less before, paired by task."""
        return self.after.less(self.before)

    def text(self) -> str:
        """For people, in one line."""
        return (
            f"{self.method}, from {self.policy}: goal score on {len(self.before.by_task)} held-out tasks "
            f"{self.before.mean.text(2)} before, {self.after.mean.text(2)} after; gain {self.gain.text(2, sign=True)} "
            f"(agreed {self.before.agreed:.0%}, then {self.after.agreed:.0%})"
        )

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        means = {"before": self.before.mean, "after": self.after.mean, "gain": self.gain}
        return {
            "method": self.method,
            "policy": self.policy,
            "before": asdict(self.before),
            "after": asdict(self.after),
            "means": {name: [one.value, one.low, one.high] for name, one in means.items()},
        }


def train_social(
    method: str,
    policy: str,
    out: Path,
    settings: SocialSettings,
    seed: int,
    tell: Callable[[str], None] = lambda line: None,
) -> SocialReport:
    """Train ``policy`` (as `begin_run` takes it) by ``method`` and write the folder ``out``, which `policy@OUT` plays.

    ``tell``: is told a line of what was learned after each piece of it. Equal settings and seeds give equal bytes.
    Raises InputError: no such method, too few draws for it, something at ``out``, or as `begin_run`.
    """
    if method not in METHODS:
        raise InputError(f"no social training {method!r}; {did_you_mean(method, METHODS, ', '.join(METHODS))}")
    if settings.rounds and settings.draws < METHODS[method]:
        raise InputError(
            f"draws = {settings.draws}: {method} compares an episode with others of its task and seat; set "
            f"{METHODS[method]} at least"
        )
    check_path(out)
    if out.exists() or out.is_symlink():
        raise InputError(f"{out} exists, and is not replaced. Name a folder that is not there yet.")
    with quiet_transformers():
        run = begin_run(policy, settings, seed, tell)
        before = run.evaluate(run.agent())
        train = resolve_name(f"apportion.rlhf.social.{method.replace('-', '_')}:train")
        learned: LearnedPlanner | None = train(run)  # None: the policy's adapters are all that was learned.
        after = run.evaluate(run.agent() if learned is None else learned.agent)
        if learned is not None:
            tell(f"over its own start: {after.less(learned.start).text(2, sign=True)}")
        report = SocialReport(method, policy, before, after, "policy" if learned is None else method)
        _write(out, run, report, learned)
    return report


def _write(out: Path, run: SocialRun, report: SocialReport, learned: LearnedPlanner | None) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = temporary_name(out)
    try:
        write_policy(scratch, run.policy, run.model, _card(run, report))
        write_window(scratch, run.settings.window)
        if learned is not None:
            learned.write(scratch)
        told = {"settings": run.settings.plain(), "seed": run.seed, **report.to_json()}
        (scratch / REPORT).write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        place_folder(scratch, out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _card(run: SocialRun, report: SocialReport) -> str:
    tiny = run.policy.name == "tiny"
    note = "Its base, a tiny LLaMA that has read one script's bargains, is in `base`. " if tiny else ""
    return (
        f"# A policy trained by {report.method}\n\n{report.text()}.\n\n{note}Rewards are exact: what the rules say of "
        f"bundled bargains. Partner: `{run.settings.partner}`. Seed: {run.seed}. `{REPORT}` has settings and scores.\n"
    )
