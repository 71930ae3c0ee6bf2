"""Options that come in groups, and what each is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from apportion.foundation.lazy import named

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)


class Place(click.Path):
    """A path as a `Path`; where it may be ``remote``, a URL as the folder of this machine that mirrors it."""

    def __init__(self, *, remote: bool = False) -> None:
        super().__init__(path_type=Path)
        self._remote = remote

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See the class."""
        if not isinstance(value, str) or "://" not in value:
            return super().convert(value, param, ctx)
        from apportion.corpus.recordings.addresses import shown
        from apportion.corpus.recordings.mirrored import mirrored

        if not self._remote:
            self.fail(f"{shown(value)}: a file or folder of this machine is needed.", param, ctx)
        return mirrored(value)


PATH, CORPUS = Place(), Place(remote=True)
"""The types of an argument or option that names a place on the disk, and of one that names what is read."""


def with_options(options: Sequence[Any], command: Any) -> Any:
    """``command``, made or still a function, with ``options`` below its own, in their order."""
    # To a command click adds an option at the end, to a function that becomes one before those it has.
    for option in options if isinstance(command, click.Command) else reversed(options):
        command = option(command)
    return command


def json_option(printed: str = "the result", *, quiet: bool = False, more: str = "") -> Callable[[_Command], _Command]:
    """``--json``: what it prints in place of text, whether progress goes with the text, and what else is to be said."""
    progress = " and no progress" if quiet else ""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {printed} as JSON{progress}{more}.")


class JSONObject(click.ParamType[Any]):
    """An option whose value is one JSON object."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The object that ``value`` spells."""
        try:
            values = json.loads(value)
        except (ValueError, RecursionError) as error:
            self.fail(f"{value[:80]!r} is no JSON ({error}).", param, ctx)
        if not isinstance(values, dict):
            self.fail(f"{value[:80]!r} is no JSON object such as '{{\"top_k\": 20}}'.", param, ctx)
        return values


class LazyChoice(click.ParamType[str]):
    """One of the names in ``place`` (``module:attribute``), whose package is imported when they are asked for."""

    name = "choice"

    def __init__(self, place: str) -> None:
        self._place = place

    @cached_property
    def _choice(self) -> click.Choice[str]:
        return click.Choice(list(named(self._place)))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is one."""
        return self._choice.convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """All names, for the help."""
        return self._choice.get_metavar(param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so."""
        return self._choice.shell_complete(ctx, param, incomplete)


def model_options(flag: str, texts: str, max_tokens: int, cache: str, *also: str) -> tuple[Any, ...]:
    """The options by which a language model is chosen, as ``apportion.llm_client.model_spec.ModelSpec`` has them.

    ``flag`` names the model (and so does each of ``also``), ``texts`` is what consent lets be sent, ``cache`` where
    replies are kept by default.
    """
    server = "Its server, e.g. http://localhost:8000/v1.  [default: OpenAI's]"
    proxy = "The proxy on the way to HOST, e.g. http://proxy:3128; or `direct`."
    login = "The environment variable with the proxy's USER:PASSWORD."
    budget = "Stop before all ever paid into the cache passes USD."
    return (
        click.option(
            flag, *also, "model", metavar="MODEL", help="Ask this language model, by the name its server knows."
        ),
        click.option("--base-url", metavar="URL", help=server),
        click.option("--allow-host", metavar="HOST", help=f"Your consent to send {texts} to HOST."),
        click.option("--proxy", metavar="PROXY", help=proxy),
        click.option("--proxy-auth-env", metavar="NAME", help=login),
        click.option("--api-key-env", metavar="NAME", help="The environment variable with the key."),
        click.option("--max-tokens", type=int, default=max_tokens, show_default=True, help="Its longest reply."),
        click.option("--reasoning-effort", metavar="LEVEL", help="How long a reasoning model thinks, e.g. low."),
        click.option("--extra-body", type=JSONObject(), metavar="JSON", help="What else its server takes."),
        click.option("--concurrency", type=int, default=16, show_default=True, help="Requests under way at once."),
        click.option("--budget", type=float, metavar="USD", help=budget),
        click.option("--prices", type=PATH, metavar="FILE", help="A price table (TOML)."),
        click.option("--cache", type=PATH, metavar="FILE", help=f"Kept replies.  [default: {cache}]"),
        click.option("--recorded", type=PATH, metavar="FILE", help="Recorded replies instead of a server."),
        click.option("--record", type=PATH, metavar="FILE", help="Write the replies to FILE."),
    )


def option_names() -> Callable[[str], str]:
    """How the command that runs calls a parameter: ``--max-new-tokens`` for ``max_new_tokens``; others as they are."""
    parameters = click.get_current_context().command.params
    names = {parameter.name: parameter.opts[0] for parameter in parameters if isinstance(parameter, click.Option)}
    return lambda name: names.get(name, name)
