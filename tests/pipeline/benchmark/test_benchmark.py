"""The benchmark: which methods, what is written, and what is refused before any work."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.decompose.method import LabelStudent, RolloutMethod, StudentMethod
from apportion.decompose.methods import METHODS
from apportion.decompose.settings import DecomposeSettings
from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
from apportion.evaluation.evaluation import ComputedAgreement, Evaluation, MethodAgreement, PairedDifference
from apportion.foundation.errors import InputError
from apportion.pipeline.assembly import open_engine
from apportion.pipeline.benchmark.benchmark import DOCUMENT, PAGE, PICTURE, compared_methods, configure, write_benchmark
from apportion.pipeline.benchmark.page import page, picture
from apportion.pipeline.benchmark.session import ShownSession, shown_session
from apportion.pipeline.config import Config
from apportion.pipeline.engine.progress import StageProgress
from apportion.pipeline.execution.runner import run_stages
from tests.behaviour.small import write_small_corpus
from tests.pipeline.report_inputs import made_up_inputs
from tests.reward_model.tiny import save_tiny

EVIL = "<script>alert(1)</script> | [x](http://evil) $a_b$ `c`"
TURNS = (Turn(0, "user", "hi"), Turn(1, "bot", "hello"))
SESSION = Session("a", TURNS, (Rating("user", "bot", "mood", 3.0, 1.0, 5.0),))
EVALUATION = Evaluation.from_json(made_up_inputs().evaluation)
BASIS = {
    "corpus": "c", "rating": "r", "sessions": 2, "seeds": [0], "methods": {}, "left_out": {}, "notes": [],
    "constraint": "exact",
}  # fmt: skip
RECORDED = replace(SESSION, media=(Media("user", "video", "u.mp4"),))


def test_all_registered_methods_are_chosen_that_the_corpus_can_feed():
    text, filmed = compared_methods((), (), [SESSION]), compared_methods((), (), [SESSION, RECORDED])
    assert {"uniform", "sentiment", "rrd", "reaction"} <= set(text.methods)
    voices = {"intensity", "intensity-raw"}
    assert {filmed.left_out[name] for name in voices} == {
        "no model of vocal intensity is named (decompose.intensity.model)"
    }
    named = DecomposeSettings(intensity={"model": "somewhere"})
    assert voices <= set(compared_methods((), (), [SESSION, RECORDED], named).methods)
    unasked = RolloutMethod | StudentMethod | LabelStudent
    named_alone = {name for name, m in METHODS.items() if not (m.asks or isinstance(m, unasked))}
    same = {"rrd-published", "rrd-160", "rrd-160-published"}
    unfed = {"reaction-llm", "influence", "zero-shot", "prior", "episode-score"}
    assert set(filmed.methods) == named_alone - unfed - same - voices
    assert filmed.left_out["influence"] == "no model that measures is named (decompose.influence.model)"
    assert filmed.left_out["zero-shot"] == "no model that measures is named (decompose.zero_shot.model)"
    assert {text.left_out[name] for name in same} == {
        "no dialogue has more than 1 turns to draw from, so that it is rrd again"
    }
    assert "mix" in text.methods
    assert text.left_out["reaction-llm"] == "it reads what llm has judged"
    assert text.left_out["prior"] == "no model of reactions is named (decompose.reaction.pretrained)"
    learnt = DecomposeSettings(reaction={"pretrained": "somewhere"})
    assert "prior" in compared_methods((), (), [SESSION], learnt).methods
    assert text.left_out["affect"] == "the corpus has no recordings"
    assert text.left_out["people-student"].startswith("it learns from people's labels")
    assert text.left_out["llm"] == text.left_out["llm-student"] == "it asks a language model"
    assert text.left_out["savoir"] == "it plays sessions on in the environment that made them; name it to compare it"
    assert "divides no score; name it" in text.left_out["episode-score"]
    assert compared_methods(("episode-score",), (), [SESSION]).methods == ("episode-score",)
    assert set(text.methods) | set(text.left_out) == set(METHODS)


def test_all_forms_of_rrd_are_compared_where_dialogues_are_longer_than_both_k():
    turns = tuple(Turn(i, "bot" if i % 2 else "user", "hi") for i in range(2 * 161))
    long = replace(SESSION, turns=turns)
    family = {"rrd", "rrd-published", "rrd-160", "rrd-160-published"}
    assert family <= set(compared_methods((), (), [SESSION, long]).methods)
    middle = compared_methods((), (), [replace(SESSION, turns=turns[:100])])
    assert set(middle.methods) & family == {"rrd", "rrd-published", "rrd-160"}
    assert family <= set(compared_methods(tuple(family), (), [SESSION]).methods)


def test_methods_of_a_configuration_join_and_asked_ones_stand_alone():
    assert {"llm", "reaction-llm"} <= set(compared_methods((), ("llm", "uniform"), [SESSION]).methods)
    asked = compared_methods(("rrd", "uniform"), ("llm",), [SESSION])
    assert asked.methods == ("rrd", "uniform") and asked.left_out == {}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("senti",), "did you mean 'sentiment'"),
        (("rrd", "rrd"), "name each method once"),
        (("affect",), "no recordings"),
        (("reaction-llm",), "it reads what llm has judged"),
    ],
)
def test_methods_that_cannot_be_compared(asked, message):
    with pytest.raises(InputError, match=message):
        compared_methods(asked, (), [SESSION])


def test_no_such_session_or_corpus(tmp_path):
    folder = write_small_corpus(tmp_path / "corpus")
    base = Config(corpus=folder, output=tmp_path / "run")
    with pytest.raises(InputError, match=r"no such session that can be used; did you mean 's01'\?"):
        configure(base, (), (), "s01x")
    with pytest.raises(InputError, match="see `apportion inspect"):
        configure(base, (), (), "quite another")
    with pytest.raises(InputError, match="no such folder"):
        configure(Config(corpus=tmp_path / "none", output=tmp_path / "run"), (), (), None)


def spoil(folder):
    """Text that wants to be more than text, in every utterance."""
    corpus = Corpus.open(folder)
    table = corpus.utterances
    place = table.schema.get_field_index("text")
    texts = pa.array([f"{text} {EVIL}" for text in table.column("text").to_pylist()], pa.string())
    changed = table.set_column(place, table.schema.field(place), texts)
    Corpus.of(folder, {**corpus.tables, "utterances": changed}).write(folder)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark")
    spoil(write_small_corpus(folder / "corpus", sessions=14))
    small = {"backbone": str(save_tiny(folder / "tiny")), "max_tokens": 32}
    base = Config.model_validate(
        {
            "corpus": folder / "corpus",
            "output": folder / "run",
            "seeds": (0, 1),
            "decompose": {"reaction": small},
            "train_reward": {**small, "epochs": 1},
        }
    )
    config, choice = configure(base, ("uniform", "reaction"), (), None)
    assert config.rating == "satisfaction"
    with ThreadPoolExecutor(1) as executor, StageProgress(quiet=True) as progress:
        assert not run_stages(config, ["evaluate"], progress, executor).quarantined
    return config, choice


def test_page_document_and_picture_are_written_and_again_the_same(finished):
    config, choice = finished
    written = write_benchmark(config, choice, None)
    assert {path.name for path in written.values()} == {PAGE, DOCUMENT, PICTURE}
    first = {path: path.read_bytes() for path in written.values()}
    assert {path: path.read_bytes() for path in write_benchmark(config, choice, None).values()} == first
    text = (config.output / PAGE).read_text(encoding="utf-8")
    assert all(name in text for name in ("reaction", "uniform", "Mean", "Mode", "Random", "Paired differences"))
    assert "<script" not in text and "[x](http" not in text
    document = json.loads((config.output / DOCUMENT).read_text(encoding="utf-8"))
    assert document["seeds"] == [0, 1] and set(document["methods"]) == {"uniform", "reaction"}
    assert {row["method"] for row in document["evaluation"]["decompositions"]} == {"uniform", "reaction"}
    assert set(document["session"]["rewards"]) == {"uniform", "reaction"}
    assert (config.output / PICTURE).read_bytes().startswith(b"\x89PNG")


def test_a_session_can_be_asked_for_and_its_rewards_sum_to_its_score(finished):
    config, _ = finished
    engine = open_engine(config)
    shown = shown_session(engine, "s03")
    assert shown.session_id == "s03" and shown.turns == (1, 3, 5)
    sums = {method: sum(values) for method, values in shown.rewards.items()}
    assert sums["uniform"] == pytest.approx(sums["reaction"])
    assert all(label in (0.0, 1.0) for label in shown.people)


def test_without_a_finished_evaluation_nothing_is_written_and_the_old_is_taken_away(finished, tmp_path):
    config, choice = finished
    other = config.model_copy(update={"output": tmp_path / "other"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / PAGE).write_text("old")
    assert write_benchmark(other, choice, None) == {}
    assert not (tmp_path / "other" / PAGE).exists()


def test_no_picture_where_no_session_has_all_rewards(finished, monkeypatch):
    config, choice = finished
    monkeypatch.setattr("apportion.pipeline.benchmark.session.shown_session", lambda engine, asked: None)
    assert {path.name for path in write_benchmark(config, choice, None).values()} == {PAGE, DOCUMENT}
    assert not (config.output / PICTURE).exists()


def shown(people=(1.0, None)):
    rewards = {f"m{i:02d} {EVIL}": (0.1 * i, -0.1 * i) for i in range(20)}
    return ShownSession(f"s {EVIL}", f"bot {EVIL}", 3.0, (1, 3), (EVIL * 5, ""), rewards, people)


@pytest.mark.parametrize("people", [(1.0, None), (None, None)])
def test_any_number_of_methods_and_any_text_can_be_drawn_and_written(people):
    one = shown(people)
    assert picture(one).startswith(b"\x89PNG") and picture(one) == picture(one)
    basis = {**BASIS, "corpus": EVIL, "rating": EVIL, "left_out": {EVIL: EVIL}, "notes": [EVIL]}
    text = page(EVALUATION, basis, one, PICTURE)
    assert "<script" not in text and "[x](http" not in text
    assert ("people" in text.split("turn by turn")[1]) == (people[0] is not None)


def test_computed_labels_stand_beside_peoples_and_say_what_computed_them():
    one = replace(shown((1.0, None)), computed={f"computed:{EVIL} (value)": (None, -0.5)})
    assert list(one.labels) == ["people", f"computed:{EVIL} (value)"] and "computed" not in shown().to_json()
    assert one.to_json()["computed"] == one.computed and picture(one) != picture(shown((1.0, None)))
    table = page(EVALUATION, BASIS, one, PICTURE).split("turn by turn")[1]
    assert "| people | computed:" in table and "| – | -0.50 |" in table and "<script" not in table


def test_paired_differences_of_the_agreement_with_computed_labels_have_tables_of_their_own():
    first, second = (row.method for row in EVALUATION.reward_models[:2])
    rows = tuple(
        MethodAgreement(name, Estimate(value, 0.0, 1.0, 9), Missing("no turns"))
        for name, value in ((first, 0.2), (second, 0.7))
    )
    difference = PairedDifference("reward_models", "computed_spearman", first, second, Estimate(-0.5, -0.6, -0.4, 9))
    truth = ComputedAgreement("computed:rollouts", Missing("x"), rows, (), (difference,))
    text = page(replace(EVALUATION, computed=(truth,)), BASIS, None, PICTURE)
    told = text.split(f"computed:rollouts: Spearman (computed) of `{second}` less")[1]
    assert f"| {first} | +0.500 [0.400, 0.600] |" in told


def test_what_is_in_units_of_its_own_is_not_the_best_and_is_told():
    first, second = (row.method for row in EVALUATION.reward_models[:2])
    losses = {first: 0.1, second: 0.4}
    models = tuple(
        replace(row, global_loss=Estimate(losses.get(row.method, 0.9), None, None, 9))
        for row in EVALUATION.reward_models
    )
    pair = PairedDifference("reward_models", "global_loss", first, second, Estimate(-0.3, -0.4, -0.2, 9))
    changed = replace(EVALUATION, reward_models=models, baselines=(), comparisons=(pair,), own_units=(first,))
    one = ShownSession("s", "bot", 3.0, (1,), ("hi",), {first: (0.5,), second: (0.1,)}, (None,))
    text = page(changed, BASIS, one, PICTURE)
    assert f"Global loss of `{second}` less" in text
    assert f"`{first}` aside, whose rewards are in units of their own." in text


def test_the_head_says_what_stands_in_for_what_and_the_last_table_whether_rewards_have_a_sum():
    exact, soft = (
        page(EVALUATION, {**BASIS, "constraint": constraint, "notes": ["MiniLM stands in."]}, shown(), PICTURE)
        for constraint in ("exact", "soft")
    )
    head = exact.split("**Reward models")[0]
    assert head.startswith("# Benchmark: c\n") and "\n\nMiniLM stands in.\n\n" in head
    assert "units of the score). They have the same sum whatever the method" in exact
    assert "each method's own numbers as they come" in soft and "same sum" not in soft


def test_differences_are_of_the_best_less_each_other_whatever_the_order():
    rows = zip(EVALUATION.decompositions[:3], (0.5, 0.1, 0.3), strict=True)
    methods = [replace(row, spearman=Estimate(value, None, None, 9)) for row, value in rows]
    names = [row.method for row in methods]
    comparisons = (
        PairedDifference("decompositions", "spearman", names[0], names[1], Estimate(0.4, 0.2, 0.6, 9)),
        PairedDifference("decompositions", "spearman", names[2], names[0], Estimate(-0.2, -0.3, -0.1, 9)),
        PairedDifference("decompositions", "spearman", names[1], names[2], Estimate(-0.2, -0.3, -0.1, 9)),
    )
    changed = replace(EVALUATION, decompositions=tuple(methods), comparisons=comparisons)
    text = page(changed, BASIS, None, PICTURE).split("## Paired differences")[1]
    assert f"Spearman of `{names[0]}` less" in text
    assert "+0.400 [0.200, 0.600]" in text and "+0.200 [0.100, 0.300]" in text
    assert text.count("| +") == 2
