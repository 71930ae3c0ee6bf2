import json
import re
from itertools import combinations, permutations
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.role_assignment import RoleAssignment
from apportion.environments.rollout import PAPER_WEIGHTS, Rollouts, RolloutUtility
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.game import Rules
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply
from apportion.pipeline.assembly import assemble
from apportion.pipeline.config import load_config
from apportion.pipeline.execution.shards import list_shards, time_limit_s
from tests.behaviour.command import chosen_methods, config, read
from tests.behaviour.test_savoir import TEXT
from tests.llm_client.openai_server import OpenAIServer, completion, serving

ACTS = 6
KEYS_BEFORE = {
    "savoir": "bd7ab6423405d85d016e8a231d22d8c5d4638088f766b5cb5c23f31eb5eb04d2",
    "shapley-hindsight": "1804cf321a8d21cea7653b4cff8c5e6f1d29708b6a2646fe1a8d8bea63596e41",
    "uniform": "2862ff275885d7c84fb913e12792ab101ebddac9c3dc1a75701ad2c7c3d3f48e",
}
"""Of the first session; those that play on are of the day when `scorer` and `common_random_numbers` were named."""


def text(*methods, url=None, savoir="", llm="", run=""):
    server = f'[decompose.llm]\nmodel = "m"\n{llm}' + (f'base_url = "{url}"\n' if url else "")
    written = TEXT.format(methods=chosen_methods(*methods)).replace("[run]\n", f"[run]\n{run}")
    return f"{written}{server}[decompose.savoir]\n{savoir}"


@pytest.fixture
def folder(tmp_path):
    choice = SimulationChoice(("conceding", "random"), ("used_bicycle",), pairs=1, rules=Rules(most_acts=ACTS), seed=5)
    write_corpus(choice, tmp_path / "play")
    return tmp_path


def asked(body):
    return "\n".join(message["content"] for message in body["messages"])


def plays(body):
    """An act that depends on all that was asked: words, an offer, an acceptance."""
    number = crc32(asked(body).encode())
    acts = (
        ("speak", f"word {number}"),
        ("physical action", f"offer: {60 + number % 50}"),
        ("physical action", "accept"),
    )
    return json.dumps(dict(zip(("act", "text"), acts[number % 3], strict=True)))


def scores(body, **fixed):
    """A verdict of SOTOPIA-EVAL that depends on all that was asked."""
    number = crc32(asked(body).encode())
    given = {"BEL": 5, "REL": number % 11 - 5, "KNO": number % 7, "SEC": 0, "SOC": 0, "FIN": 0, "GOAL": number % 10}
    one = {name: {"reasoning": "so", "score": score} for name, score in {**given, **fixed}.items()}
    return json.dumps(dict.fromkeys(asked(body).rpartition("Evaluate: ")[2].split(", "), one))


def judging(body):
    return "<episode>" in asked(body)


def answered(body):
    return completion(scores(body) if judging(body) else plays(body))


def rewards(folder, method="savoir"):
    rows = pq.read_table(folder / "run" / "rewards.parquet").to_pylist()
    found = {}
    for row in rows:
        if row["method"] == method:
            found.setdefault((row["session_id"], row["target"]), {})[row["turn"]] = row["raw_reward"]
    return found


def causes(folder):
    rows = pq.read_table(folder / "run" / "quarantine.parquet").to_pylist()
    return {row["session_id"]: row["cause"] for row in rows if row["stage"] == "judge"}


def complete(request):
    """The server's answer, without a server."""
    body = {"messages": [{"content": message.content} for message in request.messages]}
    return ChatReply(answered(body)["choices"][0]["message"]["content"], "m")


def by_orders(folder, session, target, cast, utility):
    """Each act's mean gain over all orders, each set of acts played on by the method's own seeds."""
    reopened = SIMULATOR.recast(cast).open(session, folder / "play", complete)
    turns = reopened.turns_of(target)
    seeds = Rollouts(reopened, target, turns, utility, seed=f"0/{session.session_id}")._seeds(frozenset())
    worth = {
        kept: sum(utility.of(ending) for ending in reopened.play_on(target, kept, seeds)) / len(seeds)
        for size in range(len(turns) + 1)
        for kept in combinations(turns, size)
    }
    gains, orders = dict.fromkeys(turns, 0.0), list(permutations(turns))
    for order in orders:
        for place, turn in enumerate(order):
            with_it, without = (tuple(sorted(order[:stop])) for stop in (place + 1, place))
            gains[turn] += (worth[with_it] - worth[without]) / len(orders)
    return gains


def compare(folder, cast, utility):
    found, compared = rewards(folder), 0
    for session in Corpus.open(folder / "play").iter_sessions():
        for rating in session.ratings:
            if rating.name == "GOAL":
                expected = by_orders(folder, session, rating.target, cast, utility)
                assert found[session.session_id, rating.target] == pytest.approx(expected, abs=1e-9)
                compared += any(expected.values())
    return compared


