"""The accounts of published corpora's importers, of generated inputs whose figures are known."""

import json
import random
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.account import words_of
from apportion.corpus.importers import registry
from apportion.corpus.importers.esconv import NAMES
from tests.corpus.importers.test_casino import DEAL, person
from tests.corpus.importers.test_casino import said as entry
from tests.corpus.importers.test_sotopia import SCORES

INPUTS = 40
WORDS = ("a", "train", "at", "nine?", "[action]", "<eos", "é", "是的", '"')
BREAK = "a line that is no JSON\n"


class Known:
    """What an input holds (``read``) and what of it the corpus has to hold (``kept``)."""

    def __init__(self, seed):
        self.random, self.read, self.kept = random.Random(seed), Counter(), Counter()

    def some(self, most, least=1):
        """A number."""
        return self.random.randint(least, most)

    def often(self, chance=0.5):
        """Yes or no."""
        return self.random.random() < chance

    def words(self, least=0, apart=(" ", "  ", "\u00a0", "\n")):
        """A text, and how many words it has."""
        many = self.some(5, least)
        return self.random.choice(apart).join(self.random.choices(WORDS, k=many)), many

    def count(self, kept, **many):
        """So many dialogues, turns, words, scores, ... were there; ``kept``: by what the tables call them."""
        self.read.update(many)
        self.kept.update(kept)


def esconv(known, folder):
    lines = []
    for number in range(known.some(4)):
        turns, words, labels, judged, target = [], 0, 0, set(), None
        for at in range(known.some(5)):
            (text, many), supporter = known.words(), known.often()
            turn = {"speaker": "sys" if supporter else "usr", known.random.choice(("text", "content")): text}
            words += many
            target = at if supporter else target
            if known.often(0.4):
                turn["annotation"] = {"feedback": "3"}
                labels += 1
                judged |= set() if supporter else {target} - {None}
            turns.append(turn)
        answers = {name: "4" for name in NAMES if known.often(0.7)}
        others = {"relevance": "5"} if known.often() else {}
        if number and known.often(0.3):
            turns[0]["speaker"] = "boss"
            known.count({}, dialogues=1, turns=len(turns), words=words)
        else:
            kept = {"sessions": 1, "turns": len(turns), "words": words, "scores": len(answers) + len(judged)}
            known.count(kept, dialogues=1, turns=len(turns), words=words, labels=labels, scores=4 + len(others))
        lines.append(json.dumps({"dialog": turns, "survey_score": {"seeker": answers, "supporter": others}}) + "\n")
    if known.often():
        lines.append(BREAK)
        known.count({}, dialogues=1)
    (folder / "a.jsonl").write_text("".join(lines))
    (folder / "README").touch()
    known.count({}, files=2)
    return {}


def uss(known, folder):
    text = ""
    for number in range(known.some(4)):
        lines, words, labels, judged, target, cells = [], 0, 0, set(), None, 0
        for at in range(known.some(6)):
            (said, many), of_system = known.words(apart=(" ", "\u00a0")), known.often()
            scores = known.some(3, least=0)
            target = at if of_system else target
            judged |= {(target, i) for i in range(scores) if target is not None and not of_system}
            labels, words = labels + scores, words + many
            lines.append(f"{'SYSTEM' if of_system else 'USER'}\t{said}\t\t{','.join('3' * scores)}")
            if known.often(0.2):
                lines[-1] += "\twhy"
                cells += 1
        overall = known.some(3, least=0)
        end = [f"USER\tOVERALL\t\t{','.join('4' * overall)}"] * (overall > 0)
        read = {"dialogues": 1, "turns": len(lines) + len(end), "words": words + len(end)}
        if number and known.often(0.3):
            lines.insert(0, "ROBOT\tbeep\t\t")
            known.count({}, **read | {"turns": read["turns"] + 1, "words": read["words"] + 1})
        else:
            kept = {"sessions": 1, "turns": len(lines), "words": words, "scores": len(judged) + overall}
            known.count(kept, **read, labels=labels, scores=overall, **{"cells of explanations": cells})
        text += "\n".join([*lines, *end]) + "\n" * known.some(3, least=2)
    (folder / "A.txt").write_text(text)
    known.count({}, files=1)
    return {}


