import itertools
from importlib.metadata import EntryPoint

import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import RATINGS, SESSIONS, UTTERANCES
from apportion.decompose import DecomposeSettings, decompose_dialogue, methods
from apportion.environments import registry as simulators
from apportion.environments.registry import SIMULATORS, maker_of
from apportion.foundation import registry
from apportion.foundation.errors import InputError
from apportion.pipeline.assembly import assemble
from apportion.pipeline.config import load_config
from apportion.pipeline.template import render_template
from tests.behaviour import simulating_method as toy
from tests.behaviour.command import config, read
from tests.behaviour.small import UNSPLIT, table
from tests.llm_client.openai_server import OpenAIServer, completion, serving

NAMED = {"s0": (3, 5), "s1": (1, 4, 2), "s2": (6, 1, 1, 2)}
"""What the seller names in each session; the buyer answers every time."""
TEXT = """corpus = "corpus"
output = "run"
[run]
workers = 1
prices = "prices.toml"
[decompose]
method = "{method}"
[decompose.llm]
base_url = "{url}"
model = "m"
max_retries = 0
"""
TEXT += UNSPLIT


def write_corpus(folder, source=toy.MADE, alone=()):
    rows = {"sessions": [], "utterances": [], "ratings": []}
    for session_id, named in NAMED.items():
        where = "a notebook" if session_id in alone else source
        rows["sessions"].append({"session_id": session_id, "source": where, "language": "en"})
        said = [("buyer", "What do you ask?")]
        for amount in named:
            said += [("seller", f"I ask {amount}."), ("buyer", "Hm.")]
        rows["utterances"] += [
            {"session_id": session_id, "turn": turn, "speaker": who, "text": text}
            for turn, (who, text) in enumerate(said)
        ]
        score = {"score": float(toy.deal(named)), "low": 0.0, "high": 16.0, "higher_is_better": True}
        rows["ratings"].append(
            {"session_id": session_id, "rater": "buyer", "target": "seller", "name": "goal", **score}
        )
    schemas = (SESSIONS, UTTERANCES, RATINGS)
    Corpus.of(folder, {schema.name: table(schema, rows[schema.name]) for schema in schemas}).write(folder)


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    place = "tests.behaviour.simulating_method"
    found = {
        methods.ENTRY_POINTS: {
            toy.PLAYED.name: EntryPoint(toy.PLAYED.name, f"{place}:PLAYED", methods.ENTRY_POINTS),
            toy.ASKING.name: EntryPoint(toy.ASKING.name, f"{place}:ASKING", methods.ENTRY_POINTS),
        },
        SIMULATORS.group: {"haggling": EntryPoint("haggling", f"{place}:HAGGLING", SIMULATORS.group)},
    }
    monkeypatch.setattr(registry, "points_of", lambda group: found.get(group, {}))
    monkeypatch.setattr(methods, "points_of", lambda group: found.get(group, {}))
    return found


@pytest.fixture
def folder(tmp_path):
    write_corpus(tmp_path / "corpus")
    (tmp_path / "prices.toml").write_text('[models]\n"m" = { input = 1000, output = 10000, batch = 0.5 }\n')
    return tmp_path


def text(method="played", url="http://localhost:1/v1", more=""):
    return TEXT.format(method=method, url=url) + more


def by_permutations(named):
    """Shapley values from their definition: the mean gain over all orders in which the acts can come in."""
    gains = [0.0] * len(named)
    orders = list(itertools.permutations(range(len(named))))
    for order in orders:
        for place, player in enumerate(order):
            worth = [toy.deal([named[i] for i in sorted(order[:stop])]) for stop in (place, place + 1)]
            gains[player] += (worth[1] - worth[0]) / len(orders)
    return gains


def judgements(folder):
    rows = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()
    return {name: [r["raw_reward"] for r in rows if r["session_id"] == name] for name in NAMED}


def test_it_plays_on_and_its_values_are_those_of_all_orders(folder, decompose):
    done = decompose(config(folder, text()))
    assert done.returncode == 0, done.stderr
    for name, values in judgements(folder).items():
        assert values == pytest.approx(by_permutations(NAMED[name]), abs=1e-9)


def keys(folder, more="", method="played"):
    engine = assemble(load_config(config(folder, text(method, more=more))))
    return [engine.key("judge", unit) for unit in engine.plan.units["judge"]]


def test_its_settings_and_the_environment_decide_its_key(folder, monkeypatch):
    before = keys(folder)
    assert keys(folder, "[decompose.played]\nrollouts = 2\n[decompose.rrd]\nk = 3\n") == before
    assert not set(keys(folder, "[decompose.played]\nrollouts = 3\n")) & set(before)
    uniform = keys(folder, method="uniform")
    monkeypatch.setattr(toy.Haggling, "version", 2)
    assert not set(keys(folder)) & set(before)
    assert keys(folder, method="uniform") == uniform