def test_agents_named_in_a_run_play_on_and_values_are_those_of_all_orders(folder, decompose):
    with serving(OpenAIServer(answered)) as server:
        chosen = 'agents = { target = "base", partner = "conceding" }\ntemperature = 0.5\n'
        done = decompose(config(folder, text("savoir", "leave-one-out", url=server.url, savoir=chosen)))
        assert done.returncode == 0, done.stderr
        assert {(body["temperature"], body["model"]) for body in server.requests} == {(0.5, "m")}
        assert all("seed" not in body for body in server.requests)
    cast = RoleAssignment("base", "conceding", temperature=0.5, chosen=ModelSpec("m"))
    assert compare(folder, cast, RolloutUtility({"GOAL": 1.0})) >= 3


def test_a_judge_that_is_a_model_makes_the_paper_s_utility_work_in_a_run(folder, decompose):
    weights = "weights = { GOAL = 0.5, REL = 0.3, KNO = 0.2 }"
    with serving(OpenAIServer(answered)) as server:
        path = config(folder, text("savoir", url=server.url, savoir=f'scorer = "paper@other"\n{weights}\n'))
        done = decompose(path)
        assert done.returncode == 0, done.stderr
        assert {body["model"] for body in server.requests} == {"other"} and all(map(judging, server.requests))
    assert compare(folder, RoleAssignment(judge="paper@other"), RolloutUtility(PAPER_WEIGHTS)) >= 3


def test_a_judge_that_fails_in_one_history_leaves_its_session_out_and_the_others_in(folder, decompose):
    begun = []

    def once_wrong(body):
        if not begun or begun[0] in asked(body):
            begun.append(asked(body))
            return completion(scores(body, GOAL=77))
        return answered(body)

    with serving(OpenAIServer(once_wrong)) as server:
        path = config(folder, text("savoir", url=server.url, savoir='scorer = "paper"\n'))
        done = decompose(path)
    assert done.returncode == 1, done.stderr
    (cause,) = causes(folder).values()
    assert re.search(r"turns \[.*\] alone: GOAL is not known \('.*': .*from 0 to 10", cause), cause
    assert (
        len({session for session, _ in rewards(folder)}) == len(list(Corpus.open(folder / "play").iter_sessions())) - 1
    )


def keys(folder, *methods, **more):
    engine = assemble(load_config(config(folder, text(*methods, **more))))
    return {tuple(unit): engine.key("judge", unit) for unit in engine.plan.units["judge"]}


def test_where_scripts_play_and_rules_score_keys_are_those_of_before(folder):
    made = keys(folder, *KEYS_BEFORE)
    assert {name: made["used_bicycle-0-conceding-conceding-0", name, None, None] for name in KEYS_BEFORE} == KEYS_BEFORE


def test_who_plays_on_who_scores_and_how_they_are_asked_enter_the_key(folder):
    chosen = [
        "", 'agents.partner = "random"', 'agents.target = "base"', 'agents.partner = "base"',
        'agents.target = "base@x"', 'agents.target = "react"', 'scorer = "paper"', 'scorer = "paper@x"',
        'agents.target = "base"\ntemperature = 0.1',
    ]  # fmt: skip
    found = [keys(folder, "savoir", savoir=f"{one}\n") for one in chosen]
    found += [keys(folder, "savoir", savoir='agents.target = "base"\n', llm=more)
              for more in ("max_tokens = 9\n", 'reasoning_effort = "low"\n', "extra_body = { a = 1 }\n")]  # fmt: skip
    assert len({str(sorted(one.items())) for one in found}) == len(found)
    assert keys(folder, "savoir", savoir='agents.target = "base"\n', llm="concurrency = 3\n") == found[2]
    hindsight = [keys(folder, "shapley-hindsight", savoir=f"{one}\n") for one in ("", *chosen[1:6], 'scorer = "paper"')]
    assert len({str(sorted(one.items())) for one in hindsight}) == 2  # Nobody plays on: the judge alone counts.


