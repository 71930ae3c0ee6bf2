"""Forms that change something: a token that only this viewer's pages have, a body that is a form, short answers.

`apportion.viewer.auth` has by then refused other origins and bodies that are too long. The token is made of the
cookie's secret: a page of another site, which cannot read this viewer's pages, cannot send a form in a person's name.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

from apportion.viewer.auth import Access

FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 20


def form_token(access: Access) -> str:
    """What every form of this viewer sends along as ``token``."""
    return hmac.new(access.pass_.encode(), b"form", "sha256").hexdigest()


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form of the viewer, each once. Raises HTTPException: as `read_pairs`; 400: a field twice; 403:
    without this viewer's token.
    """
    pairs = await read_pairs(request, MOST_FIELDS)
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise HTTPException(400, "The form has a field twice. Open the page again.")
    access: Access = request.app.state.access
    check_token(fields.pop("token", ""), form_token(access))
    return fields


async def read_pairs(request: Request, most: int) -> list[tuple[str, str]]:
    """The fields of a form in their order, names as often as they come; ``most`` of them. Raises HTTPException: 415: no
    form; 400: not readable.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM:
        raise HTTPException(415, "A form is needed. Use this viewer's own pages.")
    body = await request.body()
    try:
        return parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=most
        )
    except ValueError:
        raise HTTPException(400, "The form cannot be read. Open the page again.") from None


def check_token(given: str, needed: str) -> None:
    """Raise HTTPException (403) where a form does not bring the token that it needs."""
    if not hmac.compare_digest(given.encode(), needed.encode()):
        raise HTTPException(
            403, "This form is not from a page of this viewer, or from before it was started. Open it again."
        )
