"""The group Compare: two methods or runs, values against people, two policies, a model asked in several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from apportion.foundation.html.text import clean
from apportion.pipeline.report.colours import colour_class
from apportion.viewer.comparisons import audited, methods, policies
from apportion.viewer.comparisons.audited import audit_view, ordered_audit, read_audit
from apportion.viewer.comparisons.methods import SORTS, Contrast, contrasts, methods_view, sorted_contrasts
from apportion.viewer.comparisons.people import ENOUGH, against, apart_row, label_means, most_apart, people_view
from apportion.viewer.comparisons.policies import answered, most_different, policies_in, policies_view
from apportion.viewer.comparisons.value_sources import ValueSource, voices
from apportion.viewer.data.listing import Page
from apportion.viewer.data.run import ServedRun
from apportion.viewer.data.run_location import CompanionFiles
from apportion.viewer.data.session_ref import named, places_by_episode, slugs_by_session, splits_by_session
from apportion.viewer.pages.links import Links, bundled_name
from apportion.viewer.pages.render import page, render

router = APIRouter()
GROUP = (
    ("compare", "Methods"),
    ("compare/people", "Against people"),
    ("compare/audit", "Audit"),
    ("compare/policies", "Policies"),
)
"""The pages of the group: name and title."""
Name = Annotated[str, Query(max_length=200)]
Number = Annotated[int, Query(alias="page", ge=1, le=10**6)]


@dataclass(frozen=True)
class Asked:
    """What is compared: the keys of two voices (or names of policies), a split, a name of labels, an order, a page."""

    first: str = ""
    second: str = ""
    split: str = ""
    label: str = ""
    sort: str = SORTS[0]
    down: bool = True
    page: int = 1


def methods_html(run: ServedRun, links: Links, around: CompanionFiles, asked: Asked) -> str:
    """Two voices, session by session."""
    known = voices(run.place, around)
    pair = chosen_pair(known, asked.first, asked.second)
    view = None
    if pair is not None:
        ordered = sorted_contrasts(contrasts_of(run, pair, asked.split), asked.sort, down=asked.down)
        at = Page.of(_lines(links, ordered), asked.page, methods.PAGE)
        view = methods_view(ordered, pair, named(run.index, (one.key[0] for one in at.cut(ordered))), at)
    pairs = voice_pairs(known)
    titles = [f"{first.title} · {second.title}" for first, second in pairs]
    return _render(
        run, links, "compare.html", view=view, asked=asked, voices=known, pair=pair, splits=_splits(run),
        choices=choices(links, "compare", titles), nth=pairs.index(pair) if pair in pairs else 0,
    )  # fmt: skip


def contrasts_of(run: ServedRun, pair: tuple[ValueSource, ValueSource], split: str = "") -> list[Contrast]:
    """Two voices on the sessions that the run shows, or on those of one split."""
    splits = splits_by_session(run.index)
    return [one for one in contrasts(*pair) if one.key[0] in splits and split in ("", splits[one.key[0]] or "")]


def people_html(run: ServedRun, links: Links, around: CompanionFiles, asked: Asked) -> str:
    """A voice against people's labels."""
    known = voices(run.place, around)
    voice = usual_voice(known, asked.first)
    means = label_means(run.place.corpus, around.overlay.labels(), run.index)
    label = asked.label if asked.label in means else usual_label(means)
    view, rows = None, []
    if voice is not None and label:
        splits = splits_by_session(run.index)
        sessions = [one for one, split in splits.items() if asked.split in ("", split or "")]
        found = against(voice, means[label], sessions)
        slugs, at = slugs_by_session(run.index), places_by_episode(run.index)
        view = people_view(
            found, slugs,
            lambda p: links.session(slugs[p.session_id], p.turn, rating=at.get(p.key), method=voice.method),
            colour_class(voice.method), (clean(voice.title, 80), clean(label, 80)),
        )  # fmt: skip
        far = most_apart(found)
        places = named(run.index, (point.session_id for point in far))
        rows = [apart_row(point, places[point.session_id]) for point in far if point.session_id in places]
    every = labelled_voices(known, means)
    titles = [f"{one.title} · {name}" for one, name in every]
    chosen = (voice, label)
    return _render(
        run, links, "compare_people.html", view=view, rows=rows, asked=asked, voices=known, voice=voice, label=label,
        names=tuple(means), splits=_splits(run), enough=ENOUGH,
        choices=choices(links, "compare/people", titles), nth=every.index(chosen) if chosen in every else 0,
    )  # fmt: skip