def conture(known, folder):
    dialogs = []
    for number in range(known.some(4)):
        turns, words, prefixes, labels = [], 0, 0, 0
        for _ in range(known.some(4)):
            turn = {}
            for key, prefix in (("user", "User:"), ("chatbot", "Chatbot:")):
                text, many = known.words()
                before = known.random.choice(("", prefix, f"{prefix} ")) if many else ""
                turn[key] = before + text
                words, prefixes = words + many, prefixes + before.endswith(" ")
            if known.often(0.7):
                turn["overall impression"] = known.random.choice((0, "1", None))
                labels += turn["overall impression"] is not None
            turns.append(turn)
        ratings = [{name: known.random.choice((1, "2", "N/A")) for name in "ab"} for _ in range(known.some(3, 0))]
        given = sum(value != "N/A" for one in ratings for value in one.values())
        read = {"dialogues": 1, "turns": 2 * len(turns), "words": words + prefixes}
        double = number > 0 and known.often(0.3)
        dialogs.append({"dialog_id": 0 if double else number, "turns": turns, "dialog_ratings": ratings})
        if double:
            known.count({}, **read)
        else:
            kept = {"sessions": 1, "turns": 2 * len(turns), "words": words, "scores": given + labels}
            known.count(kept, **read, scores=2 * len(ratings), labels=len(turns))
    if known.often():
        dialogs.append(3)
        known.count({}, dialogues=1)
    (folder / "data.json").write_text(json.dumps(dialogs))
    return {}


def casino(known, folder):
    buttons, dialogues = known.random.choice(("told", "named", "none")), []
    for number in range(known.some(4)):
        log, words, pressed, deals, speakers = [], 0, 0, 0, set()
        for _ in range(known.some(4)):
            who = known.random.choice(("ann", "bob"))
            text, many = known.words(least=1)
            log.append(entry(who, text))
            words += many
            speakers.add(who)
            if known.often(0.4):
                log += [entry("ann", "Submit-Deal", **DEAL), entry("bob", "Reject-Deal", data="reject_deal")]
                pressed, deals = pressed + 2, deals + 1
        log.append(entry("bob", "Walk-Away", data="walk_away"))
        pressed += 1
        if buttons != "none":
            speakers |= {"ann", "bob"} if deals else {"bob"}
        people = {name: person("Food", "Water", "Firewood", 5) for name in ("ann", "bob")}
        turns, of_buttons = len(log), pressed if buttons != "none" else 0
        if number and known.often(0.3):
            people["ann"]["outcomes"]["points_scored"] = 6
            known.count({}, dialogues=1, turns=turns, words=words + pressed)
        else:
            more = 16 * deals if buttons == "told" else 0
            scores = 2 * len(speakers) + (4 if len(speakers) == 2 else 0)
            kept = {"sessions": 1, "turns": turns - pressed + of_buttons, "words": words + of_buttons + more}
            known.count(kept | {"scores": scores}, dialogues=1, turns=turns, words=words + pressed, scores=8)
        dialogues.append({"dialogue_id": number, "chat_logs": log, "participant_info": people})
    (folder / "a.json").write_text(json.dumps(dialogues))
    known.count({}, files=1)
    return {"buttons": buttons}


def dealornodeal(known, folder):
    mine, theirs = "1 0 4 2 1 2", "1 4 4 1 1 2"
    lines, limit = {"data": [], "val": []}, known.some(3)
    seen = Counter()
    for number in range(known.some(6)):
        said = [
            (known.random.choice(("YOU", "THEM")), *known.words(least=1, apart=(" ",))) for _ in range(known.some(4))
        ]
        said.append(("YOU", f"number {number}", 2))
        ends = known.random.choice(("YOU", "THEM"))
        left = known.often(0.2)
        turns, words = len(said) + 1, sum(many for _, _, many in said) + 1
        part = "val" if known.often(0.3) and number else "data"
        sides = 1 + known.often(0.6)
        for side in range(sides):
            names = {"YOU": "THEM", "THEM": "YOU"} if side else {"YOU": "YOU", "THEM": "THEM"}
            talk = " <eos> ".join(f"{names[who]}: {text}" for who, text, _ in [*said, (ends, "<selection>", 1)])
            own, other = (theirs, mine) if side else (mine, theirs)
            split = "item0=1 item1=0 item2=1 <eos> reward=6" if side else "item0=0 item1=4 item2=0 <eos> reward=8"
            row = f"{own} {talk} {'disconnect <eos> reward=disconnect' if left else split} agree {other}"
            lines[part].append(row)
            known.count({}, dialogues=1, turns=turns, words=words)
            if part == "val" and known.often():
                lines["data"].append(row)
                known.count({}, dialogues=1, turns=turns, words=words)
        seen[part] += 1
        if seen[part] <= limit:
            speakers = {who for who, _, _ in said} | {ends}
            scores = 0 if left else 2 * len(speakers)
            known.count({"sessions": 1, "turns": turns, "words": words + 3, "scores": scores}, scores=4)
    if known.often():
        lines["data"].append("no row")
        known.count({}, dialogues=1)
    for name, rows in lines.items():
        if rows:
            (folder / f"{name}.txt").write_text("\n".join(rows))
            known.count({}, files=1)
    (folder / "selfplay.txt").touch()
    known.count({}, files=1)
    return {"limit": str(limit)}


