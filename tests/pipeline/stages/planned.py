"""The units of the declared stages for three made-up sessions: one recorded, one not, one without a score."""

from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.pipeline.config import Config
from apportion.pipeline.engine.plan import Plan
from apportion.pipeline.stages.registry import STAGES

BY_NAME = {stage.name: stage for stage in STAGES.values()}


def session(name: str, recorded: bool = False, rated: bool = True) -> Session:
    turns = (Turn(0, "user", "hi"), Turn(1, "bot", "hello"), Turn(2, "user", "bye"))
    ratings = (Rating("user", "bot", "mood", 3.0, 1.0, 5.0),) if rated else ()
    return Session(name, turns, ratings, (Media("user", "video", "u.mp4"),) if recorded else ())


def config(
    methods: tuple[str, ...], seeds: tuple[int, ...] = (0, 1), objective: str = "distilled", **decompose: object
) -> Config:
    return Config.model_validate(
        {
            "corpus": "c",
            "rating": "mood",
            "seeds": seeds,
            "decompose": {"method": methods[-1], "compare": methods[:-1], **decompose},
            "train_reward": {"objective": objective},
        }
    )


def plan(methods: tuple[str, ...], seeds: tuple[int, ...] = (0, 1), **train: object) -> Plan:
    config = Config.model_validate(
        {
            "corpus": "c",
            "rating": "mood",
            "seeds": seeds,
            "decompose": {"method": methods[-1], "compare": methods[:-1]},
            "train_reward": train,
        }
    )
    sessions = {s.session_id: s for s in (session("a", recorded=True), session("b"), session("c", rated=False))}
    return Plan(STAGES, config, sessions)