def audit_html(run: ServedRun, links: Links, around: CompanionFiles, asked: Asked) -> str:
    """The audit, the sessions that held least first."""
    audit = read_audit(run.place.folder)
    view = None
    if audit is not None:
        ordered = ordered_audit(audit)
        at = Page.of(_lines(links, ordered), asked.page, audited.PAGE)
        view = audit_view(audit, ordered, named(run.index, (one.key[0] for one in at.cut(ordered))), at)
    return _render(run, links, "compare_audit.html", view=view, asked=asked)


def policies_html(run: ServedRun, links: Links, around: CompanionFiles, asked: Asked) -> str:
    """Two policies' answers, the most different ones first."""
    known = policies_in(around.responses) if around.responses else ()
    first = asked.first if asked.first in known else next(iter(known), "")
    others = [name for name in known if name != first]
    pair = (first, asked.second if asked.second in others else next(iter(others), ""))
    view = None
    if around.responses and pair[1]:
        ordered = most_different(answered(around.responses, *pair))
        at = Page.of(_lines(links, ordered), asked.page, policies.PAGE)
        view = policies_view(ordered, slugs_by_session(run.index), at)
    pairs = policy_pairs(known)
    titles = [f"{one} · {other}" for one, other in pairs]
    return _render(
        run, links, "compare_policies.html", view=view, policies=known, pair=pair, asked=asked,
        choices=choices(links, "compare/policies", titles), nth=pairs.index(pair) if pair in pairs else 0,
    )  # fmt: skip


@router.get("/compare")
def methods_page(
    request: Request, a: Name = "", b: Name = "", split: Name = "", sort: Name = SORTS[0], down: bool = True,
    number: Number = 1,
) -> HTMLResponse:  # fmt: skip
    """``GET /compare``."""
    asked = Asked(a, b, split, "", sort if sort in SORTS else SORTS[0], down, number)
    return page(request, "compare", methods_html, request.app.state.beside, asked)


@router.get("/compare/people")
def people_page(request: Request, a: Name = "", label: Name = "", split: Name = "") -> HTMLResponse:
    """``GET /compare/people``."""
    return page(request, "compare/people", people_html, request.app.state.beside, Asked(a, "", split, label))


@router.get("/compare/audit")
def audit_page(request: Request, number: Number = 1) -> HTMLResponse:
    """``GET /compare/audit``."""
    return page(request, "compare/audit", audit_html, request.app.state.beside, Asked(page=number))


@router.get("/compare/policies")
def policies_page(request: Request, a: Name = "", b: Name = "", number: Number = 1) -> HTMLResponse:
    """``GET /compare/policies``."""
    return page(request, "compare/policies", policies_html, request.app.state.beside, Asked(a, b, page=number))


def _render(run: ServedRun, links: Links, template: str, **values: object) -> str:
    return render(run, links, template, group=GROUP, **values)


def _splits(run: ServedRun) -> list[str]:
    return sorted({split for split in splits_by_session(run.index).values() if split})


def _lines(links: Links, found: Sequence[object]) -> int:
    """How many of the lines that were found are shown, page by page."""
    return min(len(found), MOST_LINES) if links.bundled else len(found)


MOST_CHOICES = 100
"""Choices of a bundle, each at least one file: a run of ten methods has 45 pairs."""
MOST_LINES = 250
"""Lines of a list that a bundle has for each choice: those that differ most."""
Choice = tuple[str, str]
"""What a link is called, and where it leads."""


