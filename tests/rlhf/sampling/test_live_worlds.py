"""A policy in all seven worlds: what it may see, what its words are, what it is paid, and two steps of training."""

import pytest
import torch

from apportion.environments.actions import UNUSABLE, Action, AgentAction
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Observation
from apportion.environments.worlds import WORLDS
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.progress import silent
from apportion.rlhf.alignment import align_here
from apportion.rlhf.plugins import ENVIRONMENTS
from apportion.rlhf.policy.contexts import DialogueContext
from apportion.rlhf.resolve_paths import tables_placed
from apportion.rlhf.sampling.environment_partner import EnvironmentPartner, _written
from apportion.rlhf.sampling.live_credit import LiveCredit
from apportion.rlhf.sampling.multi_turn import _spoken
from apportion.rlhf.sampling.policy_agent import PolicyAgent, act_said
from apportion.rlhf.sampling.rollout import Rollout
from apportion.rlhf.sampling.starts import NegotiationStarts, starts_of
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.trainers.group_advantages import turn_advantages
from apportion.rlhf.training.endings import StopReason
from apportion.rlhf.training.job import Job
from apportion.rlhf.training.reward import OutcomeReward, ScoreNorm, load_reward, normalized_scores
from tests.rlhf.sampling.test_policy_agent import ROOM
from tests.rlhf.test_alignment import SPLITS
from tests.rlhf.toy import SMALL, chats, small_policy
from tests.rlhf.trainers.test_grpo_rloo import Stop, stop_after

NAMES = [world.name for world in WORLDS]
ROLES = ("werewolf", "avalon", "onuw")
SCRIPTS = {"sotopia": "conceding", **dict.fromkeys(("negotiation", "bargaining", "casino"), "fair")}
POLICY = small_policy()
SPEAKER = PolicyAgent("policy", POLICY, POLICY.model, ROOM.model_copy(update={"max_context_tokens": 20_000}))


def settings_of(world, **given):
    size = {"scenarios": ["used_bicycle"], "pairs": 1} if world == "sotopia" else {"games": 2}
    return ENVIRONMENTS.find(world).checked({**size, "other": SCRIPTS.get(world, "claims"), **given})


def begun(world, seed=3, most=1.0, credit=None, **given):
    """A partner, its starts, and what the policy is first asked in each of them."""
    settings = settings_of(world, **given)
    starts, agents = starts_of(settings, seed), [settings.AGENTS.scripted(name) for name in settings.others]
    live = credit and LiveCredit(credit, settings.AGENTS.scripted(credit.player_in(settings)), settings.outcome)
    partner = EnvironmentPartner(starts, agents, settings.outcome, most, lambda episode, position: "", 1, live)
    contexts = partner.begin([DialogueContext(start.name, 0, (), (), "") for start in starts], SPEAKER)
    return partner, starts, contexts, agents[0]


CASTS = (("avalon", ("players=7", "proposals=1", "sizes=2")), ("werewolf", ("players=9", "most_days=1")))


@pytest.mark.parametrize(("world", "rules"), [*((name, ()) for name in NAMES), *CASTS])
def test_a_policy_that_says_what_a_script_does_plays_its_episode_and_is_paid_what_the_rules_say(world, rules) -> None:
    partner, starts, contexts, script = begun(world, **({"rules": rules} if rules else {}))
    for start, context in zip(starts, contexts, strict=True):
        replies, read = [], " ".join(message.text for message in context.messages)
        game = partner._kept[start.name, ()].game
        reference, seed = game.clone(), game.seed
        for name, kind, text in game.backgrounds():
            assert name in (None, start.agent) or kind == "scenario" or text not in read
        while not (played := partner._kept[start.name, tuple(replies)]).game.over:
            act = script.act(played.view)
            said = played.game.said(AgentAction(start.agent, act))
            text, usable = partner.worded(context, replies, _written(act) if said is None else said)
            assert usable and (partner._acts[start.name, (*replies, text)].data == act.data or act.kind == "none")
            replies.append(text)
            heard = partner.answer(context, replies)
        assert heard is None and game.seed == seed
        play(reference, dict.fromkeys(reference.agents, script))
        ending = partner.ending(context, replies)
        (dimension,) = {settings_of(world).outcome}
        assert ending.over and ending.score == ending.value == reference.outcome()[start.agent][dimension]