ACTS = {
    # By kind: how it begins, how many words that is, and how many the turn has instead.
    "said": ('said: "', 1, 0),
    "posing": ('said: "[none] ', 2, 2),
    "action": (": [action] ", 1, 2),
    "smile": (": [non-verbal communication] ", 2, 2),
    "leave": ("left the conversation", 3, 4),
    "nothing": ("did nothing", 2, 3),
}


def sotopia(known, folder):
    lines = []
    for number in range(known.some(4)):
        raw, acts = known.often(), []
        for at in range(known.some(5)):
            kinds = [kind for kind in ACTS if kind != "nothing" or (at and acts[-1] != "nothing")]
            acts.append(known.random.choice(kinds))
        told, messages, read, kept, many_read = [], [], 0, 0, 0
        for at, kind in enumerate(acts):
            name, other = ("Ann Lee", "Bob Ray")[:: 1 if at % 2 == 0 else -1]
            begin, before, instead = ACTS[kind]
            text, many = known.words(least=1, apart=(" ", "\n\n")) if kind not in ("leave", "nothing") else ("", 0)
            text, many = text.replace("[action]", "act").replace('"', "x"), many
            act, quote = begin + text, 0
            if begin.startswith("said"):
                quote = known.often(0.3)
                act += ' "' if quote else '"'
            act = act.removeprefix(": ")
            kept += instead + many
            if raw:
                sent = [[name, "Environment", act], [other, "Environment", "did nothing"]]
                messages.append([["Environment", name, "your turn"], *sent])
                read, many_read = read + before + many + quote + 4, many_read + 3
            elif kind != "nothing":
                told.append(f"{name}: {act}" if begin.startswith(":") else f"{name} {act}")
                read, many_read = read + 2 + before + many + quote, many_read + 1 + text.count("\n\n")
        silent = 0
        while not raw and acts[len(acts) - 1 - silent] == "nothing":
            silent += 1
        extra = known.often(0.2)
        scores = SCORES | ({"charm": 3.0} if extra else {})
        broken = number > 0 and known.often(0.3)
        episode = {
            "episode_id": "same" if broken or not number else number,
            "scenario": "A park",
            "agents_background": {"Ann Lee": "A cook.", "Bob Ray": "A clerk."},
            "social_goals": {"Ann Lee": "Ask", "Bob Ray": "Say no"},
            "social_interactions": "\n\n".join(told) + "\n\n" * silent,
            "rewards": [scores, scores],
            **({"raw_messages": messages} if raw else {}),
        }
        lines.append(json.dumps(episode) + "\n")
        of_tables = {"sessions": 1, "turns": len(acts), "words": kept, "scores": 8 * min(len(acts), 2)}
        known.count({} if broken else of_tables, episodes=1, acts=many_read, words=read, scores=2 * len(scores))
    (folder / "a.jsonl").write_text("".join(lines))
    known.count({}, files=1)
    return {}


def soda(known, folder):
    rows, limit = [], known.some(5)
    for number in range(known.some(6)):
        said = [known.words() for _ in range(known.some(4))]
        texts, words = [text for text, _ in said], sum(many for _, many in said)
        broken = number > 0 and known.often(0.3)
        rows.append({"dialogue": texts, "speakers": ["x"] * (len(texts) + broken)})
        read = {"turns": len(texts), "words": words} if number < limit else {}
        known.count({"sessions": 1, **read} if read and not broken else {}, dialogues=1, **read)
    if known.often():
        pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    else:
        lines = [json.dumps(row) + "\n" for row in rows] + [BREAK]
        known.count({}, dialogues=1)
        (folder / "a.jsonl").write_text("".join(lines))
    known.count({}, files=1)
    return {"limit": str(limit)}


