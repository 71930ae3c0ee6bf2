"""What a generator wrote is what the account of an import says was read, left out and joined; and it adds up."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from praatio import textgrid

from apportion.corpus.importers import import_to
from tests.corpus.importers.candor_import import with_cell
from tests.corpus.importers.candor_tree import (
    SURVEY,
    TRANSCRIPTS,
    rewrite,
    talk,
    write_package,
    write_table,
    write_tree,
)
from tests.corpus.importers.recorded import wav

ANN, BEN = "Ann Lee", "Ben"
TURN, TWO, ON, EMPTY, NOBODYS = "turn", "two people", "goes on", "empty", "nobody's"
CUES = {
    ".vtt": (TURN, TWO, ON, EMPTY),
    ".srt": (TURN, TWO, ON, EMPTY),
    ".csv": (TURN, EMPTY),
    ".tsv": (TURN, EMPTY),
    ".json": (TURN, TWO, EMPTY, NOBODYS),
    ".TextGrid": (TURN, EMPTY),
}
MOOD = ("speaker", "start", "end", "text", "mood")


class Written:
    """Writes sessions, and counts by itself what an account must say of them: (read, left out, joined) by kind."""

    def __init__(self, src: Path, seed: int) -> None:
        self.src, self.draw = src, Random(seed)
        self.read, self.left, self.joined = Counter(), Counter(), Counter()
        self.sessions = 0
        self.ratings = []

    def says(self):
        kinds = [kind for kind, many in self.read.items() if many]
        return {kind: tuple(round(c[kind], 6) for c in (self.read, self.left, self.joined)) for kind in kinds}

    def words(self) -> list[str]:
        return [
            self.draw.choice(("so", "yes", "well,", "I <3 it", "你好", "R&D")) for _ in range(self.draw.randint(1, 4))
        ]

    def session(self, ending: str) -> None:
        """A folder of one session, which a broken map of channels may cost."""
        before = Counter(self.read)
        folder = self.src / f"s{len(list(self.src.iterdir())):02d}"
        folder.mkdir()
        kinds = [TURN, *(self.draw.choice(CUES[ending]) for _ in range(self.draw.randint(1, 8)))]
        # Ann, who is recorded, says something.
        cues = [(kind, self.draw.choice((ANN, BEN)) if i else ANN, self.words()) for i, kind in enumerate(kinds)]
        if ending in (".vtt", ".srt") and self.draw.random() < 0.4:
            cues.insert(0, (NOBODYS, ANN, self.words()))
        self.read["cues"] += len(cues)
        left, joined = Counter(), Counter()
        for kind, _, words in cues:
            many = len(" ".join(words).split())
            left["cues"] += kind in (EMPTY, NOBODYS)
            left["words"] += many * (kind == NOBODYS)
            joined["cues"] += {ON: 1, TWO: -1}.get(kind, 0)
            self.read["words"] += 0 if kind == EMPTY else many + (many if kind == TWO else 0)
        getattr(self, f"_{ending[1:].lower()}")(folder / f"talk{ending}", cues, left, joined)
        files = [".wav", ".mp3"][: self.draw.choice((0, 0, 0, 1, 2))]
        for suffix in files:
            wav(folder / f"{ANN}{suffix}", seconds=0.25)
        scores = self.draw.randint(1, 3)
        self.ratings += [f"{folder.name},{ANN},{BEN},fun{i},4,1,5,x" for i in range(scores)]
        self.read += Counter(recordings=len(files), folders=1, scores=scores)
        if self.draw.random() < 0.2:
            (folder / "channel_map.json").write_text("{")
            left, joined = self.read - before, Counter()
        else:
            self.sessions += 1
            self.read["seconds of media"] += 0.25 * len(files)
            left += Counter({"recordings": len(files) // 2, "seconds of media": 0.25 * (len(files) // 2)})
        self.left.update(left)
        self.joined.update(joined)

    def _captions(self, path: Path, cues, left, head: list[str], mark: str) -> None:
        lines = head
        for i, (kind, who, words) in enumerate(cues):
            said = " ".join(words)
            lines += ["", str(i + 1), f"00:00:{i:02d}{mark}000 --> 00:00:{i:02d}{mark}900"]
            if kind == TWO:
                lines += [f"{who}: {said}", f"{BEN if who == ANN else ANN}: <i>{said}</i>"]
            elif kind != EMPTY:
                lines += [f"{who}: {said}" if kind == TURN else said]
            labels = [who] * (kind in (TURN, TWO)) + [BEN if who == ANN else ANN] * (kind == TWO)
            left["words"] += len(" ".join(labels).split())
            self.read["words"] += len(" ".join(labels).split())
            if path.suffix == ".vtt" and self.draw.random() < 0.2:
                lines += ["", "NOTE a comment", "on two lines"]
                left["lines"] += 2
        self.read["lines"] += sum(map(bool, lines))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _vtt(self, path, cues, left, joined) -> None:
        left["lines"] += 1
        self._captions(path, cues, left, ["WEBVTT", "Kind: captions"], ".")

    def _srt(self, path, cues, left, joined) -> None:
        self._captions(path, cues, left, [], ",")

    def _csv(self, path, cues, left, joined, mark=",") -> None:
        rows = [
            (who, f"{i}", f"{i + 0.9}", "" if kind == EMPTY else f'"{" ".join(words)}"', "ok")
            for i, (kind, who, words) in enumerate(cues)
        ]
        path.write_text("\n".join(map(mark.join, [MOOD, *rows])) + "\n", encoding="utf-8")
        self.read["cells"] += len(MOOD) * len(rows)
        left["cells"] += len(rows)

    def _tsv(self, path, cues, left, joined) -> None:
        self._csv(path, cues, left, joined, "\t")

    def _json(self, path, cues, left, joined) -> None:
        segments = []
        for i, (kind, who, words) in enumerate(cues):
            segment = {"start": i, "end": i + 0.9, "text": "" if kind == EMPTY else " ".join(words)}
            if kind == TWO:
                apart = self.draw.choice((" ", ""))
                segment["text"] += apart + segment["text"]
                joined["words"] -= apart == ""
                self.read["words"] -= apart == ""
                others = [BEN if who == ANN else ANN]
                segment["words"] = [{"word": w, "speaker": s} for s in [who, *others] for w in words]
            if kind != NOBODYS:
                segment["speaker"] = who
            segments.append(segment)
        path.write_text(json.dumps({"segments": segments}), encoding="utf-8")

    def _textgrid(self, path, cues, left, joined) -> None:
        grid, marks = textgrid.Textgrid(), self.draw.randint(1, 2)
        for name in (ANN, BEN):
            spans = [
                (i, i + 1, " ".join(words) if who == name and kind != EMPTY else "")
                for i, (kind, who, words) in enumerate(cues)
            ]
            grid.addTier(textgrid.IntervalTier(name, spans, 0, len(cues)))
        grid.addTier(textgrid.PointTier("clicks", [(0.5 + i, "loud click") for i in range(marks)], 0, len(cues)))
        grid.save(str(path), format="long_textgrid", includeBlankSpaces=True)
        # Every tier covers the whole time: who is silent has empty intervals.
        for counter in (self.read, left):
            counter["cues"] += len(cues) + marks
            counter["words"] += 2 * marks

    def close(self) -> None:
        """The ratings of all sessions, one of nobody's among them; a folder that is no session."""
        header = "session_id,rater,target,name,score,low,high,why"
        rows = [*self.ratings, f"zz,{ANN},{BEN},fun,4,1,5,x"]
        (self.src / "nothing").mkdir()
        (self.src / "ratings.csv").write_text("\n".join([header, *rows]) + "\n")
        self.read += Counter(folders=1, scores=1, cells=8 * len(rows))
        self.left += Counter(folders=1, scores=1, cells=len(rows))


