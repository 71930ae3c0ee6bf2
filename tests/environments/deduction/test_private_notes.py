"""Agents that write notes before they act: one short game each, what stays private, and what is not asked again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.deduction.games import game_called
from apportion.environments.deduction.simulation import DeductionChoice
from apportion.environments.episode_log import LOG
from apportion.environments.registry import open_session
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.simulation import write_corpus
from apportion.environments.simulation.plan import price
from apportion.llm_client.model_spec import ModelSpec
from tests.environments.models import nobody
from tests.llm_client.openai_server import Body, OpenAIServer, completion, serving

SHORT = {
    "werewolf": ("roles=werewolf,seer,villager,villager", "most_days=1"),
    "avalon": ("sizes=2,2,2,2,2", "proposals=2"),
    "onuw": ("rounds=1",),
}
NOTES = {"recon": 0, "belief": 1, "llm-ins": 2, "lasi": 3}
ASKS = {"recon": 2, "belief": 2, "llm-ins": 3, "lasi": 4}
"""By style, how many notes an act has, and how many requests."""
CANARY = "CANARY"
LEGAL = re.compile(r"You may do one of these acts: ([^,.]+)")


def seat_of(body: Body) -> str:
    found = re.search(r"You are (Player \d+)", body["messages"][1]["content"])
    assert found is not None
    return found[1]


def fields_of(body: Body) -> dict[str, Any]:
    fields: dict[str, Any] = body["response_format"]["json_schema"]["schema"]["properties"]
    return fields


def plays(body: Body) -> Body:
    """Private words have the seat's canary, speeches and other acts have not; each act is the first that is listed."""
    private = f"{CANARY} of {seat_of(body)}."
    fields, text = fields_of(body), body["messages"][1]["content"]
    if "act" not in fields:
        return completion(json.dumps({name: one.get("enum", [private])[0] for name, one in fields.items()}))
    found = LEGAL.search(text)
    assert found is not None
    kind = found[1]
    aim = re.search(rf"^- {kind}: .*\(players: (\[[^\]]*\])", text, re.MULTILINE)
    players = {"players": json.loads(aim[1]) if aim else None} if "players" in fields else {}
    thought = {"thought": private} if "thought" in fields else {}
    return completion(
        json.dumps({**thought, "act": kind, **players, "text": "Good morning." if kind == "speak" else ""})
    )


def garbage(body: Body) -> Body:
    """The same, but no note can be used: by seat too many words, another field, or no JSON."""
    if "act" in (fields := fields_of(body)):
        return plays(body)
    (name,) = fields
    mistakes = {"Player 1": json.dumps({name: CANARY * 999}), "Player 2": json.dumps({"plan": CANARY})}
    return completion(mistakes.get(seat_of(body), CANARY))


def choice(kind: str, agents: tuple[str, ...], server: OpenAIServer) -> DeductionChoice:
    game = game_called(kind)
    chosen = ModelSpec("m", base_url=server.url)
    return DeductionChoice(game, agents, games=1, seed=1, rules=game.options_of(SHORT[kind]), chosen=chosen)


def written(folder: Path) -> str:
    """All that a corpus and its log say."""
    tables = Corpus.open(folder).tables.values()
    return (folder / LOG).read_text() + "".join(json.dumps(table.to_pylist(), default=str) for table in tables)


@pytest.mark.parametrize("style", NOTES)
@pytest.mark.parametrize("kind", SHORT)
def test_a_game_whose_private_words_stay_with_their_seat_and_that_is_never_asked_again(
    tmp_path: Path, kind: str, style: str
) -> None:
    with serving(OpenAIServer(answer=plays)) as server:
        chosen = choice(kind, (style,), server)
        (most,) = price(chosen)
        report = write_corpus(chosen, tmp_path / "c")
        asked = list(server.requests)
        assert 0 < len(asked) <= most.requests and not report.left_out and report.rows["sessions"] == 1
        (tmp_path / "c" / LOG).unlink()
        write_corpus(chosen, tmp_path / "c")
        assert len(server.requests) == len(asked)  # All replies are in the cache.
    private = [one for one in asked if "act" not in fields_of(one)]
    assert bool(private) == bool(NOTES[style])
    for one in asked:
        assert set(re.findall(rf"{CANARY} of (Player \d+)", json.dumps(one["messages"]))) <= {seat_of(one)}
    assert any(CANARY in json.dumps(one["messages"]) for one in asked) == bool(NOTES[style])
    assert CANARY not in written(tmp_path / "c") and "honest evidence" not in written(tmp_path / "c")
    (session,) = Corpus.open(tmp_path / "c").iter_sessions()
    restored = open_session(session, tmp_path / "c", nobody)  # From the log alone.
    assert isinstance(restored, RestoredEpisode)
    target = session.turns[-1].speaker if session.turns[-1].speaker.startswith("Player") else "Player 1"
    assert restored.as_it_stands(target, restored.turns_of(target)).scores["win"] in (0.0, 1.0)


@pytest.mark.parametrize("style", [style for style, notes in NOTES.items() if notes])
def test_without_any_note_of_use_a_game_goes_on_and_its_corpus_says_so(tmp_path: Path, style: str) -> None:
    with serving(OpenAIServer(answer=garbage)) as server:
        report = write_corpus(choice("werewolf", (style,), server), tmp_path / "c")
    assert any("no usable private note: it acted without" in one for one in report.notes)
    assert not any("no usable reply" in one for one in report.notes) and not report.left_out
    assert CANARY not in written(tmp_path / "c")


@pytest.mark.parametrize("style", NOTES)
def test_a_refiner_reads_no_note_and_costs_one_request_more(tmp_path: Path, style: str) -> None:
    def answers(body: Body) -> Body:
        if "response_format" in body:
            return plays(body)
        assert CANARY not in json.dumps(body["messages"])
        return completion("Analysis: hm\nResponse: A very good morning.")

    with serving(OpenAIServer(answer=answers)) as server:
        refined, plain = (choice("onuw", (name,), server) for name in (f"{style}+refiner", style))
        ((more,), (fewer,)) = price(refined), price(plain)
        assert more.requests * ASKS[style] == fewer.requests * (ASKS[style] + 1)
        write_corpus(refined, tmp_path / "c")
    assert "A very good morning." in written(tmp_path / "c") and CANARY not in written(tmp_path / "c")


def test_the_price_counts_every_note_and_what_it_takes() -> None:
    with serving(OpenAIServer()) as server:
        made = {style: price(choice("avalon", (style,), server))[0] for style in ("base", *ASKS)}
        base = made.pop("base")
        assert {style: one.requests / base.requests for style, one in made.items()} == ASKS
        assert made["lasi"].output_tokens == (60 + 3 * 200) * base.requests > 4 * made["recon"].output_tokens
