"""The social trainings by name: what the policy scores before and after, and the folder that plays as it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from apportion.environments.agents.agent import Agent
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path, place_folder, temporary_name
from apportion.foundation.intervals.estimate import IntervalEstimate
from apportion.rlhf.policy.folder import write_policy, write_window
from apportion.rlhf.social.episodes import Scores, evaluate
from apportion.rlhf.social.run import SocialRun, SocialSettings, begin_run

METHODS: Mapping[str, str] = {
    "sotopia-pi": "apportion.rlhf.social.sotopia_pi:train",
    "dsi": "apportion.rlhf.social.dsi:train",
    "sdpo": "apportion.rlhf.social.sdpo:train",
    "ppdpp": "apportion.rlhf.social.ppdpp:train",
    "epo": "apportion.rlhf.social.epo:train",
    "dat": "apportion.rlhf.social.dat:train",
}
"""By name the ``module:function`` that is called with a `SocialRun` and returns a `Learned`, or None."""
EVALUATED = 2
"""Episodes of each held-out task and seat, before and after."""
REPORT = "social.json"
"""What a folder says of its training: settings, and scores before and after."""


class Learned(Protocol):
    """What a method gives that learns more than adapters: who plays it, and what is written beside the policy.

    A method whose adapters are all that it learned returns None: then the policy itself plays.
    """

    @property
    def agent(self) -> Agent:
        """Who plays what was learned."""

    @property
    def start(self) -> Scores:
        """What it scored on the held-out tasks before it was reinforced."""

    def write(self, folder: Path) -> None:
        """Write what `agent` needs beside the policy into the policy's folder, which is there."""


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
        rows = {"before": self.before, "after": self.after}
        scores = {name: {"by_task": dict(row.by_task), "agreed": row.agreed} for name, row in rows.items()}
        means = {"before": self.before.mean, "after": self.after.mean, "gain": self.gain}
        return {
            "method": self.method,
            "policy": self.policy,
            **scores,
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
    Raises InputError: no such method, something at ``out``, or as `begin_run`.
    """
    if method not in METHODS:
        raise InputError(f"no social training {method!r}; {did_you_mean(method, METHODS, ', '.join(METHODS))}")
    check_path(out)
    if out.exists() or out.is_symlink():
        raise InputError(f"{out} exists, and is not replaced. Name a folder that is not there yet.")
    module, _, name = METHODS[method].partition(":")
    run = begin_run(policy, settings, seed, tell)
    before = evaluate(run.agent(), run.tasks.held_out, run.partner, EVALUATED)
    learned: Learned | None = getattr(import_module(module), name)(run)
    agent = run.agent() if learned is None else learned.agent
    after = evaluate(agent, run.tasks.held_out, run.partner, EVALUATED)
    if learned is not None:
        tell(f"over its own start: {after.less(learned.start).text(2, sign=True)}")
    report = SocialReport(method, policy, before, after, "policy" if learned is None else method)
    _write(out, run, report, learned)
    return report


def _write(out: Path, run: SocialRun, report: SocialReport, learned: Learned | None) -> None:
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