def usual_voice(known: Sequence[ValueSource], key: str = "") -> ValueSource | None:
    """The voice of that key; else the first that tells turns apart."""
    told = [voice for voice in known if voice.method != "uniform"] or list(known)
    return next((voice for voice in known if voice.key == key), next(iter(told), None))


def chosen_pair(
    known: Sequence[ValueSource], first_key: str = "", second_key: str = ""
) -> tuple[ValueSource, ValueSource] | None:
    """The two voices of those keys; else two that tell turns apart, of both runs where there are two."""
    first = usual_voice(known, first_key)
    others = [voice for voice in known if voice != first]
    if first is None or not others:
        return None
    same = [voice for voice in others if voice.run and (voice.table, voice.method) == (first.table, first.method)]
    return first, usual_voice([*same, *others], second_key) or others[0]


def voice_pairs(known: Sequence[ValueSource]) -> list[tuple[ValueSource, ValueSource]]:
    """Every two voices, those that are shown where none are asked for first."""
    usual = chosen_pair(known)
    pairs = [pair for pair in combinations(known, 2) if usual is None or set(pair) != set(usual)]
    return [*([usual] if usual else []), *pairs][:MOST_CHOICES]


def usual_label(means: Mapping[str, Sized]) -> str:
    """The name that most labels have."""
    return max(means, key=lambda name: len(means[name]), default="")


def labelled_voices(known: Sequence[ValueSource], means: Mapping[str, Sized]) -> list[tuple[ValueSource, str]]:
    """Every voice against every name of labels, those that are shown where none are asked for first."""
    usual = (usual_voice(known), usual_label(means))
    every = [one for one in product(known, means) if one != usual]
    return [*([(usual[0], usual[1])] if usual[0] and usual[1] else []), *every][:MOST_CHOICES]


def policy_pairs(policies: Sequence[str]) -> list[tuple[str, str]]:
    """Every two policies."""
    return list(combinations(policies, 2))[:MOST_CHOICES]


def choices(links: Links, page: str, titles: Sequence[str]) -> tuple[Choice, ...]:
    """A link to each file of a bundle that is the same page of another choice; none on the server, which is asked."""
    if not links.bundled:
        return ()
    return tuple((title, links.page(page, number=number or None)) for number, title in enumerate(titles))


Html = Callable[[ServedRun, Links, CompanionFiles, Asked], str]
File = tuple[str, Callable[[Links], str]]
"""Where it stands, and what makes it of its links."""


def compare_files(run: ServedRun, around: CompanionFiles) -> Iterator[File]:
    """Every file of the group; each of its four pages is there, if only to say why it has nothing to show."""

    def files(name: str, html: Html, number: int, asked: Asked, lines: int = 0, size: int = 1) -> Iterator[File]:
        for at in range(1, Page.of(min(lines, MOST_LINES), 1, size).pages + 1):
            here = bundled_name(name, {"number": number, "page": at})
            yield here, partial(_file, html, run, around, replace(asked, page=at))

    known = voices(run.place, around)
    for number, pair in enumerate(voice_pairs(known) or [None]):
        asked = Asked(pair[0].key, pair[1].key) if pair else Asked()
        lines = len(contrasts_of(run, pair)) if pair else 0
        yield from files("compare", methods_html, number, asked, lines, methods.PAGE)
    means = label_means(run.place.corpus, around.overlay.labels(), run.index)
    for number, (voice, label) in enumerate(labelled_voices(known, means) or [(None, "")]):
        yield from files("compare/people", people_html, number, Asked(voice.key if voice else "", label=label))
    audit = read_audit(run.place.folder)
    lines = len(audit.episodes) if audit else 0
    yield from files("compare/audit", audit_html, 0, Asked(), lines, audited.PAGE)
    responses = around.responses
    names = policy_pairs(policies_in(responses)) if responses else []
    for number, (first, second) in enumerate(names or [("", "")]):
        lines = len(answered(responses, first, second)) if responses and second else 0
        yield from files("compare/policies", policies_html, number, Asked(first, second), lines, policies.PAGE)


def _file(html: Html, run: ServedRun, around: CompanionFiles, asked: Asked, links: Links) -> str:
    return html(run, links, around, asked)
