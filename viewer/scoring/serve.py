"""Serves a reward model: a port, a token where other machines come in, until Ctrl-C or SIGTERM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from apportion.corpus.session import Session, Turn
from apportion.corpus.targets import unrated_episode
from apportion.reward_model.model import RewardModel
from apportion.viewer.auth import Access, TokenGate
from apportion.viewer.connections import bounded_server
from apportion.viewer.scoring.app import Serving, create_app
from apportion.viewer.scoring.batches import score_dialogues
from apportion.viewer.scoring.refusals import Limits
from apportion.viewer.serve import listening, own_names, told_to_end, written_host

ENDING_S = 30
"""Seconds in which requests that have come are still answered."""
DIALOGUE = unrated_episode(Session("0", (Turn(0, "a", "Hello."), Turn(1, "b", "Hello."))), "b")


def serve_model(folder: Path, host: str, port: int | None, token: str | None, say: Callable[[str], None]) -> None:
    """Answer with the reward model in ``folder`` until the process is told to end, which raises KeyboardInterrupt.

    ``token``: what each request has to bring; None: nothing. ``say``: is given each line that a person should read.

    Raises InputError: the port is taken, the host is none of this machine, the model cannot be loaded.
    """
    # Clients that come while the model is loaded wait, and are not refused.
    with listening(host, port) as listener, told_to_end():
        model = RewardModel.from_pretrained(folder)
        score_dialogues(model, [DIALOGUE])  # Its backbone is loaded when it first reads.
        serving = Serving.of(model, folder.resolve().name, Limits())
        taken = int(listener.getsockname()[1])
        is_host = Access(frozenset(own_names(host)), taken).is_host
        gate = TokenGate(create_app(serving), is_host, token, serving.limits.body)
        server = bounded_server(gate, timeout_graceful_shutdown=ENDING_S, lifespan="off")
        serving.batches.start()
        address = f"http://{written_host(host)}:{taken}"
        say(f"serving {serving.model} at {address}: POST /score, POST /openrlhf, GET /health, GET /metrics")
        say(f"next: --reward.remote_url {address}/openrlhf in OpenRLHF. Ctrl-C ends the server.")
        try:
            server.run(sockets=[listener])
        finally:
            serving.batches.end()