def said(report):
    """What an account says: (read, left out, joined) by kind."""
    return {
        line.what: (line.read, sum(many for many, _ in line.left_out.values()), sum(line.joined.values()))
        for line in report.account
    }


@pytest.mark.parametrize("seed", range(12))
def test_a_folder_of_recordings(tmp_path, seed):
    (tmp_path / "src").mkdir()
    written = Written(tmp_path / "src", seed)
    for ending in (*CUES, ".vtt", ".json", ".srt"):
        written.session(ending)
    written.close()
    report = import_to("media", tmp_path / "src", tmp_path / "corpus")
    assert said(report) == written.says() and report.rows["sessions"] == written.sessions


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("seed", "kind", "middle"), [(1, "cliffhanger", None), (2, "backbiter", 4), (3, "backbiter", 7)]
)
def test_candor(tmp_path, seed, kind, middle, whole):
    talks = [talk(3 * seed + i, 8 + 2 * i) for i in range(3)]
    texts = [[row["utterance"] for row in one.turns] for one in talks]
    src = write_package(tmp_path / "src", talks) if whole else write_tree(tmp_path / "src", talks, media=False)
    columns, used = len(TRANSCRIPTS[kind]) + whole, 4 + whole + 5 * (kind == "backbiter")
    read, left = Counter(conversations=3), Counter(conversations=1)
    for number, (one, said_here) in enumerate(zip(talks, texts, strict=True)):
        if not whole:
            said_here[seed + number] = ""
            written = [row | {"utterance": text} for row, text in zip(one.turns, said_here, strict=True)]
            write_table(src / one.id / f"transcription/transcript_{kind}.csv", TRANSCRIPTS[kind], written)
        spoken = [place for place, text in enumerate(said_here) if text]
        first = max(0, len(spoken) - (middle or 99)) // 2
        wanted = spoken[first : first + (middle or 99)]
        here, kept = (
            Counter(
                cues=len(places),
                words=len(" ".join(said_here[place] for place in places).split()),
                backchannels=sum(bool(one.turns[place]["backchannel"]) for place in places) * (kind == "backbiter"),
            )
            for places in (range(len(said_here)), wanted)
        )
        cells = columns * len(said_here)
        read += here + Counter(scores=2, cells=cells + 2 * len(SURVEY))
        left += here - kept
        left["cells"] += (columns - used) * len(said_here) + 2 * (len(SURVEY) - 4)
        if number == 2:
            # A broken one: all of it, but for the cells of the tables for all, whose rows were read.
            (src / ("raw" if whole else "") / one.id / "metadata.json").write_text("{")
            left += kept + Counter(scores=2)
            left["cells"] += 0 if whole else used * len(said_here) + 4 * 2
    if not whole:
        rewrite(src / talks[0].id / "survey.csv", with_cell("overall_affect", "", 0))
        left["scores"] += 1
    options = {"media": "none", "transcript": kind, **({"turns": f"middle{middle}"} if middle else {})}
    report = import_to("candor", src, tmp_path / "corpus", options)
    assert said(report) == {unit: (many, left[unit], 0) for unit, many in read.items() if many}