@pytest.mark.parametrize("world", NAMES)
def test_garbage_is_worth_the_least_and_a_model_s_json_is_read_as_its(world) -> None:
    partner, starts, contexts, _ = begun(world, most=0.25)
    played = partner._kept[starts[0].name, ()]
    act = act_said(played.view, '{"act": "dance", "text": "x"}')
    assert act.stands and UNUSABLE in act.data and played.view.problem(act) is None
    replies = []
    while not partner._kept[starts[0].name, tuple(replies)].game.over:
        replies.append(partner.worded(contexts[0], replies, '{"act": "dance"}')[0])
        partner.answer(contexts[0], replies)
    ending = partner.ending(contexts[0], replies, len(replies))
    assert ending.score == played.game.scales()[settings_of(world).outcome][0] and ending.turns == len(replies)


@pytest.mark.parametrize("world", ["casino", "bargaining", "werewolf"])
def test_who_beats_seats_that_do_no_acts_has_not_won(world) -> None:
    partner, starts, contexts, _ = begun(world, most=0.25)
    game, watched = partner._kept[starts[0].name, ()].game, settings_of(world).outcome
    least, most = game.scales()[watched]
    game.outcome = lambda: {agent: {watched: most} for agent in game.agents}
    game.steps.clear()
    assert partner.ending(contexts[0], []).score == most
    other = next(agent for agent in game.agents if agent != starts[0].agent)
    game.steps.append((AgentAction(other, Action("none", data={UNUSABLE: "mumbled"})),))
    assert partner.ending(contexts[0], []).score == least


def test_a_prompt_has_nothing_but_what_its_seat_may_know() -> None:
    """With other hidden values the policy reads the same."""
    partner, starts, contexts, _ = begun("negotiation", other="random", games=1)
    game = partner._kept[starts[0].name, ()].game
    for seat, context in enumerate(contexts):
        told = " ".join(message.text for message in context.messages)
        goals = {name: text for name, kind, text in game.backgrounds() if kind == "goal"}
        assert goals[game.agents[seat]] in told and goals[game.agents[1 - seat]] not in told
    partner, starts, contexts, _ = begun("werewolf", seats=(1, 2), games=3)
    for start, context in zip(starts, contexts, strict=True):
        game = partner._kept[start.name, ()].game
        told = " ".join(message.text for message in context.messages)
        facts = Observation(game, start.agent).facts
        others = [role for seat, role in enumerate(game.deal, 1) if seat != facts.seat and role not in facts.told[0]]
        assert facts.told[1] in told and not [role for role in others if f"is a {role}" in told]


def test_whose_seats_are_drawn_of_several_and_what_cannot_be_is_told() -> None:
    partner, starts, _, _ = begun("werewolf", other="claims,random")
    sits = {(s.name, a): partner._sitting(partner._kept[s.name, ()].game, a) for s in starts for a in s.make().agents}
    assert set(sits.values()) == {0, 1}
    with pytest.raises(InputError, match=r"no seat 9; there are 1 to 7"):
        starts_of(settings_of("werewolf", seats=(9,)), 0)
    with pytest.raises(InputError, match=r"environment_settings.seats: 1, 1: name each seat once"):
        starts_of(settings_of("werewolf", seats=(1, 1)), 0)
    with pytest.raises(InputError, match=r"environment_settings.rules.*no_such"):
        starts_of(settings_of("werewolf", rules=("no_such=1",)), 0)
    with pytest.raises(InputError, match="fairr"):
        settings_of("negotiation", other="fairr").check()
    for world in NAMES:
        settings_of(world).check()
        asked = settings_of(world, other="base", llm={"model": "m"})
        assert len(asked.first_requests()) <= len(starts_of(asked, 0)) and asked.most_requests > 1
    with pytest.raises(InputError, match="'fair' is no language model"):
        settings_of("casino").first_requests()


