"""`apportion policy serve`: a reward model over HTTP, for anybody's trainer."""

from __future__ import annotations

import os
from pathlib import Path

import click

from apportion.commands.shared.options import PATH
from apportion.commands.shared.stopped import Stopped
from apportion.foundation.errors import InputError
from apportion.foundation.optional_packages import imports_of

LEAST_TOKEN = 16
"""Characters: a shorter one can be guessed."""


@click.command("serve")
@click.argument("source", metavar="RUN_OR_MODEL", type=PATH)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port.  [default: the first free one from 8617 on]")
@click.option("--token-env", metavar="NAME", help="The environment variable with the token that requests bring.")
@click.option("--allow-remote", is_flag=True, help="Let other machines in, where --host is not of this machine alone.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads that compute.")
def serve_command(
    source: Path, host: str, port: int | None, token_env: str | None, allow_remote: bool, threads: int
) -> None:
    """Answer with rewards of turns over HTTP: the reward model in the folder RUN_OR_MODEL, or the one that a run chose.

    `POST /score` takes dialogues and gives what `apportion policy score` does; `POST /openrlhf` is what OpenRLHF's
    --reward.remote_url asks. Requests that wait are read together. Nothing that is sent is kept or logged. Ctrl-C and
    SIGTERM answer what has come, then end with 130.
    """
    with imports_of("view", "`apportion policy serve`"):
        from apportion.viewer.serve import is_loopback
    token = _token(token_env)
    if not is_loopback(host):
        _check_remote(host, allow_remote, token)
    from apportion.pipeline.chosen_model import chosen_model

    folder = chosen_model(source)
    import torch

    from apportion.viewer.scoring.serve import serve_model

    torch.set_num_threads(threads)
    try:
        serve_model(folder, host, port, token, click.echo)
    except KeyboardInterrupt:
        raise Stopped("Requests that had come were answered; the same command serves again.") from None


def _token(name: str | None) -> str | None:
    """The token in the variable ``name``; it is shown nowhere."""
    if name is None:
        return None
    token = os.environ.get(name, "")
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"--token-env {name}: that variable holds no token of {LEAST_TOKEN} or more letters and digits. Set one: "
            f"export {name}=$(openssl rand -hex 32)"
        )
    return token


def _check_remote(host: str, allow_remote: bool, token: str | None) -> None:
    if not allow_remote or token is None:
        raise InputError(
            f"--host {host}: other machines could ask. Give --allow-remote and --token-env NAME if that is meant, or "
            "leave --host out."
        )
    click.echo(
        "warning: the connection is not encrypted: anybody on the way can read dialogues and the token. Put a proxy "
        "with TLS before it.",
        err=True,
    )
