"""A corpus as SODA is: dialogues of two people whose names change, without any score; and one of both kinds."""

import json
import random
from pathlib import Path

import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to

NAMES = ("Ann", "Bob", "Cy", "Di", "Eve", "Flo", "Gus", "Hal")
OPENINGS = ("Hey, how was your exam?", "Did you hear about the party?", "I lost my keys again.", "Look at this garden!")
ANSWERS = ("It went really well, thank you.", "No, tell me about it.", "Oh no, where did you see them last?")
REPLIES = ("I am so glad to hear that.", "Come along, it will be fun.", "I will help you, of course.")


def write_soda(path: Path, dialogues: int = 20) -> Path:
    """JSON Lines: most dialogues of two speakers, one of three, one of somebody alone."""
    chance = random.Random(3)
    rows = []
    for number in range(dialogues):
        first, second, third = chance.sample(NAMES, 3)
        texts = [chance.choice(part) for part in (OPENINGS, ANSWERS, REPLIES, ANSWERS)]
        speakers = [first, second, first, second]
        if number == 1:
            speakers[2] = third
        if number == 2:
            speakers = [first] * 4
        rows.append({"dialogue": texts, "speakers": speakers, "head": "x"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def soda_corpus(folder: Path, dialogues: int = 20) -> Path:
    """The corpus that `apportion import soda` makes of them."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    import_to("soda", write_soda(folder.parent / "soda.jsonl", dialogues), folder)
    return folder


def joined(folder: Path, *parts: Path) -> Path:
    """The sessions of several corpora as one."""
    opened = [Corpus.open(part).tables for part in parts]
    tables = {name: pa.concat_tables([tables[name] for tables in opened]) for name in opened[0]}
    Corpus.of(folder, tables).write(folder)
    return folder