def test_the_end_alone_is_paid_and_what_rules_do_not_know_is_an_error() -> None:
    reward = OutcomeReward()
    endings = [StopReason(4.0, True, 3, 0, 4.0), StopReason(None, False, 1, 0, 0.0)]
    assert reward.at_ends(endings) == [0.0, 0.0, 4.0, 0.0] and reward.history(chats(1)[0], 0) == ""
    assert reward([], [], ["x"]) != [0.0]
    with pytest.raises(UnitError, match="its rules say nothing of what is watched"):
        reward.at_ends([StopReason(None, True, 1, 0)])
    tokens = torch.ones(2, 5, dtype=torch.int64)
    ends = torch.tensor([[0, 0], [0, 1], [0, 2], [1, 0]])
    rollout = Rollout(tokens, tokens, tokens[:, :3].bool(), tuple("abcd"), ("",) * 4, ends, tuple(endings))
    shown = _spoken(rollout, [DialogueContext(name, 0, (), (), "") for name in "xy"], reward)
    assert shown == (["a\nb\nc", "d"], [4.0, 0.0])
    norm, paid = ScoreNorm(), [False, False, True, True]
    assert normalized_scores([0.0, 0.0, 4.0, 2.0], norm, SMALL, (), paid) == [0.0, 0.0, 1.0, -1.0]
    assert norm.count == 2 and normalized_scores([0.0, 3.0], norm, SMALL, [1.0, 0.0], [False, True])[0] == -1.0
    assert turn_advantages([[1.0], [3.0]], 2, False, others_alone=True) == [[-2.0], [2.0]]


def aligned(folder, world, algorithm="ppo", checkpoints=None, progress=silent, align=None, **given):
    size = {"most_acts": 4} if world not in ROLES else {"games": 1, "seats": [1, 2]}
    settings = AlignSettings.model_validate(
        {
            **SMALL.model_dump(exclude_unset=True),
            "algorithm": algorithm,
            "environment": world,
            "reward": "outcome",
            "batch_size": 4,
            "steps": 2,
            "mini_batch_size": 4,
            "num_generations": 2,
            "max_context_tokens": 4000,
            "samples": 0,
            "environment_settings": {**settings_of(world).model_dump(exclude_unset=True), **size, **given},
            **(align or {}),
        }
    )
    job = Job(chats(4), SPLITS, None, settings, 0, folder / "out", checkpoints)
    history, _ = align_here(job, load_reward(job), progress=progress)
    return history.to_pylist()


@pytest.mark.parametrize("world", NAMES)
def test_ppo_takes_two_steps_in_every_world_and_tells_what_was_no_act(tmp_path, world) -> None:
    rows = aligned(tmp_path, world)
    last = {row["metric"]: row["value"] for row in rows if row["step"] == 2}
    assert {"reward", "ended", "unusable", "kl", "value_loss"} <= last.keys() and 0 <= last["unusable"] <= 1
    assert (tmp_path / "out" / "adapter_model.safetensors").is_file()


def test_a_stopped_training_goes_on_to_the_same(tmp_path) -> None:
    whole = aligned(tmp_path / "a", "negotiation", checkpoints=tmp_path / "a" / "c")
    with pytest.raises(Stop):
        aligned(tmp_path / "b", "negotiation", checkpoints=tmp_path / "b" / "c", progress=stop_after(1))
    assert aligned(tmp_path / "b", "negotiation", checkpoints=tmp_path / "b" / "c") == whole
    name = "out/adapter_model.safetensors"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(("algorithm", "world"), [("grpo", "werewolf"), ("grpo", "bargaining"), ("rloo", "casino")])
def test_groups_of_episodes_are_compared(tmp_path, algorithm, world) -> None:
    rows = aligned(tmp_path, world, algorithm)
    last = {row["metric"]: row["value"] for row in rows if row["step"] == 2}
    assert {"reward", "ended", "unusable", "policy_loss"} <= last.keys()


def test_acts_that_nobody_hears_are_told_apart_by_their_data() -> None:
    first, second = (_written(Action("select", "ok", split)) for split in ([1, 0, 0], [0, 1, 0]))
    assert first != second and _written(Action("none", "")) == "[none]"


def test_nobody_has_the_other_seats_and_what_an_other_is_made_of_is_in_the_key(tmp_path) -> None:
    with pytest.raises(ValueError, match="names nobody; give self"):
        NegotiationStarts(other=" , ")
    for other in (f"learned@{tmp_path}", f"self, recorded@{tmp_path / 'weights'}#1"):
        (tmp_path / "weights").write_text("1")
        chosen = NegotiationStarts(other=other)
        before = chosen.identity()
        (tmp_path / "weights").write_text("2, another")
        assert chosen.identity() != before


def test_every_path_of_the_others_is_placed() -> None:
    tables = {"partner_settings": {}, "environment_settings": {"other": "self, policy@r/a/b,learned@r,base@model"}}
    placed = tables_placed(tables, lambda path: f"/x/{path}")
    assert placed["environment_settings"]["other"] == "self,policy@/x/r/a/b,learned@/x/r,base@model"
