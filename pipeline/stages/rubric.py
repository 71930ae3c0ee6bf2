"""The stage `rubric`: signals of satisfaction, written once by a language model from scored training dialogues."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.corpus.session import Session
from apportion.decompose.method import Method, RubricMethod
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.rubric import writing_identity, writing_request
from apportion.decompose.session_methods.rubric import written
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import settings_identity
from apportion.llm_client.request import ChatRequest
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.stages.shared import check_asking, method_of, recorded_digest
from apportion.pipeline.stages.split import SPLIT

if TYPE_CHECKING:
    from apportion.corpus.splits.splits import SplitEpisodes
    from apportion.pipeline.engine.engine import Engine
    from apportion.pipeline.engine.store import Artifact

FILE = "rubric.toml"


def _write(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Scored training sessions to a rubric, which may be edited and given back as decompose.rubric.file."""
    request = _request(inputs.split_episodes(config.rating), config)
    rubric = written(request, config.decompose, work.tools)
    (work.out / FILE).write_text(rubric.toml(), encoding="utf-8")
    return Outputs()


def _request(episodes: SplitEpisodes, config: Config) -> ChatRequest:
    # Only training sessions: what a test session scored must not decide what its turns are worth.
    return writing_request(episodes.of("train"), config.decompose)


def rubric_request(engine: Engine) -> ChatRequest:
    """What this stage asks, or will ask once the sessions are shared out.

    Raises UnitError: The scores of the training sessions do not differ, or the context is too short.
    """
    from apportion.corpus.splits.splits import SplitEpisodes, split_sessions

    config, sessions = engine.config, engine.inputs(SPLIT, Unit()).sessions
    splits = split_sessions(sessions, config.split, config.rating, few=True).table
    episodes = tuple(episode for session in sessions for episode in session.episodes(config.rating))
    return _request(SplitEpisodes(episodes, splits), config)


def _settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    return {
        "rating": config.rating,
        "own": settings_identity(method_of(unit), config.decompose),
        "dialogues": config.decompose.rubric.dialogues,
        "prompt": writing_identity(),
        "recorded": recorded_digest(config),
    }


def writes(config: Config) -> bool:
    """Whether a run with this configuration has a rubric written."""
    return config.decompose.rubric.file is None and any(
        isinstance(METHODS[name], RubricMethod) for name in config.decompose.judging
    )


def is_unwritten(engine: Engine, method: Method) -> bool:
    """Whether ``method`` judges by a rubric that this stage has yet to write, so that its questions are not known."""
    return isinstance(method, RubricMethod) and writes(engine.config) and not engine.finished(RUBRIC.name)


def _applies(config: Config, unit: Unit, session: Session | None) -> bool:
    return isinstance(method_of(unit), RubricMethod) and writes(config)


def with_rubric(
    settings: DecomposeSettings, artifacts: Collection[Artifact], other: Path | None = None
) -> DecomposeSettings:
    """``settings`` with the rubric that this stage has written; where it has none, with the one they name or other."""
    files = [artifact.folder / FILE for artifact in artifacts]
    given = settings.rubric.model_copy(update={"file": next(iter(files), settings.rubric.file or other)})
    return settings.model_copy(update={"rubric": given})


RUBRIC = Stage(
    "rubric",
    _write,
    needs=("split",),
    per="corpus",
    over=("method",),
    help="Have a language model write the rubric of llm-rubric from scored training sessions.",
    settings=_settings,
    applies=_applies,
    asks=True,
    check=check_asking,
    scored=True,
)
