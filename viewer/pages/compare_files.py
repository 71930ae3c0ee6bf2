"""The group Compare as files of a bundle: a file, or several, for each choice that the server would be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from apportion.viewer.data.companion_files import CompanionFiles
from apportion.viewer.data.comparisons.audited import read_audit
from apportion.viewer.data.comparisons.people import label_means
from apportion.viewer.data.comparisons.policies import answered, policies_in
from apportion.viewer.data.comparisons.value_sources import voices
from apportion.viewer.data.paging import Page
from apportion.viewer.data.run import ServedRun
from apportion.viewer.pages.compare import Asked, audit_html, contrasts_of, methods_html, people_html, policies_html
from apportion.viewer.pages.compare_choices import MOST_LINES, labelled_voices, policy_pairs, voice_pairs
from apportion.viewer.pages.links import Links, bundled_name
from apportion.viewer.views.comparisons import audited, methods, policies

Html = Callable[[ServedRun, Links, CompanionFiles, Asked], str]
File = tuple[str, Callable[[Links], str]]
"""Where it stands, and what makes it of its links."""


def compare_files(run: ServedRun, around: CompanionFiles) -> Iterator[File]:
    """Every file of the group; each of its four pages is there, if only to say why it has nothing to show."""

    def files(name: str, html: Html, number: int, asked: Asked, lines: int = 0, size: int = 1) -> Iterator[File]:
        for page in range(1, Page.of(min(lines, MOST_LINES), 1, size).pages + 1):
            here = bundled_name(name, {"number": number, "page": page})
            yield here, partial(_file, html, run, around, replace(asked, page=page))

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