def test_what_it_would_take_is_told_before_and_what_is_kept_is_not_counted(folder, decompose):
    with serving(OpenAIServer(answered)) as server:
        chosen = 'agents.target = "base@gpt-4o-mini"\nscorer = "paper"\n'
        path = config(folder, text("savoir", "leave-one-out", url=server.url, savoir=chosen))
        priced = read(decompose(path, "--dry-run", "--json"))["played_on"]
        told = decompose(path, "--dry-run").stdout
        shown = decompose(path, "--preview", "2")
        assert shown.returncode == 0 and "of sessions that are played on the next requests alone" in shown.stdout
        assert '"model": "gpt-4o-mini"' in shown.stdout and "You play one person" in shown.stdout
        assert not server.requests
        savoir, left_out = priced["methods"]
        total = priced["total"]
        assert (savoir["method"], left_out["method"]) == ("savoir", "leave-one-out")
        assert priced["models"] == ["m", "gpt-4o-mini"] and total["usd"] is None  # No price is known of "m".
        assert total["plays"] == savoir["plays"] == 2 * savoir["histories"] > left_out["plays"]
        assert total["requests"] >= savoir["acts"] / 2 and savoir["most_acts"] >= savoir["acts"] > 50
        assert savoir["judged"] == savoir["plays"] and savoir["kept"] == 0 and savoir["hours"] > 0
        assert f"savoir: 4 sessions, {savoir['histories']:,} histories, {savoir['plays']:,} plays; about" in told
        assert "cost unknown: no price for this model" in told and "plays are taken to be as long as" in told
        done = decompose(path)
        asked_once = len(server.requests)
        assert done.returncode == 0 and f"language model m and gpt-4o-mini: {asked_once:,} replies" in done.stdout
        assert 0.5 < total["requests"] / asked_once < 2
        again = read(decompose(path, "--dry-run", "--json"))["played_on"]
        assert again["total"]["plays"] == 0 == again["total"]["requests"]  # Finished.
        more = config(folder, text("savoir", url=server.url, savoir=f"{chosen}scaled = true\n"))
        kept = read(decompose(more, "--dry-run", "--json"))["played_on"]["total"]
        assert kept["kept"] == kept["plays"] == savoir["plays"] and kept["requests"] == 0 == kept["acts"]
        assert decompose(more).returncode == 0 and len(server.requests) == asked_once


@pytest.mark.slow
def test_results_do_not_depend_on_how_many_play_at_once(folder, decompose):
    found = []
    for at_once in (1, 7, 64):
        with serving(OpenAIServer(answered, latency_s=0.03 if at_once > 1 else 0.0)) as server:
            own = 'agents.target = "base"\nagents.partner = "react"\nscorer = "paper"\n'
            path = config(folder, text("savoir", url=server.url, savoir=own, llm=f"concurrency = {at_once}\n"))
            path.write_text(path.read_text().replace('output = "run"', f'output = "run{at_once}"'))
            assert decompose(path).returncode == 0
            assert 1 <= server.most_at_once <= at_once and (at_once == 1 or server.most_at_once > 1)
        found.append((folder / f"run{at_once}" / "rewards.parquet").read_bytes())
    assert found[0] == found[1] == found[2]


def test_a_budget_ends_the_run_and_a_higher_one_goes_on_where_it_was(folder, decompose):
    (folder / "prices.toml").write_text('as_of = "2026-01-01"\n[models.m]\ninput = 1.0\noutput = 10000.0\n')
    with serving(OpenAIServer(answered)) as server:

        def run(usd):
            limits = f'budget_usd = {usd}\nprices = "prices.toml"\n'
            own = 'agents.target = "base"\n'
            return decompose(config(folder, text("savoir", url=server.url, savoir=own, run=limits,
                                                              llm="max_tokens = 50\n")))  # fmt: skip

        stopped = run(3)
        assert stopped.returncode == 1 and "budget" in stopped.stdout + stopped.stderr, stopped
        first = len(server.requests)
        assert first > 0
        assert run(500).returncode == 0
        assert len(rewards(folder)) == 8
    with serving(OpenAIServer(answered)) as other:
        (folder / "run").rename(folder / "first")
        path = config(folder, text("savoir", url=other.url, savoir='agents.target = "base"\n', llm="max_tokens = 50\n"))
        assert decompose(path).returncode == 0
        assert len(other.requests) == len(server.requests)  # Stopped and gone on with: no reply was asked for twice.


def test_a_recording_of_plays_serves_without_a_server(folder, decompose):
    own = 'agents.target = "base"\nscorer = "paper"\n'
    with serving(OpenAIServer(answered)) as server:
        path = config(folder, text("savoir", url=server.url, savoir=own))
        assert decompose(path).returncode == 0
        asked_once = len(server.requests)
        done = decompose(path, "--record", folder / "replies.jsonl")
        assert done.returncode == 0 and "the replies of 4 units" in done.stdout, done
        assert len(server.requests) == asked_once
    before = rewards(folder)
    (folder / "run").rename(folder / "first")
    recorded = text("savoir", savoir=own, run='recorded = "replies.jsonl"\n', llm='provider = "recorded"\n')
    done = decompose(config(folder, recorded))
    assert done.returncode == 0 and rewards(folder) == before, done.stderr
    lines = (folder / "replies.jsonl").read_text().splitlines()
    (folder / "replies.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    lacking = decompose(config(folder, recorded))
    assert lacking.returncode == 1 and any("no recorded reply" in cause for cause in causes(folder).values())


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ('agents.target = "bsae"', "decompose.savoir: no agent 'bsae'"),
        ('agents.partner = "base@"', "decompose.savoir: agent 'base@': no model behind the @"),
        ('scorer = "papre"', "decompose.savoir: scorer: no prompt 'papre'; did you mean 'paper'"),
        ('agents.partnr = "base"', "decompose.savoir.agents.partnr: unknown key; did you mean 'partner'"),
        ("rollouts = 0", "decompose.savoir.rollouts = 0: Input should be greater than or equal to 1"),
    ],
)
def test_who_there_is_not_is_told_before_anything_is_done(folder, decompose, chosen, said):
    done = decompose(config(folder, text("savoir", savoir=f"{chosen}\n")))
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert not (folder / "run" / "rewards.parquet").exists()