def convokit(known, folder):
    lines, conversations = [], {}
    for number in range(known.some(4)):
        id_ = f"c{number}"
        said = [known.words() for _ in range(known.some(4, least=2))]
        labels = [known.random.choice((None, 2, "x")) for _ in said]
        words, torn = sum(many for _, many in said), number > 0 and known.often(0.2)
        for at, ((text, _), label) in enumerate(zip(said, labels, strict=True)):
            row = {"id": f"{id_}-{at}", "conversation_id": id_, "speaker": "uv"[at % 2], "text": text}
            lines.append(json.dumps(row | {"meta": {"good": label}}) + "\n")
        stars = known.random.choice((3, None, [4, None, "5"], {"u": 1, "v": ""}, []))
        answers = [] if stars is None else list(stars.values()) if isinstance(stars, dict) else stars
        answers = answers if isinstance(answers, list) else [answers]
        conversations[id_] = {"meta": {"stars": stars}}
        read = {"conversations": 1, "turns": len(said), "words": words, "scores": len(answers)}
        if torn:
            lines.append(f'{{"conversation_id": "{id_}", "te\n')
            known.count({}, **read | {"turns": len(said) + 1})
        else:
            scores = sum(answer not in (None, "") for answer in answers) + labels.count(2)
            kept = {"sessions": 1, "turns": len(said), "words": words, "scores": scores}
            known.count(kept, **read, labels=sum(label is not None for label in labels))
    conversations["nobody speaks"] = {"meta": {"stars": 2}}
    known.count({}, conversations=1, scores=1)
    (folder / "utterances.jsonl").write_text("".join(lines))
    (folder / "conversations.json").write_text(json.dumps(conversations))
    return {"score": "stars", "low": "1", "high": "5", "label": "good"}


LOST = {"broken", "their session is left out"}
JUDGED = {
    "come before any turn that they could judge",
    "judge a turn that has one already: the mean of them is there",
    "on turns of who is judged",
}
WAYS = {
    esconv: {
        *LOST,
        *JUDGED,
        "answers of the survey that are missing",
        "answers to other questions, or of the supporter",
    }
    | {"of another name than *.jsonl"},
    uss: {*LOST, *JUDGED, "lines OVERALL, which hold scores", "the word OVERALL", "no table holds them"},
    conture: {*LOST, "prefixes that say who speaks", "N/A", "missing"},
    casino: {*LOST, "buttons (option buttons)", "say what a deal divides", "by or of somebody who says nothing"},
    dealornodeal: {
        "broken",
        "of another name than data.txt, val.txt, test.txt",
        "in val or test, too",
        "beyond the limit",
    }
    | {"are a dialogue's other side", "say that somebody ends the talk", "of somebody who says nothing"}
    | {"not known, since somebody left"},
    sotopia: {*LOST, "in dimensions that SOTOPIA does not have", "messages of agents whose turn it is not"}
    | {
        "messages to agents",
        "names, said: and quotation marks before and after acts",
        "of agents of whom no act is told",
    }
    | {"are paragraphs that go on with an act", "do nothing, which the text leaves out", "say that nothing is done"}
    | {"say which kind of act it is"},
    soda: {*LOST, "beyond the limit"},
    convokit: {*LOST, "broken lines, or of no conversation", "without an utterance", "missing answers", "no number"},
}
"""By importer, what becomes of something that is no row of its own: all of it happens in the inputs."""


@pytest.mark.parametrize("make", WAYS, ids=lambda make: make.__name__)
def test_an_account_has_the_figures_of_the_input(make, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "place", lambda kind, out, made, record, account: (made.tables, account))
    ways = set()
    for seed in range(INPUTS):
        known, folder = Known(seed), tmp_path / f"{seed}"
        folder.mkdir()
        options = make(known, folder)
        source = folder / "data.json" if make is conture else folder
        tables, lines = registry.import_to(make.__name__, source, tmp_path / "out", options | {"language": "en"})
        ways.update(*(way for line in lines for way in (line.left_out, line.joined)))
        assert {line.what: line.read for line in lines} == +known.read, seed
        assert +known.kept == +Counter({
            "sessions": tables["sessions"].num_rows,
            "turns": tables["utterances"].num_rows,
            "words": words_of(tables["utterances"].column("text")),
            "scores": sum(tables[name].num_rows for name in ("ratings", "turn_labels") if name in tables),
        }), seed  # fmt: skip
    assert ways == WAYS[make]
