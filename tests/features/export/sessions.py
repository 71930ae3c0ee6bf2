"""A session with everything that an export can show, and texts that try to break a file."""

from __future__ import annotations

import pyarrow as pa

from apportion.corpus.schema import DESCRIPTORS, FRAMES, UTTERANCE_FEATURES, TableSchema
from apportion.corpus.session import Rating, Session, Turn

HOSTILE = (
    "plain",
    "",
    "   ",
    'He said "no".',
    '"',
    '""',
    "a\nb\r\nc",
    "</ANNOTATION_VALUE></ANNOTATION><TIER TIER_ID='x'/>",
    "<![CDATA[ & ]]> &amp; &#0; &lt;",
    "nul\x00 bell\x07 escape\x1b lone \ufffe",
    'text = "intervals [2]:\nxmin = 3"',
    'item [1]: class = "IntervalTier"',
    "\\backslash \\a\" 'single' `tick` %s {0}",
    "Zo\u00eb \u4f60\u597d \U0001f600 \u202eright to left",
)

SESSION = Session(
    "s",
    (
        Turn(0, "ann", "Hello.", 0.5, 2.0),
        Turn(1, "bob", "Hi.", 2.2, 3.0),
        Turn(2, "ann", "One more thing.", 2.8, 5.0),
        Turn(3, "ann", "And another.", 5.0, 6.0),
        Turn(4, "bob", "Yes.", 6.5, 20.0),
        Turn(5, "ann", "no times"),
    ),
    (Rating("bob", "ann", "liking", 2.0, 1.0, 5.0),),
)


def table(schema: TableSchema, rows: list[tuple]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(schema.arrow.names, ("s", *row), strict=True)) for row in rows], schema=schema.arrow
    )


MEANS = table(
    UTTERANCE_FEATURES,
    [
        (0, "ann", "during", "f0_hz", 212.345, 0.5),
        (1, "ann", "during", "f0_hz", 100.0, 0.1),  # ann's microphone while bob speaks
        (1, "ann", "during", "happiness", 0.25, 1.0),
        (2, "ann", "during", "happiness", None, 0.0),
        (2, "ann", "during", "nod_yes", 2.0, 1.0),
        (0, "ann", "reply", "f0_hz", 1.0, 0.5),
        (5, "bob", "during", "f0_hz", 1.0, 0.5),
        (9, "bob", "during", "f0_hz", 1.0, 0.5),
        (0, "bob", "during", "own_precomputed", -3.0, 1.0),
    ],
)
FRAME_TABLE = table(
    FRAMES,
    [("bob", "nod_yes", i / 10, float(i in (3, 4, 5, 9))) for i in range(12)]
    + [("bob", "smile", i / 5, 1.0) for i in (0, 1, 2, 10, 11)]
    + [("bob", "gaze_on_screen", 0.5, 0.0), ("bob", "head_x", 0.5, 9.0), ("ann", "smile", 1.0, 1.0)],
)
DESCRIPTOR_TABLE = table(
    DESCRIPTORS,
    [
        (0, "bob", "during", "nods", "haar"),
        (2, "bob", "reply", "smiling", "haar"),
        (3, "bob", "reply", "smiling", "haar"),
        (5, "bob", "during", "of a turn without times", None),
        (0, "bob", "later", "of a window that is not known", None),
    ],
)
