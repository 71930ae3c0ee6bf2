"""The stage `select-sessions`: which sessions a language model judges, where `decompose.llm.max_sessions` is set."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from apportion.corpus.session import Session
from apportion.decompose.methods import METHODS
from apportion.decompose.settings_key import settings_identity
from apportion.foundation.errors import UnitError
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.results.run_folder import CHOSEN
from apportion.pipeline.stages.shared import fix_threads, recorded_digest

if TYPE_CHECKING:
    from apportion.pipeline.engine.engine import Engine


def _choose(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Scores and replies to the sessions that are asked about."""
    fix_threads(config)
    from apportion.decompose.ensembling.active_selection import choose_sessions
    from apportion.decompose.reactions.extract import arrange

    llm = config.decompose.llm
    assert llm.max_sessions is not None, "there is a unit without a number of sessions"
    episodes = inputs.split_episodes(config.rating)
    features = inputs.table("features", "utterance_features")
    reactions = arrange(inputs.required("react", "reactions"), episodes.all, features)
    chosen = choose_sessions(
        reactions, episodes.sessions("train"), llm.max_sessions, llm.selection_seed, config.decompose.reaction,
        _recorded(inputs.sessions, config),
    )  # fmt: skip
    return Outputs(documents={CHOSEN: list(chosen)})


def _recorded(sessions: Collection[Session], config: Config) -> frozenset[str] | None:
    """The sessions that a recording has replies about; None where a server is asked."""
    settings = config.decompose
    plain = [name for name in settings.some_judge if METHODS[name].reads("llm") and not METHODS[name].reads_descriptors]
    if settings.llm.provider != "recorded" or config.run.recorded is None or not plain:
        return None
    from apportion.decompose.session_methods.llm_requests import session_requests
    from apportion.llm_client.cache.recorded import RecordedReplies

    replies = RecordedReplies(config.run.recorded)

    def covered(session: Session) -> bool:
        try:
            asked = session_requests(METHODS[plain[0]], session, config.rating, None, settings)
        except UnitError:
            return False
        return bool(asked) and all(replies.find(request) is not None for request, _ in asked)

    return frozenset(session.session_id for session in sessions if covered(session))


def _settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """How many, the seed, and by what sessions are read; of recorded replies also the questions that they answer."""
    llm, recorded = config.decompose.llm, recorded_digest(config)
    asked = [settings_identity(METHODS[name], config.decompose) for name in config.decompose.some_judge]
    return {
        "rating": config.rating,
        "threads": config.run.threads,
        "sessions": llm.max_sessions,
        "seed": llm.selection_seed,
        "reaction": config.decompose.reaction.plain(),
        "recorded": recorded and [recorded, asked],
    }


def chosen_sessions(engine: Engine) -> frozenset[str] | None:
    """The ids of the sessions that are judged; None where all are, or nothing was chosen yet."""
    artifacts = list(engine.finished("select-sessions").values())
    return frozenset(artifacts[0].document(CHOSEN)) if artifacts else None


CHOOSE = Stage(
    "select-sessions",
    _choose,
    needs=("split", "features", "react"),
    per="corpus",
    help="Choose the sessions that a language model judges, where decompose.llm.max_sessions says how many.",
    settings=_settings,
    applies=lambda config, unit, session: bool(config.decompose.some_judge),
    scored=True,
    tells_others_apart=True,
)
