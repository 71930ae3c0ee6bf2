"""The benchmark: every method that a corpus can feed, judged side by side, as a page, a document and a picture.

It has no engine of its own: a configuration is made, the declared stages up to `evaluate` are run, and what they left
is written down.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apportion.corpus.session import Session
from apportion.decompose.caveats import longest_episode, same_as
from apportion.decompose.method import Input, LabelStudent, PretrainedReactions, RolloutMethod, StudentMethod
from apportion.decompose.methods import METHODS, find_method
from apportion.decompose.reactions.pretrained import read_prior
from apportion.decompose.reward_models import taught_by
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.config import Config
from apportion.pipeline.default_methods import choose_methods
from apportion.pipeline.engine.load_corpus import take_in
from apportion.pipeline.presets import preset_notes
from apportion.pipeline.stages.shared import trained_models

PAGE, DOCUMENT, PICTURE = "benchmark.md", "benchmark.json", "benchmark.png"
BESIDE_PLAY = frozenset({"episode-score"})
"""Baselines of what plays sessions on. They divide nothing: their rewards sum to T scores, and order no turn."""


@dataclass(frozen=True)
class BenchmarkPlan:
    """The methods to compare, and why others are not among them (name to reason)."""

    methods: tuple[str, ...]
    left_out: dict[str, str]


def compared_methods(
    asked: Sequence[str],
    more: Sequence[str],
    sessions: Sequence[Session],
    settings: DecomposeSettings = DecomposeSettings(),  # noqa: B008 (it cannot be changed)
) -> BenchmarkPlan:
    """The methods of ``asked``; where it is empty, all registered ones that need no language model, and ``more``.

    Methods that packages bring are among them. Those that learn from behaviour in numbers are left out where nothing
    was recorded, and unless they are asked for, those that would do the same as another on dialogues of this length.

    Raises InputError: an unknown method, one named twice, or none left.
    """
    for name in asked:
        find_method(name)
    if len(set(asked)) != len(asked):
        raise InputError(f"--method {', '.join(asked)}: name each method once.")
    names = asked or [name for name in METHODS if name in more or not _is_only_by_name(name)]
    recorded = any(session.media for session in sessions)
    left_out = {name: "the corpus has no recordings" for name in names if METHODS[name].reads_features and not recorded}
    if settings.intensity.model is None:
        no_model = "no model of vocal intensity is named (decompose.intensity.model)"
        left_out |= {name: no_model for name in names if Input.VOICE in METHODS[name].inputs and name not in left_out}
    left_out |= {
        name: f"no model that measures is named (decompose.{name.replace('-', '_')}.model)"
        for name in names
        if METHODS[name].measures_here and settings.section_of(METHODS[name]).model is None
    }
    left_out |= {
        name: "no model of reactions is named (decompose.reaction.pretrained)"
        for name in names
        if isinstance(METHODS[name], PretrainedReactions) and settings.section_of(METHODS[name]).pretrained is None
    }
    left_out |= {
        name: f"it reads what {lacking} has judged" for name in names if (lacking := METHODS[name].missing(names))
    }
    if not asked:
        left_out |= _reading_otherwise([name for name in names if name not in left_out], settings)
        longest = longest_episode(episode for session in sessions for episode in session.episodes())
        for place, name in enumerate(names):
            if name not in more and (why := same_as(name, names[:place], settings, longest)):
                left_out[name] = why
        left_out |= {name: _not_unasked(name) for name in METHODS if name not in names}
    kept = tuple(name for name in names if name not in left_out)
    if not kept:
        raise InputError(f"--method {', '.join(names)}: {'; '.join(sorted(set(left_out.values())))}.")
    return BenchmarkPlan(kept, left_out)


def _is_only_by_name(name: str) -> bool:
    method = METHODS[name]
    return method.asks or isinstance(method, RolloutMethod | StudentMethod | LabelStudent) or name in BESIDE_PLAY


def _reading_otherwise(names: Sequence[str], settings: DecomposeSettings) -> dict[str, str]:
    """Methods whose own model of reactions was learnt on replies read in another way, and in which."""
    found = {}
    for name in names:
        method = METHODS[name]
        if isinstance(method, PretrainedReactions) and method.section is not None and method.section.fixed:
            section = settings.section_of(method)
            if differs := read_prior(section.pretrained).card.reads_otherwise(section.reading()):
                found[name] = differs
    return found


def _not_unasked(name: str) -> str:
    """Why a method is compared only where somebody names it."""
    if METHODS[name].asks or isinstance(METHODS[name], StudentMethod):
        return "it asks a language model"
    if isinstance(METHODS[name], LabelStudent):
        return "it learns from people's labels of training sessions; name it to compare it"
    if name in BESIDE_PLAY:
        return "it is the baseline of methods that play sessions on and divides no score; name it to compare it"
    return "it plays sessions on in the environment that made them; name it to compare it"


def configure(
    base: Config, asked: Sequence[str], more: Sequence[str], session: str | None
) -> tuple[Config, BenchmarkPlan]:
    """``base`` with the methods chosen and the rating found. Raises InputError: the corpus cannot be used, unknown
    methods, or no such session.
    """
    intake = take_in(base)
    if session is not None and session not in intake.sessions:
        hint = did_you_mean(session, list(intake.sessions), f"see `apportion inspect {base.corpus}`.")
        raise InputError(f"--session {session!r}: {base.corpus} has no such session that can be used; {hint}")
    choice = compared_methods(asked, more, list(intake.sessions.values()), base.decompose)
    own = base.decompose.method if more else choose_methods(intake.sessions, intake.rating).method
    names = sorted(choice.methods, key=own.__eq__)  # The run's own stands last.
    decompose = base.decompose.choosing(names)
    return base.model_copy(update={"decompose": decompose, "rating": intake.rating}), choice


def write_benchmark(config: Config, choice: BenchmarkPlan, session: str | None) -> dict[str, Path]:
    """Write page, document and picture of a finished run into its folder.

    Returns what was written; without an evaluation nothing is, and files of an earlier run are removed.
    """
    from apportion.evaluation.evaluation import Evaluation
    from apportion.pipeline.benchmark import session as benchmark_session
    from apportion.pipeline.benchmark.page import page, picture

    files = {name: config.output / name for name in (PAGE, DOCUMENT, PICTURE)}
    engine = open_engine(config)
    finished = list(engine.finished("evaluate").values())
    if not finished:
        for path in files.values():
            path.unlink(missing_ok=True)
        return {}
    document = finished[0].document("evaluation")
    shown = benchmark_session.shown_session(engine, session)
    titles = {name: METHODS[name].title for name in choice.methods}
    titles |= {
        name: f"{taught.method.title}: the reward model trained on that objective itself"
        for name in trained_models(config)
        if (taught := taught_by(name)).direct
    }
    basis = {
        "corpus": config.corpus.name,
        "rating": config.rating,
        "sessions": len(engine.sessions),
        "seeds": list(config.seeds),
        "methods": titles,
        "left_out": choice.left_out,
        "notes": list(preset_notes(config, aligns=False)),
        "constraint": config.decompose.constraint,
    }
    text = page(Evaluation.from_json(document), basis, shown, PICTURE)
    full = {**basis, "session": shown.to_json() if shown else None, "evaluation": document}
    written = {"benchmark": files[PAGE], "its figures": files[DOCUMENT]}
    write_atomically(files[PAGE], text)
    write_atomically(files[DOCUMENT], json.dumps(full, indent=1, sort_keys=True, allow_nan=False) + "\n")
    if shown is None:
        files[PICTURE].unlink(missing_ok=True)
        return written
    write_atomically(files[PICTURE], picture(shown))
    return {**written, "one session": files[PICTURE]}
