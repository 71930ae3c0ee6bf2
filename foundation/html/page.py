"""Templates to self-contained pages: everything is escaped, and a page's own policy forbids scripts and requests."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

HERE = "apportion.foundation.html"
TOKENS = files(HERE).joinpath("tokens.css")
"""Colours that all pages share."""


@cache
def environment(package: str, folder: str = "templates") -> jinja2.Environment:
    """Jinja for the templates in a package's folder: escaping always on, a name that is missing is an error."""
    import jinja2

    places = [jinja2.PackageLoader(package, folder), jinja2.PackageLoader(HERE, "")]
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(places),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(package: str, template: str, style: str = "", **values: Any) -> str:
    """A page by a template beside the code of ``package`` that extends ``document.html``; ``style`` is its own CSS."""
    shared = files(HERE).joinpath("document.css").read_text(encoding="utf-8")
    style = TOKENS.read_text(encoding="utf-8") + shared + style
    frame = {"style": style, "style_hash": style_hash(style), "colours": {}}
    return environment(package, "").get_template(template).render(frame | values).lstrip()


def style_hash(style: str) -> str:
    """What a policy allows a style sheet by."""
    import base64
    import hashlib

    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