def test_what_no_model_can_judge_is_refused_before_anything_is_paid(folder, decompose):
    with serving(OpenAIServer(answered)) as server:
        path = config(folder, text("savoir", "shapley-hindsight", url=server.url, savoir='scorer = "paper"\n'))
        for more in ((), ("--dry-run",)):
            done = decompose(path, *more)
            assert done.returncode == 2, done
            assert (
                "decompose.savoir.scorer = 'paper': 'shapley-hindsight' scores histories as they stand" in done.stderr
            )
        assert not server.requests


@pytest.mark.parametrize(
    ("judge", "weights", "said"),
    [
        ("paper", "{ GAOL = 1 }", "decompose.savoir.weights: 'GAOL' is no dimension of the judge 'paper'; did you"),
        ("rules", "{ GAOL = 1 }", "the utility weighs 'GAOL', which nobody scores here; did you mean 'GOAL'?"),
        ("rules", "{ GOAL = 0.5, REL = 0.3 }", "REL is not known, so that its utility is missing"),
    ],
)
def test_what_nobody_scores_is_told_before_anything_is_paid(folder, decompose, judge, weights, said):
    with serving(OpenAIServer(answered)) as server:
        own = f'agents.partner = "base"\nscorer = "{judge}"\nweights = {weights}\n'
        done = decompose(config(folder, text("savoir", url=server.url, savoir=own)))
        assert done.returncode == (2 if judge == "paper" else 1), done
        assert said in done.stderr + " ".join(causes(folder).values() if judge == "rules" else ())
        assert not server.requests


def test_an_orchestrator_is_told_how_long_plays_may_take_and_asks_in_as_many_shards_as_it_may(folder):
    def seconds(savoir="", llm=""):
        limits = "timeout_s = 10\ntotal_timeout_s = 5\nconcurrency = 4\n"
        path = config(folder, text("savoir", savoir=savoir, llm=limits + llm, run="llm_shard_count = 2\n"))
        return time_limit_s(str(path), "judge"), [len(list_shards(str(path), "judge", n)) for n in (1, 8)]

    assert seconds() == (None, [1, 4])
    played, shards = seconds('agents.target = "base"\n')
    fewer, _ = seconds('agents.target = "base"\nrollouts = 1\n')
    judged, _ = seconds('agents.target = "base"\nscorer = "paper"\n')
    # 4 sessions, both speakers: 8 histories of 3 acts each, twice; an act is asked for at most three times.
    assert 5 + 64 * 3 * 3 / 4 * 10 < fewer < played < judged and shards == [1, 2]


def test_nothing_is_sent_without_consent(folder, decompose):
    own = text("savoir", url="http://models.example/v1", savoir='agents.target = "base"\n')
    done = decompose(config(folder, own), OPENAI_API_KEY="k")
    assert done.returncode == 2 and "allow_host" in done.stderr, done.stderr
    assert decompose(config(folder, own.replace('"base"', '"random"'))).returncode == 0


def test_sessions_that_no_environment_made_are_told_and_the_others_played_on(folder, decompose):
    table = pq.read_table(folder / "play" / "sessions.parquet")
    sources = table["source"].to_pylist()
    made = table.set_column(table.schema.get_field_index("source"), "source", pa.array(["recorded", *sources[1:]]))
    pq.write_table(made, folder / "play" / "sessions.parquet")
    done = decompose(config(folder, text("savoir", "uniform")))
    said = "no environment made it, so that 'savoir' has nothing to play on"
    assert done.returncode == 1 and f"1 of 4 sessions ({table['session_id'][0]}): {said}" in done.stdout + done.stderr
    ((session, cause),) = causes(folder).items()
    assert session == table["session_id"][0].as_py() and said in cause
    assert (
        len({name for name, _ in rewards(folder)}) == 3 and len({name for name, _ in rewards(folder, "uniform")}) == 4
    )
