"""ELAN's annotation format (.eaf, schema 3.0)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

from apportion.features.export.tiers import Tier, clean

SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
DATE = "1970-01-01T00:00:00+00:00"
"""The schema wants a date; a constant one keeps equal exports equal."""
MIME_TYPES = {
    "aac": "audio/aac",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mpg": "video/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/x-wav",
    "webm": "video/webm",
}
UNKNOWN_MIME_TYPE = "unknown"


@dataclass(frozen=True)
class LinkedMedia:
    """A recording that the annotations belong to.

    ``url`` is a path relative to the .eaf file (``relative``) or an address; ``origin_ms`` is the recording's time
    at the session's start, at least 0: ELAN can skip a recording's beginning and cannot start one later.
    """

    url: str
    relative: bool
    origin_ms: int = 0


def render_eaf(tiers: Sequence[Tier], media: Sequence[LinkedMedia] = ()) -> bytes:
    """An .eaf document in UTF-8; equal tiers and media give equal bytes.

    Every annotation is time-aligned and has two time slots of its own, so that moving one in ELAN moves no other.
    """
    root = ET.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "apportion",
            "DATE": DATE,
            "FORMAT": "3.0",
            "VERSION": "3.0",
            "xmlns:xsi": XSI,
            "xsi:noNamespaceSchemaLocation": SCHEMA,
        },
    )
    header = ET.SubElement(root, "HEADER", {"MEDIA_FILE": "", "TIME_UNITS": "milliseconds"})
    for recording in media:
        _add_media(header, recording)
    annotations = sum(len(tier.intervals) for tier in tiers)
    ET.SubElement(header, "PROPERTY", {"NAME": "lastUsedAnnotationId"}).text = str(annotations)
    starts, ends = _add_slots(ET.SubElement(root, "TIME_ORDER"), tiers)
    number = 0
    for tier in tiers:
        attributes = {"LINGUISTIC_TYPE_REF": tier.kind, "TIER_ID": tier.name, "PARTICIPANT": tier.person}
        element = ET.SubElement(root, "TIER", attributes)
        for item in tier.intervals:
            slots = {"TIME_SLOT_REF1": starts[number], "TIME_SLOT_REF2": ends[number]}
            number += 1
            annotation = ET.SubElement(element, "ANNOTATION")
            aligned = ET.SubElement(annotation, "ALIGNABLE_ANNOTATION", {"ANNOTATION_ID": f"a{number}", **slots})
            ET.SubElement(aligned, "ANNOTATION_VALUE").text = clean(item.label)
    for kind in sorted({tier.kind for tier in tiers}):
        attributes = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": kind, "TIME_ALIGNABLE": "true"}
        ET.SubElement(root, "LINGUISTIC_TYPE", attributes)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="UTF-8", xml_declaration=True)
    return document + b"\n"


def _add_media(header: ET.Element, recording: LinkedMedia) -> None:
    extension = recording.url.rpartition(".")[2].lower()
    url = clean(recording.url)
    attributes = {"MEDIA_URL": url, "MIME_TYPE": MIME_TYPES.get(extension, UNKNOWN_MIME_TYPE)}
    if recording.relative:
        attributes["RELATIVE_MEDIA_URL"] = url
    if recording.origin_ms:
        attributes["TIME_ORIGIN"] = str(recording.origin_ms)
    ET.SubElement(header, "MEDIA_DESCRIPTOR", attributes)


def _add_slots(order: ET.Element, tiers: Sequence[Tier]) -> tuple[list[str], list[str]]:
    """Write all time slots in the order of time; the ids of every annotation's start and end, in their order."""
    intervals = [item for tier in tiers for item in tier.intervals]
    edges = [(item.start_ms, 2 * i) for i, item in enumerate(intervals)]
    edges += [(item.end_ms, 2 * i + 1) for i, item in enumerate(intervals)]
    names = [""] * len(edges)
    for position, (time_ms, edge) in enumerate(sorted(edges), 1):
        names[edge] = f"ts{position}"
        ET.SubElement(order, "TIME_SLOT", {"TIME_SLOT_ID": names[edge], "TIME_VALUE": str(time_ms)})
    return names[::2], names[1::2]
