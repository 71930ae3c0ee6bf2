"""All worlds behind one server of OpenEnv 0.10 (`openenv` on PyPI, in an environment of its own: it brings much).

    python -m apportion.environments.wrappers.openenv --with conceding,claims --port 8000

Episodes are WebSocket sessions at ``/ws``, beside each other. ``reset`` takes ``seed`` and, where a caller wants other
than the first of each, ``world``, ``task``, ``seats`` (numbers from 0) and ``others``. ``step`` takes an act of the
agent that the last observation names: ``kind`` and ``text``, perhaps ``data``; or ``text`` alone, as in a corpus. The
reward is the first seat's outcome; the metadata of the last observation has each seat's, its dimensions and its credit
by call. Others are those whom the server was started with: no caller names files or models.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path
from random import SystemRandom
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from apportion.environments.agents.agent import Agent
from apportion.environments.worlds import WORLDS
from apportion.environments.wrappers.seated_episode import SeatedEpisode
from apportion.environments.wrappers.world_tasks import world_tasks
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec

try:
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
    from openenv.core.env_server.types import ConcurrencyConfig, EnvironmentMetadata
    from starlette.datastructures import Headers
    from starlette.responses import PlainTextResponse
except ImportError as error:
    raise ImportError(f"{error}. Install it with `pip install 'openenv>=0.10,<0.11'`.") from None

HOST, PORT, MOST_SESSIONS = "127.0.0.1", 8000, 64
SESSION_S = 3600.0
"""After how many seconds without a request a session is ended, s: one that nobody closes would keep its place."""
TAKEN: Mapping[str, tuple[type, bool, str]] = {
    "world": (str, False, "the name of a world"),
    "task": (int, False, "a number from 0"),
    "seats": (int, True, "a list of numbers from 0"),
    "others": (str, True, "a list of agents' names"),
}
"""Of what a caller may name: its type, whether it is a list of them, and how that is told."""
WITH = "who can have the other seats, with commas: scripts, a package's agents and prompts, by name or NAME@WHAT"
_Thing = TypeVar("_Thing")
Others = Mapping[str, Mapping[str, Agent]]
"""By world and name, who can have the other seats."""


class WorldAction(Action):  # type: ignore[misc]
    """One act."""

    kind: str = Field("", description="kind of act, one of the observation's `legal`; empty: the text says it")
    text: str = Field("", description="the words")
    data: Any = Field(None, description="what the rules read, where the words do not say it")


class WorldObservation(Observation):  # type: ignore[misc]
    """What the agent that is asked knows."""

    agent: str = Field(description="who is asked; empty: it is over")
    text: str = Field(description="what is new to it since it was last asked; at first all that it knows")
    legal: tuple[str, ...] = Field((), description="kinds of acts that it may do now")
    problem: str = Field("", description="why the last act was none, and what was done then")


class WorldState(State):  # type: ignore[misc]
    """What is played; nothing of it is hidden from a seat."""

    world: str = ""
    task: int = 0
    seats: tuple[int, ...] = ()


class WorldsEnvironment(Environment):  # type: ignore[misc]
    """One session: an episode after the other, of any world.

    ``others``: By world, who can have the other seats; the first where a caller names nobody.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, others: Others) -> None:
        super().__init__()
        self._others = others
        self._state = WorldState()
        self.episode: SeatedEpisode | None = None

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        world: str = "",
        task: int = 0,
        seats: Sequence[int] = (0,),
        others: Sequence[str] = (),
        **ignored: Any,
    ) -> WorldObservation:
        """Begin an episode; one that is refused leaves the last one as it is.

        Raises InputError: there is no such world, task, seat or agent, or something is of another type.
        """
        _check_types(world=world, task=task, seats=seats, others=others)
        world = world or next(iter(self._others))
        there = _of("world", world, self._others)
        sitting = [_of(f"others of {world}", name, there) for name in others or list(there)[:1]]
        tasks = world_tasks(world)
        episode = SeatedEpisode(tasks.environments, sitting, tasks.reward)
        episode.begin(task, seats, SystemRandom().getrandbits(31) if seed is None else seed)
        self.episode = episode
        self._state = WorldState(episode_id=episode_id, world=world, task=task, seats=tuple(seats))
        return self._observed(None)

    def step(self, action: WorldAction, timeout_s: float | None = None, **ignored: Any) -> WorldObservation:
        """Do an act, and play on. Raises InputError: no episode has begun, or it is over."""
        if self.episode is None:
            raise InputError("no episode: send a reset first, in the same WebSocket session")
        given = {"kind": action.kind, "text": action.text, "data": action.data} if action.kind else action.text
        problem = self.episode.act(given)
        self._state.step_count += 1
        return self._observed(problem)

    @property
    def state(self) -> WorldState:
        """What is played."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """What this is."""
        told = ", ".join(f"{world.name} ({world.title})" for world in WORLDS if world.name in self._others)
        return EnvironmentMetadata(name="apportion", description=f"Simulated dialogues: {told}", version="0.1.0")

    def _observed(self, problem: str | None) -> WorldObservation:
        episode = self.episode
        assert episode is not None
        agent, problem = episode.asked, problem or ""
        if agent is not None:
            legal = episode.game.legal(agent)
            return WorldObservation(agent=agent, text=episode.news(agent), legal=legal, problem=problem)
        told = {"seats": {name: episode.ending(name) for name in episode.own}, "seed": episode.game.seed}
        first, news = episode.own[0], episode.news(episode.own[0])
        reward = episode.reward(first)
        return WorldObservation(agent="", text=news, problem=problem, done=True, reward=reward, metadata=told)


def _of(what: str, name: str, there: Mapping[str, _Thing]) -> _Thing:
    if name not in there:
        raise InputError(f"{what}: no {name!r}; this server has {', '.join(there)}")
    return there[name]


def _check_types(**given: Any) -> None:
    """Raise InputError where JSON has brought another type than `WorldsEnvironment.reset` takes."""
    for name, value in given.items():
        kind, many, allowed = TAKEN[name]
        if many and (isinstance(value, str) or not isinstance(value, Sequence)):
            raise InputError(f"{name} {value!r:.200}: give {allowed}")
        if not all(type(one) is kind for one in (value if many else [value])):
            raise InputError(f"{name} {value!r:.200}: give {allowed}")


class SameOrigin:
    """The application, closed to pages of other sites: in the operator's browser they could spend the model's money.

    A browser says by an Origin whose page asks; programs send none. Names other than ``host`` and localhost are no
    server's own, since a stranger's name can be made to point here; an address in figures cannot.
    """

    def __init__(self, app: Any, host: str = HOST) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """An ASGI request."""
        if scope["type"] == "lifespan" or self._own(Headers(scope=scope)):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse("Another site's page may not ask this server.\n", 403)(scope, receive, send)

    def _own(self, headers: Headers) -> bool:
        origins, host = headers.getlist("origin"), headers.get("host", "")
        if not origins:
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
            own = name in {self.host, "localhost"} or bool(ip_address(name))
        except ValueError:
            return False
        return own and {f"http://{host}", f"https://{host}"}.issuperset(origins)


def application(others: Others, sessions: int = MOST_SESSIONS, host: str = HOST) -> Any:
    """The server, as an ASGI application; ``host``: a name that it is called by in browsers.

    Raises InputError: no world has anybody for its other seats.
    """
    if not others:
        raise InputError("no world to serve: none has an agent of these names")
    limits = ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=SESSION_S)
    how = {"env_name": "apportion", "concurrency_config": limits, "state_cls": WorldState}
    app = create_app(lambda: WorldsEnvironment(others), WorldAction, WorldObservation, **how)
    app.add_middleware(SameOrigin, host=host)
    return app


def others_called(names: Sequence[str], chosen: ModelSpec, cache: Path, stack: ExitStack) -> Others:
    """By world those of the names who can play it; clients are closed with the stack.

    Raises InputError: somebody who plays no world, or a model that cannot be asked.
    """
    found: dict[str, Mapping[str, Agent]] = {}
    for world in WORLDS:
        roster = world_tasks(world.name).roster
        known = [*roster.registry.names(), *roster.form.prompts.names()]
        here = [name for name in names if name.partition("@")[0] in known]
        if here:
            found[world.name] = stack.enter_context(roster.agents_of(here, chosen, cache))
    for name in names:
        if not any(name in there for there in found.values()):
            raise InputError(f"--with {name!r}: plays no world; docs/guides/worlds.md lists who plays which")
    return found


def main(given: Sequence[str] | None = None) -> None:
    """Serve until stopped."""
    import uvicorn

    parser = argparse.ArgumentParser("python -m apportion.environments.wrappers.openenv", description=__doc__)
    parser.add_argument("--with", dest="names", default="random", help=WITH)
    parser.add_argument("--host", default=HOST)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--sessions", type=int, default=MOST_SESSIONS, help="at once, at most")
    for option in ("--model", "--base-url", "--allow-host"):
        parser.add_argument(option, help="the language model among them, as in `world simulate`")
    parser.add_argument("--budget", type=float, help="US dollars that all replies ever kept in --cache may cost")
    parser.add_argument("--cache", type=Path, default=Path("replies.sqlite"), help="where its replies are kept")
    options = parser.parse_args(given)
    asked = {name: getattr(options, name) for name in ("model", "base_url", "allow_host", "budget")}
    chosen = ModelSpec(**asked)
    names = [name.strip() for name in options.names.split(",") if name.strip()]
    with ExitStack() as stack:
        try:
            app = application(others_called(names, chosen, options.cache, stack), options.sessions, options.host)
        except InputError as error:
            parser.error(str(error))
        uvicorn.run(app, host=options.host, port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
