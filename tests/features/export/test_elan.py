"""The structure that ELAN's schema 3.0 asks for, and a reader that is not ours (pympi)."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.corpus.session import Turn
from apportion.features.export.behaviour import session_tiers
from apportion.features.export.elan import LinkedMedia, render_eaf
from apportion.features.export.tiers import Interval, clean, make_tiers
from tests.features.export.sessions import DESCRIPTOR_TABLE, FRAME_TABLE, HOSTILE, MEANS, SESSION

CHILDREN = ("LICENSE", "HEADER", "TIME_ORDER", "TIER", "LINGUISTIC_TYPE", "LOCALE", "LANGUAGE", "CONSTRAINT")
"""The order of the schema's sequence, as far as we could write any of it."""
ATTRIBUTES = {
    "ANNOTATION_DOCUMENT": ({"AUTHOR", "DATE", "VERSION"}, {"FORMAT"}),
    "HEADER": (set(), {"MEDIA_FILE", "TIME_UNITS"}),
    "MEDIA_DESCRIPTOR": ({"MEDIA_URL", "MIME_TYPE"}, {"RELATIVE_MEDIA_URL", "TIME_ORIGIN", "EXTRACTED_FROM"}),
    "PROPERTY": (set(), {"NAME"}),
    "TIME_SLOT": ({"TIME_SLOT_ID"}, {"TIME_VALUE"}),
    "TIER": ({"TIER_ID", "LINGUISTIC_TYPE_REF"}, {"PARTICIPANT", "ANNOTATOR"}),
    "ALIGNABLE_ANNOTATION": ({"ANNOTATION_ID", "TIME_SLOT_REF1", "TIME_SLOT_REF2"}, set()),
    "LINGUISTIC_TYPE": ({"LINGUISTIC_TYPE_ID"}, {"TIME_ALIGNABLE", "GRAPHIC_REFERENCES"}),
}


def check(document: bytes) -> ET.Element:
    """Assert what the schema says of every element that we write."""
    root = ET.fromstring(document)
    for element in root.iter():
        required, optional = ATTRIBUTES.get(element.tag, (set(), set()))
        given_names = {name for name in element.attrib if not name.startswith("{")}
        assert required <= given_names <= required | optional, element.tag
    order = [CHILDREN.index(child.tag) for child in root]
    assert order == sorted(order)
    assert [child.tag for child in root].count("HEADER") == [child.tag for child in root].count("TIME_ORDER") == 1
    slots = {slot.get("TIME_SLOT_ID"): int(slot.get("TIME_VALUE")) for slot in root.iter("TIME_SLOT")}
    assert len(slots) == len(list(root.iter("TIME_SLOT")))
    assert list(slots.values()) == sorted(slots.values())
    assert all(0 <= value < 2**32 for value in slots.values())
    annotations = list(root.iter("ALIGNABLE_ANNOTATION"))
    ids = [annotation.get("ANNOTATION_ID") for annotation in annotations]
    assert len({*ids, *slots}) == len(ids) + len(slots)  # xsd:ID: unique in the whole document
    used = [annotation.get(name) for annotation in annotations for name in ("TIME_SLOT_REF1", "TIME_SLOT_REF2")]
    assert sorted(used) == sorted(slots)
    kinds = [kind.get("LINGUISTIC_TYPE_ID") for kind in root.iter("LINGUISTIC_TYPE")]
    assert len(set(kinds)) == len(kinds)
    tiers = list(root.iter("TIER"))
    assert len({tier.get("TIER_ID") for tier in tiers}) == len(tiers)
    for tier in tiers:
        assert tier.get("LINGUISTIC_TYPE_REF") in kinds
        before = 0
        for annotation in tier.iter("ALIGNABLE_ANNOTATION"):
            start, end = slots[annotation.get("TIME_SLOT_REF1")], slots[annotation.get("TIME_SLOT_REF2")]
            assert before <= start < end
            before = end
            assert [child.tag for child in annotation] == ["ANNOTATION_VALUE"]
    return root


def test_a_session_is_valid_and_the_same_bytes_each_time():
    tiers = session_tiers(SESSION, MEANS, DESCRIPTOR_TABLE, FRAME_TABLE, 10.0).tiers
    document = render_eaf(tiers)
    root = check(document)
    assert len(list(root.iter("TIER"))) == len(tiers)
    assert render_eaf(tiers) == document
    assert check(render_eaf([])).find("TIER") is None


def test_recordings_are_linked_by_relative_path():
    media = [
        LinkedMedia("./../a <b> & c.MP4", True, 850),
        LinkedMedia("s3://bucket/x.wav", False),
        LinkedMedia("./sound", True),
    ]
    descriptors = list(check(render_eaf([], media)).iter("MEDIA_DESCRIPTOR"))
    assert [dict(d.attrib) for d in descriptors] == [
        {
            "MEDIA_URL": "./../a <b> & c.MP4",
            "MIME_TYPE": "video/mp4",
            "RELATIVE_MEDIA_URL": "./../a <b> & c.MP4",
            "TIME_ORIGIN": "850",
        },
        {"MEDIA_URL": "s3://bucket/x.wav", "MIME_TYPE": "audio/x-wav"},
        {"MEDIA_URL": "./sound", "MIME_TYPE": "unknown", "RELATIVE_MEDIA_URL": "./sound"},
    ]


def test_hostile_texts_come_back_as_they_were(tmp_path: Path):
    pympi = pytest.importorskip("pympi", reason="pip install pympi-ling: an independent reader of .eaf files")
    turns = tuple(Turn(i, text, text, float(i), i + 1.5) for i, text in enumerate(HOSTILE))
    tiers = session_tiers(replace(SESSION, turns=turns), None, None, None, 10.0).tiers
    document = render_eaf(tiers)
    check(document)
    (tmp_path / "a.eaf").write_bytes(document)
    back = pympi.Elan.Eaf(str(tmp_path / "a.eaf"))
    assert list(back.get_tier_names()) == [tier.name for tier in tiers]
    read = sorted(item for tier in tiers for item in back.get_annotation_data_for_tier(tier.name))
    assert read == [(1000 * i, 1000 * i + 1500, clean(text)) for i, text in enumerate(HOSTILE)]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=5),
            st.text(max_size=5),
            st.lists(st.tuples(st.integers(0, 99), st.integers(1, 50), st.text()), max_size=5),
        ),
        max_size=5,
    )
)
def test_any_tiers_give_a_valid_document(contents):
    check(
        render_eaf(
            make_tiers(
                [(kind, person, [Interval(a, a + n, text) for a, n, text in items]) for kind, person, items in contents]
            )
        )
    )
