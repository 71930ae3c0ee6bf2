from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from apportion.corpus.schema import DESCRIPTORS, REWARDS
from apportion.corpus.session import Episode, Turn
from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
from apportion.evaluation.evaluation import ComputedAgreement, Evaluation, MethodAgreement, PairedDifference
from apportion.pipeline.report.colours import colour_class
from apportion.pipeline.report.highlights import facts_of, seed_spread, turns_to_look_at
from apportion.pipeline.report.page import ReportInputs, Sample, render_report
from apportion.pipeline.report.sessions import HeldOut, held_out, marked, session_views
from tests.pipeline.report_inputs import METHODS, made_up_inputs, made_up_rewards

VOID = {"meta", "br", "hr", "img", "link", "input"}
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


class Outline(HTMLParser):
    """Checks that every tag is closed in its order, and collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return made_up_inputs()


@pytest.fixture(scope="module")
def page(inputs: ReportInputs) -> str:
    return render_report(inputs)


def test_the_page_is_well_formed_and_asks_nobody_for_anything(page: str) -> None:
    found = outline(page)
    assert len(found.ids) == len(set(found.ids))
    assert not {"script", "link", "iframe", "img", "object", "base", "form"} & set(found.tags)
    assert not re.search(r"https?://|//[a-z]+\.[a-z]+/|url\(|@import", page)
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"]
    links = [value for name, value in found.attributes if name == "href"]
    assert links and all(link and link[0] == "#" and link[1:] in found.ids for link in links)
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(drawing)


def test_everything_that_a_report_promises_is_there(page: str) -> None:
    text = outline(page).text
    for part in (
        "The data is made up for a test.", "LLM replies are recorded", "60 rated sessions give 9 test sessions",
        "Global loss", "Mean", "Mode", "Random", "One annotator", "95% percentile bootstrap", "Paired differences",
        "chat-002", "turns with behaviour in words", "Reward models", "Policy", "KL divergence",
        "I am sorry, I will help.", "left.mp4 ends after 0 bytes", '"seeds": [0]', "2.13.0",
    ):  # fmt: skip
        assert part in text, part
    for method in METHODS:
        assert method in text
    for part in ("the customer warms up", "smiles, looks away"):  # What is behind a turn is for the viewer.
        assert part not in text


def test_equal_inputs_give_equal_pages(page: str) -> None:
    assert render_report(made_up_inputs()) == page


def test_a_signal_alone_has_a_height_of_its_own(inputs: ReportInputs) -> None:
    def views(*kinds: str, factor: float = 1.0) -> tuple[dict, ...]:
        rewards = made_up_rewards(tuple(inputs.episodes), 3.0, 0.0, ("uniform", "sentiment-raw")).to_pylist()
        rows = [row for row in rewards if row["method"] in kinds]
        for row in rows:
            row["reward"] *= factor if row["method"] == "sentiment-raw" else 1.0
        table = pa.Table.from_pylist(rows, schema=REWARDS.arrow)
        colours = {name: colour_class(name) for name in kinds}
        view = session_views(held_out(inputs.episodes, table, inputs.splits), colours)["shown"][0]
        assert ("a signal alone has a height of its own" in view["largest"]) == ("sentiment-raw" in kinds)
        return view["strips"]

    (alone,) = views("uniform")
    small, large = views("uniform", "sentiment-raw"), views("uniform", "sentiment-raw", factor=1000.0)
    assert alone["svg"] == small[0]["svg"] == large[0]["svg"]
    drawn = [re.findall(r' d="[^"]*"', str(strips[1]["svg"])) for strips in (small, large)]
    assert drawn[0] == drawn[1] and drawn[0]


def test_sums_are_checked_against_the_score(inputs: ReportInputs, page: str) -> None:
    assert page.count('class="badge exact"') == 3 * len(METHODS) and 'class="badge off"' not in page
    wrong = render_report(replace(inputs, rewards=made_up_rewards(tuple(inputs.episodes), 3.0, 0.2, METHODS)))
    assert 'class="badge off"' in wrong and " off score" in wrong
    whole = render_report(replace(inputs, rewards=made_up_rewards(tuple(inputs.episodes), 0.0, 0.0, METHODS)))
    assert "= score</span>" in whole and 'class="badge off"' not in whole


def spoiled(inputs: ReportInputs) -> ReportInputs:
    """Everything that comes from outside holds markup."""

    def bad(episode: Episode) -> Episode:
        turns = tuple(Turn(t.turn, t.speaker + EVIL, EVIL, t.start_s, t.end_s) for t in episode.turns)
        rating = replace(episode.rating, rater="customer" + EVIL, target="agent" + EVIL, name=EVIL)
        return Episode(episode.session_id + EVIL, turns, rating)

    episodes = tuple(bad(episode) for episode in inputs.episodes)
    rewards = made_up_rewards(episodes, 3.0, 0.0, ("llm" + EVIL, "rrd"))
    rationales = pa.array([EVIL] * rewards.num_rows)
    rewards = rewards.set_column(rewards.schema.get_field_index("rationale"), "rationale", rationales)
    names = pa.array([name + EVIL for name in inputs.splits["session_id"].to_pylist()])
    evaluation = {**inputs.evaluation, "rating": EVIL, "warnings": [EVIL], "reward_models": ()}
    model = dict(inputs.evaluation["reward_models"][0])
    evaluation["reward_models"] = [{**model, "method": EVIL, "spearman": {"reason": EVIL}}]
    assert inputs.histories is not None
    metric = pa.array([EVIL] * inputs.histories.num_rows)
    seen = {"session_id": episodes[0].session_id, "turn": 0, "person": EVIL, "window": EVIL, "text": EVIL}
    return replace(
        inputs,
        evaluation=evaluation,
        episodes=episodes,
        rewards=rewards,
        splits=inputs.splits.set_column(0, "session_id", names),
        descriptors=pa.Table.from_pylist([seen], schema=DESCRIPTORS.arrow),
        histories=inputs.histories.set_column(4, "metric", metric).set_column(0, "stage", metric),
        samples=(Sample(EVIL, EVIL, EVIL, 0.0, None),),
        gold={"verdict": EVIL},
        quarantine=({"stage": EVIL, "session_id": EVIL, "unit": EVIL, "status": EVIL, "cause": EVIL},),
        warnings=(EVIL,),
        config=EVIL,
        versions={EVIL: EVIL},
        notes=(EVIL,),
    )


def test_markup_from_outside_is_shown_and_never_run(inputs: ReportInputs, tmp_path: Path) -> None:
    page = render_report(spoiled(inputs))
    found = outline(page)
    assert "script" not in found.tags and "img" not in found.tags
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert found.text.count("<script>alert(1)</script>") > 40
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(drawing)


def test_characters_that_a_page_cannot_hold_are_dropped(inputs: ReportInputs) -> None:
    odd = "a\x00b\x1bc\ud800d\u202ee\ufffff"
    page = render_report(replace(inputs, notes=(odd,), config=odd))
    page.encode("utf-8")
    assert ">abcdef<" in page


def test_the_policy_names_the_style_that_is_there(page: str) -> None:
    import base64
    import hashlib

    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert style and policy
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy[1].replace("&#39;", "'").replace("&#43;", "+")
    assert "default-src 'none'" in policy[1] and "unsafe" not in policy[1]


def test_of_many_sessions_three_are_examples_and_the_viewer_is_named_for_all() -> None:
    page = render_report(made_up_inputs(84))
    assert page.count('<article class="session"') == 3
    assert len(page.encode()) < 200_000
    assert "3 of 84 sessions with rewards are shown" in " ".join(outline(page).text.split())
    for command in ("apportion view RUN", "apportion view RUN --export OUT"):
        assert f"<code>{command}</code>" in page


def test_what_is_too_much_is_cut_and_said(inputs: ReportInputs) -> None:
    page = render_report(replace(inputs, quarantine=inputs.quarantine * 300, samples=tuple(inputs.samples) * 40))
    text = " ".join(outline(page).text.split())
    assert "200 of 300 are shown" in text and "50 of 80 are shown" in text


def scored(episode: Episode, score: float) -> Episode:
    return replace(episode, rating=replace(episode.rating, score=score))


def disputed(episodes: tuple[Episode, ...], which: str) -> pa.Table:
    """Rewards by which two methods order the turns of a session alike, but for one."""
    rows = made_up_rewards(episodes, 3.0, 0.0, ("rrd", "uniform")).to_pylist()
    for row in rows:
        turned = row["method"] == "uniform" and row["session_id"] == which
        row["reward"] = float(-row["turn"] if turned else row["turn"])
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def test_the_examples_are_the_ends_of_the_scale_and_the_most_disputed_of_the_test_split(inputs: ReportInputs) -> None:
    ids = ("chat-000", "chat-001", "chat-002", "chat-003", "chat-004", "chat-005")
    scores = (1.0, 4.0, 5.0, 2.0, 3.0, 3.0)
    episodes = tuple(scored(e, s) for e, s in zip(inputs.episodes, scores, strict=False))
    splits = pa.Table.from_pylist(
        [{"session_id": i, "split": "train" if i == "chat-000" else "test"} for i in ids], schema=inputs.splits.schema
    )
    colours = {"rrd": "m2", "uniform": "m4"}
    views = session_views(held_out(episodes, disputed(episodes, "chat-005"), splits), colours)
    assert {view["why"]: view["session_id"] for view in views["shown"]} == {
        "the lowest score": "chat-003", "the highest score": "chat-002", "methods disagree most": "chat-005",
    }  # fmt: skip
    assert views["in_all"] == 6 and {view["split"] for view in views["shown"]} == {"test"}
    # Without a test split those of the next one.
    train = splits.set_column(1, "split", pa.array(["train"] * 6))
    assert (
        session_views(held_out(episodes, disputed(episodes, ""), train), colours)["shown"][0]["session_id"]
        == "chat-000"
    )


def test_where_nobody_scored_and_no_methods_differ_one_session_is_an_example(inputs: ReportInputs) -> None:
    episodes = tuple(replace(e, rating=replace(e.rating, low=0.0, high=0.0, score=0.0)) for e in inputs.episodes)
    rewards = made_up_rewards(inputs.episodes, 3.0, 0.0, ("rrd",))
    views = session_views(held_out(episodes, rewards, inputs.splits), {"rrd": "m2"})
    assert [(view["why"], view["score"]) for view in views["shown"]] == [("an example", "")]


def test_a_session_of_thousands_of_turns_is_cut_and_its_sum_is_whole(inputs: ReportInputs) -> None:
    long = replace(inputs.episodes[0], session_id="chat-002", rating=replace(inputs.episodes[0].rating, score=1.0))
    turns = tuple(Turn(i, "agent" if i % 2 == 0 else "customer", "x" * 5000) for i in range(5000))
    episode = replace(long, turns=turns)
    rewards = made_up_rewards((episode,), 3.0, 0.0, ("uniform",))
    page = render_report(replace(inputs, episodes=(episode,), rewards=rewards))
    text = " ".join(outline(page).text.split())
    assert "The first 60 of 5,000 turns" in text
    assert len(page) < 200_000


def test_a_run_without_training_samples_or_behaviour(inputs: ReportInputs) -> None:
    bare = replace(inputs, descriptors=None, histories=None, samples=(), quarantine=(), warnings=(), notes=())
    text = outline(render_report(bare)).text
    assert "Nothing was skipped." in text and "Policy" not in text and "Before" not in text


def test_gold_has_a_sentence_in_the_conclusion_and_a_curve_beside_best_of_n(inputs: ReportInputs) -> None:
    points = [{"at": at, "kl": float(at), "reward": 0.5 * at, "gold": -0.25 * at} for at in range(3)]
    page = render_report(replace(inputs, gold={"verdict": "Worse by gold.", "curve": points, "best_of": points[:2]}))
    text = " ".join(outline(page).text.split())
    assert "The aligned policy: Worse by gold." in text and "gold: −0.500; reward, best-of-n: 0.500" in text
    assert page.count("Reward and gold over the square root of KL") == 2
    few = outline(render_report(replace(inputs, gold={"verdict": "No gold reward tells."}))).text
    assert "No gold reward tells." in few and "best-of-n" not in few


def test_several_seeds_are_averaged(inputs: ReportInputs) -> None:
    one = inputs.rewards.filter(pa.array([m == "rrd" for m in inputs.rewards["method"].to_pylist()]))
    other = one.set_column(one.schema.get_field_index("seed"), "seed", pa.array([1] * one.num_rows, pa.int32()))
    both = render_report(replace(inputs, rewards=pa.concat_tables([one, other.cast(one.schema)])))
    assert both.count('class="badge exact"') == 2
    assert both == render_report(replace(inputs, rewards=one))


def test_missing_rewards_draw_nothing(inputs: ReportInputs) -> None:
    nothing = render_report(replace(inputs, rewards=inputs.rewards.slice(0, 0)))
    assert "No session has rewards." in outline(nothing).text
    row = inputs.rewards.slice(0, 1)
    empty = row.set_column(row.schema.get_field_index("reward"), "reward", pa.array([None], pa.float64()))
    outline(render_report(replace(inputs, rewards=empty)))


def test_five_turns_are_the_ends_of_the_method_s_rewards_and_the_most_disputed_of_others(inputs: ReportInputs) -> None:
    """Each of a session of its own while there are some, and told apart from ones that a method pays alike."""
    seen = held_out(inputs.episodes, inputs.rewards, inputs.splits)
    turns = turns_to_look_at("llm", seen)
    assert [turn.why.partition(":")[0] for turn in turns] == ["Best", "Best", "Worst", "Worst", "Most disputed"]
    paid = [r for r in inputs.rewards.to_pylist() if r["method"] == "llm" and r["session_id"] in set(ids_of(seen))]
    best = max(paid, key=lambda row: row["reward"])
    assert (turns[0].session_id, turns[0].turn) == (best["session_id"], best["turn"])
    assert turns[0].mark == f"{marked(best['session_id'])}.{best['turn']}" and turns[0].command.endswith(
        turns[0].session_id
    )
    assert len({turn.session_id for turn in turns}) == min(5, len(set(ids_of(seen))))
    assert [turn.why.partition(":")[0] for turn in turns_to_look_at("uniform", seen)] == ["Most disputed"]
    alone = inputs.rewards.filter(pa.array([m == "uniform" for m in inputs.rewards["method"].to_pylist()]))
    assert turns_to_look_at("uniform", held_out(inputs.episodes, alone, inputs.splits)) == []


def test_turns_are_told_apart_though_no_held_out_session_shows_it(inputs: ReportInputs) -> None:
    splits = inputs.splits.set_column(
        inputs.splits.schema.get_field_index("split"), "split", pa.array(["train"] * len(inputs.splits))
    )
    seen = held_out(inputs.episodes, inputs.rewards, splits)
    orders = {m: facts_of(m, seen, inputs.episodes, inputs.rewards, None).orders for m in ("llm", "uniform")}
    assert orders == {"llm": True, "uniform": False}


def test_a_broken_session_does_not_hide_the_next_step(inputs: ReportInputs) -> None:
    broken = {"stage": "check", "session_id": "s", "unit": "s", "status": "failed", "cause": "no"}
    assert "does again what has failed" not in render_report(replace(inputs, quarantine=[broken]))


def ids_of(seen: HeldOut) -> list[str]:
    return [episode.session_id for episode in seen.episodes]


def test_the_spread_between_seeds_is_that_of_a_turn_s_reward(inputs: ReportInputs) -> None:
    row = inputs.rewards.slice(0, 1).to_pylist()[0]
    rows = [
        row | {"turn": t, "seed": seed, "reward": value}
        for t, values in ((0, (0.0, 0.2)), (2, (1.0, 1.2)))
        for seed, value in enumerate(values)
    ]
    both = pa.Table.from_pylist(rows, schema=REWARDS.arrow)
    found = seed_spread(both, row["method"])
    assert found is not None and found.seeds == 2
    assert found.within == pytest.approx(0.02**0.5) and found.between == pytest.approx(0.5**0.5)
    assert seed_spread(both.filter(pa.array([r["seed"] == 0 for r in rows])), row["method"]) is None
    alike = [one | {"reward": float(one["turn"])} for one in rows]
    assert seed_spread(pa.Table.from_pylist(alike, schema=REWARDS.arrow), row["method"]) is None


def test_the_conclusion_comes_first_then_at_most_three_tables_and_the_rest_is_folded(page: str) -> None:
    top, _, rest = page.partition("<summary>All the rest")
    order = [
        top.index(f"<h3>{title}") for title in ("What was asked", "What can be trusted", "Which method", "Next step")
    ]
    assert order == sorted(order) and 1 <= top.count("<table") <= 3 and "<table" in rest
    assert top.count("<li><b>") == 5 and "Calibration of the session score" not in top
    assert page.count("too few to tell methods apart") == 1


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def chromium(profile: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_applies_the_style_and_runs_nothing(inputs: ReportInputs, tmp_path: Path) -> None:
    def complaints(html: str) -> str:
        (tmp_path / "report.html").write_text(html, encoding="utf-8")
        page = (tmp_path / "report.html").as_uri()
        done = chromium(tmp_path / "profile", "--enable-logging=stderr", "--dump-dom", page)
        assert "From one score to turn rewards" in done.stdout
        return "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)

    page = render_report(spoiled(inputs))
    assert complaints(page) == ""
    assert "Content Security Policy" in complaints(page.replace("<style>", "<style>/* another style */"))


MOVE = """<script>
document.body.style.width = "390px";
const wide = [...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth + 20);
const found = wide.map(box => {
  box.scrollLeft = 1000;
  const row = box.querySelector("tbody tr"), left = box.getBoundingClientRect().left;
  return {moved: box.scrollLeft, first: row.cells[0].getBoundingClientRect().left - left,
          second: row.cells[1].getBoundingClientRect().left - left, wide: row.cells[0].getBoundingClientRect().width};
});
document.title = JSON.stringify(found);
</script></body>"""
"""Moves every table that is wider than its frame to its end, and says where its first two columns are then."""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_table_that_is_moved_on_a_phone_keeps_its_methods_in_sight(page: str, tmp_path: Path) -> None:
    free = re.sub(r"<meta http-equiv=[^>]*>", "", page).replace("<details>", "<details open>")
    (tmp_path / "report.html").write_text(free.replace("</body>", MOVE), encoding="utf-8")
    arguments = ("--window-size=500,900", "--dump-dom", (tmp_path / "report.html").as_uri())
    titled = re.search(r"<title>(.*?)</title>", chromium(tmp_path / "profile", *arguments).stdout)
    assert titled is not None
    tables = json.loads(titled[1])
    assert len(tables) >= 3
    for table in tables:
        assert table["moved"] > 20 and -1 <= table["first"] <= 2, table
        assert table["second"] < table["wide"] <= 0.4 * 500, table


def test_a_method_has_the_same_colour_alone_as_among_others(inputs: ReportInputs, page: str) -> None:
    def colour(text: str, method: str) -> str:
        return re.findall(rf'<i class="dot (m\d+)"></i>{method}</span>', text)[0]

    alone = pa.array([name == "uniform" for name in inputs.rewards["method"].to_pylist()])
    fewer = render_report(replace(inputs, rewards=inputs.rewards.filter(alone)))
    assert colour(fewer, "uniform") == colour(page, "uniform") != colour(page, "llm")


def test_no_figure_is_a_remainder_or_a_signed_zero(inputs: ReportInputs) -> None:
    rewards = inputs.rewards
    tiny = [(-2.8e-17, 2.8e-17, -0.0)[i % 3] for i in range(rewards.num_rows)]
    place = rewards.schema.get_field_index("reward")
    text = outline(render_report(replace(inputs, rewards=rewards.set_column(place, "reward", pa.array(tiny))))).text
    assert "e−17" not in text and not re.search(r"[+−-]0\.0+(?!\d)", text)


def test_a_run_without_an_evaluation_or_rewards_says_why(inputs: ReportInputs) -> None:
    missing = {"evaluation": "left out: last_stage = 'rewards'", "rewards": "failed: <no disk>"}
    found = outline(
        render_report(replace(inputs, evaluation=None, rewards=None, missing=missing, unfinished={"align"}))
    )
    text = " ".join(found.text.split())
    assert "No evaluation: left out: last_stage = 'rewards'" in text and "No rewards: failed: <no disk>" in text
    assert "evaluation" not in found.ids and "No session has rewards." in text and "Policy (up to a failure)" in text
    assert f"Rating {inputs.rating}" in text


def test_paired_differences_by_computed_labels_say_whose_they_are():
    inputs = made_up_inputs()
    found = Evaluation.from_json(inputs.evaluation)
    difference = PairedDifference("decompositions", "computed_auc", "llm", "rrd", Estimate(0.1, 0.05, 0.2, 9))
    row = MethodAgreement("llm", Missing("no turns"), Estimate(0.6, 0.5, 0.7, 9))
    truth = ComputedAgreement("computed:<rules>", Missing("nobody"), (), (row,), (difference,))
    page = render_report(replace(inputs, evaluation=replace(found, computed=(truth,)).to_json()))
    assert "AUC (computed) computed:&lt;rules&gt;" in page
    assert "Decompositions and labels of computed:&lt;rules&gt;" in page


def test_a_score_of_the_environment_is_nobodys(inputs: ReportInputs) -> None:
    scored = tuple(replace(e, rating=replace(e.rating, rater="environment")) for e in inputs.episodes)
    rewards = made_up_rewards(scored, 3.0, 0.0, METHODS)
    text = outline(render_report(replace(inputs, episodes=scored, rewards=rewards))).text
    assert " was scored by the environment (rules or a judge) on " in text
    assert f" rated {scored[0].rating.target}" not in text


def test_what_each_part_rests_on_stands_folded_in_one_place_and_escaped() -> None:
    rows = [
        {"stage": "fit", "version": 1, "unit": "mix, seed 0", "content": "0123456789ab",
         "from": {"settings": "aaaaaaaaaaaa", "judge": "bbbbbbbbbbbb", "frozen": "<b>base</b>"}},
        {"stage": "split", "version": 2, "unit": "corpus", "content": "cccccccccccc", "from": {}},
    ]  # fmt: skip
    page = render_report(made_up_inputs(changes={"lineage": rows, "language_model": "<i>gpt</i>"}))
    found = re.search(r'<details id="lineage">.*?</details>', page, re.DOTALL)
    assert found is not None and "<b>base" not in page and "<i>gpt" not in page
    text = " ".join(outline(found[0]).text.split())
    for part in ("fit, version 1", "mix, seed 0", "0123456789ab", "judge bbbbbbbbbbbb", "frozen <b>base</b>"):
        assert part in text
    assert "split, version 2" in text and "by the language model <i>gpt</i>." in text
    assert 'id="lineage"' not in render_report(made_up_inputs())
