"""The tables that answers are kept in, the same in SQLite and PostgreSQL."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Integer, MetaData, String, Table, Text, UniqueConstraint

TABLES = MetaData()
STUDY = Table(
    "study",
    TABLES,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False),
    Column("version", Integer, nullable=False),
)
"""One row, the first: which study the answers are to. It is locked by who draws items."""
ANNOTATORS = Table(
    "study_annotators",
    TABLES,
    Column("id", String(64), primary_key=True),
    Column("link", String(64), nullable=False, unique=True),
    Column("public", Boolean, nullable=False),
    Column("consented", Boolean, nullable=False, default=False),
    Column("instructed", Boolean, nullable=False, default=False),
    Column("finished", Boolean, nullable=False, default=False),
    Column("active_at", Float, nullable=False, default=0.0),
)
"""``link`` is the hash of the token; ``active_at`` is when they last agreed or answered (seconds since 1970)."""
ASSIGNMENTS = Table(
    "study_assignments",
    TABLES,
    Column("annotator", String(64), ForeignKey(ANNOTATORS.c.id), primary_key=True),
    Column("item", String(16), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("released", Boolean, nullable=False, default=False),
)
"""Who gets which item, at which place; ``released``: another answered in their absence."""
ANSWERS = Table(
    "study_answers",
    TABLES,
    Column("annotator", String(64), ForeignKey(ANNOTATORS.c.id), nullable=False),
    Column("item", String(16), nullable=False),
    Column("answers", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("focus_lost", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("at", String(32), nullable=False),
    Column("nonce", String(64), nullable=False),
    UniqueConstraint("annotator", "item"),
)
"""``answers`` is JSON by criterion; ``nonce`` is of the page that gave it, so that sending twice is giving once."""
