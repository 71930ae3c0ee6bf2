"""OpenEnv 0.10.0 serves every world: its own client and validator."""

import asyncio
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from urllib.request import urlopen

import pytest

pytest.importorskip("openenv", reason="needs the trainers' environment: `make test-trainers`")

from openenv.cli._validation import validate_running_environment
from openenv.core import GenericEnvClient
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from apportion.environments.wrappers import openenv
from apportion.environments.wrappers.openenv import WorldAction, WorldsEnvironment, application, main, others_called
from apportion.environments.wrappers.world_tasks import world_tasks
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec
from tests.environments.wrappers.conformance import EVERY, TESTS, every_world, reaches_every_kind
from tests.llm_client.openai_server import OpenAIServer, completion, serving
from tests.viewer.study.test_serve import free_port

pytestmark = pytest.mark.trainers


@every_world
@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_it_conforms(test, world):
    test("openenv", world)


@every_world
def test_random_play_reaches_every_kind_of_act(world):
    reaches_every_kind("openenv", world, 10, 400)


@contextmanager
def served(*words):
    port = free_port()
    command = [sys.executable, "-m", "apportion.environments.wrappers.openenv", "--port", str(port), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            for _ in range(600):
                try:
                    urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                    break
                except OSError:
                    assert server.poll() is None, server.stderr.read()
                    time.sleep(0.1)
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()


async def played(address, worlds):
    """Sessions at once, one act each by turns, until all are over: what each was told."""
    clients = [GenericEnvClient(base_url=f"ws://{address}") for _ in worlds]
    told = []
    for client, world in zip(clients, worlds, strict=True):
        await client.connect()
        told.append([await client.reset(seed=5, world=world, task=0, seats=[0, 1])])
    while not all(one[-1].done for one in told):
        for client, one in zip(clients, told, strict=True):
            if not one[-1].done:
                seen = one[-1].observation
                kind = seen["legal"][len(one) % len(seen["legal"])]
                one.append(await client.step({"kind": kind, "text": "I offer 1 book to Player 2."}))
    states = [await client.state() for client in clients]
    for client in clients:
        await client.close()
    return told, states


def test_sessions_beside_each_other_replay_by_their_seed_and_the_validator_passes():
    with served("--with", "conceding,claims") as address:
        report = validate_running_environment(f"http://{address}", timeout_s=30)
        assert report["passed"], report["criteria"]
        worlds = [*EVERY, *EVERY]
        told, states = asyncio.run(played(address, worlds))
        assert told[: len(EVERY)] == told[len(EVERY) :]
        for world, one, state in zip(worlds, told, states, strict=True):
            assert (state["world"], state["seats"], state["step_count"]) == (world, [0, 1], len(one) - 1)
            assert all(early.reward is None and not early.metadata for early in one[:-1])
            seats = one[-1].metadata["seats"]
            assert one[-1].reward == next(iter(seats.values()))["reward"]
            assert sum(len(seat["credit"]) for seat in seats.values()) == len(one) - 1
        asyncio.run(refused(address))


async def refused(address):
    async with GenericEnvClient(base_url=f"ws://{address}") as client:
        with pytest.raises(RuntimeError, match="world: no 'chess'; this server has sotopia"):
            await client.reset(world="chess")
        with pytest.raises(RuntimeError, match="others of onuw: no 'recorded@/etc/passwd'; this server has claims"):
            await client.reset(world="onuw", others=["recorded@/etc/passwd"])


def test_language_models_have_the_other_seats_of_every_world(tmp_path):
    """All of them ask through one file of kept replies."""
    with serving(OpenAIServer(answer=lambda body: completion("No act."))) as server, ExitStack() as stack:
        chosen = ModelSpec(model="m", base_url=server.url)
        others = others_called(["base"], chosen, tmp_path / "replies.sqlite", stack)
        assert list(others) == EVERY
        for world in ("negotiation", "onuw"):
            session = WorldsEnvironment(others)
            seen = session.reset(seed=1, world=world)
            while not seen.done:
                seen = session.step(WorldAction(kind="fly"))
            assert seen.reward == 0.0 and all(move.act.stands for step in session.episode.game.steps for move in step)
        assert server.requests


def onuw():
    return {"onuw": {"random": world_tasks("onuw").roster.scripted("random")}}


def test_a_reset_that_is_refused_leaves_the_episode_as_it_is():
    session = WorldsEnvironment(onuw())
    session.reset(seed=1)
    played, state = session.episode, session.state
    for wrong, message in (
        ({"task": 9}, "task 9: there are 1"),
        ({"task": "0"}, "task '0': give a number from 0"),
        ({"task": True}, "task True: give a number"),
        ({"seats": "0"}, "seats '0': give a list of numbers from 0"),
        ({"seats": 0}, "seats 0: give a list"),
        ({"seats": [0.0]}, r"seats \[0.0\]: give a list of numbers"),
        ({"others": [["x"]]}, r"others \[\['x'\]\]: give a list of agents' names"),
        ({"others": "random"}, "others 'random': give a list"),
        ({"world": ["onuw"]}, "world .*: give the name of a world"),
    ):
        with pytest.raises(InputError, match=message):
            session.reset(**wrong)
    assert session.episode is played and session.state is state
    session.step(WorldAction(kind=session.episode.game.legal(session.episode.asked)[0], text="Hello."))


def test_sessions_that_nobody_closes_end(monkeypatch):
    """OpenEnv looks every 5 s at the earliest."""
    create = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create", "params": {}}
    monkeypatch.setattr(openenv, "SESSION_S", 0.1)
    with TestClient(application(onuw(), 2), base_url="http://127.0.0.1:8000") as client:
        told = [client.post("/mcp", json=create).json() for _ in range(3)]
        assert ["result" in one for one in told] == [True, True, False]
        time.sleep(5.5)
        assert "result" in client.post("/mcp", json=create).json()


@pytest.mark.parametrize(
    ("host", "origin", "welcome"),
    [
        ("127.0.0.1:8000", None, True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000", True),
        ("localhost:8000", "http://localhost:8000", True),
        ("ours.example", "https://ours.example", True),
        ("[::1]:8000", "http://[::1]:8000", True),
        ("127.0.0.1:8000", "http://evil.example", False),
        ("127.0.0.1:8000", "http://127.0.0.1:9000", False),
        ("127.0.0.1:8000", "null", False),
        ("evil.example:8000", "http://evil.example:8000", False),
        ("[", "http://[", False),
    ],
)
def test_pages_of_other_sites_may_not_ask(host, origin, welcome):
    headers = {"Host": host, **({} if origin is None else {"Origin": origin})}
    with TestClient(application(onuw(), host="ours.example")) as client:
        assert client.get("/health", headers=headers).status_code == (200 if welcome else 403)
        if welcome:
            with client.websocket_connect("/ws", headers=headers) as socket:
                socket.send_json({"type": "state"})
                assert socket.receive_json()["type"] == "state"
        else:
            with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws", headers=headers):
                pass


def test_the_budget_is_the_model_s(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(openenv, "others_called", lambda names, chosen, *more: seen.append(chosen) or {})
    with pytest.raises(SystemExit, match="2"):
        main(["--with", "base", "--model", "m", "--budget", "1.5"])
    assert seen == [ModelSpec(model="m", budget=1.5)] and "no world to serve" in capsys.readouterr().err


def test_what_cannot_be_served_is_told(tmp_path, capsys):
    with ExitStack() as stack:
        with pytest.raises(InputError, match="--with 'nobody': plays no world"):
            others_called(["random", "nobody"], ModelSpec(), tmp_path / "r.sqlite", stack)
        assert list(others_called(["claims"], ModelSpec(), tmp_path / "r.sqlite", stack)) == EVERY[4:]
    with pytest.raises(InputError, match="no world to serve"):
        application({})
    with pytest.raises(SystemExit, match="2"):
        main(["--with", "nobody"])
    assert "plays no world" in capsys.readouterr().err
    session = WorldsEnvironment(onuw())
    with pytest.raises(InputError, match="no episode: send a reset first"):
        session.step(WorldAction(text="hello"))
    first = session.reset()
    assert session.episode.game.kind == "onuw" and first.legal and first.text.startswith("One Night")