def test_init_shows_its_section_and_a_mistake_in_it_is_told(folder):
    template = render_template({"corpus": "corpus", "output": "run"})
    assert "[decompose.played]\n# times each coalition is played on, with the same seeds in all\n# rollouts = 2\n" in (
        template
    )
    assert load_config(config(folder, template)).decompose.methods == DecomposeSettings().methods
    with pytest.raises(InputError, match=r"decompose\.played\.rollout: unknown key; did you mean 'rollouts'\?"):
        load_config(config(folder, text(more="[decompose.played]\nrollout = 3\n")))


def test_a_corpus_without_any_is_refused_before_anything_is_done(folder, decompose):
    write_corpus(folder / "other", alone=tuple(NAMED))
    done = decompose(config(folder, text().replace('"corpus"', '"other"')))
    assert done.returncode == 2 and "every session of this run: no environment made it" in done.stderr
    assert not (folder / "run" / "rewards.parquet").exists()


def test_one_conversation_by_itself_has_nothing_to_play_on():
    chat = [{"role": "assistant", "content": "I ask 3."}, {"role": "user", "content": "Hm."}]
    with pytest.raises(InputError, match=r"messages: no environment made it, so that 'played' has nothing"):
        decompose_dialogue(chat, 2, scale=(1, 5), method="played")


def test_a_partner_that_is_asked_is_priced_before_and_asked_through_the_run_s_client(folder, decompose):
    write_corpus(folder / "corpus", source=f"{toy.MADE}; its buyer asks")
    with serving(OpenAIServer(answer=lambda body: completion("1"))) as server:
        path = config(folder, text("played-asking", server.url))
        priced = read(decompose(path, "--dry-run", "--json"))["language_model"]
        assert priced["requests"] == 1 and priced["usd"] > 0 and not server.requests
        assert priced["played_sessions"] == 3
        told = decompose(path, "--dry-run").stdout
        assert "3 sessions are played on; what is asked after a play's first act is not counted" in told
        shown = decompose(path, "--preview", "1").stdout
        assert "You buy. The seller named []. What do you add?" in shown
        assert decompose(path).returncode == 0
    coalitions = {tuple(named[i] for i in kept) for named in NAMED.values() for kept in subsets(len(named))}
    assert len(server.requests) == len(coalitions)  # Asked once each: the replies are kept.
    for name, values in judgements(folder).items():
        assert values == pytest.approx(by_permutations(NAMED[name]), abs=1e-9)


def subsets(players):
    return [kept for size in range(players + 1) for kept in itertools.combinations(range(players), size)]


def test_a_method_that_does_not_say_that_it_asks_is_lent_no_model(folder, decompose):
    write_corpus(folder / "corpus", source=f"{toy.MADE}; its buyer asks")
    with serving(OpenAIServer(answer=lambda body: completion("1"))) as server:
        done = decompose(config(folder, text("played", server.url)))
    assert done.returncode == 2 and "its simulator asks a language model (session s0)" in done.stderr
    assert not server.requests


def test_the_audit_changes_sessions_and_so_asks_by_another_method():
    with pytest.raises(ValueError, match="plays sessions on, and a changed one was never played"):
        DecomposeSettings(method="played-asking", audit={"method": "played-asking"})
    assert DecomposeSettings(method="played-asking", compare=("llm",)).audited_method == "llm"


def test_two_environments_that_claim_one_session_are_told(folder, installed):
    installed[SIMULATORS.group]["other"] = replace_name(installed[SIMULATORS.group]["haggling"], "other")
    session = Corpus.open(folder / "corpus").session("s0")
    with pytest.raises(InputError, match=r"session s0: 'haggling' and 'other' both say that they made it"):
        maker_of(session, folder)


def replace_name(point, name):
    return EntryPoint(name, point.value, point.group)


def test_what_is_no_simulator_is_told(folder, installed):
    installed[SIMULATORS.group]["haggling"] = EntryPoint("haggling", "math:pi", SIMULATORS.group)
    wanted = r"it must be an apportion\.environments\.episode_restorer\.Simulator"
    with pytest.raises(InputError, match=rf"is 3\.14\d*; {wanted}"):
        maker_of(Corpus.open(folder / "corpus").session("s0"), folder)
    installed[SIMULATORS.group]["haggling"] = EntryPoint("haggling", "nowhere:x", SIMULATORS.group)
    with pytest.raises(InputError, match=r"cannot be loaded: ModuleNotFoundError"):
        simulators.open_session(Corpus.open(folder / "corpus").session("s0"), folder, lambda request: None)
