"""Nothing that a leader does not know reaches the Refiner: in play never, and in training not in its prompt."""

import re

from apportion.environments.collect_episodes import play
from apportion.environments.deduction.scripts import Random
from apportion.environments.deduction.werewolf.game import Werewolf
from apportion.environments.deduction.werewolf.rules import Options
from apportion.environments.environment import Observation
from apportion.environments.restored_episode import RestoredEpisode
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.stackelberg.dialogues import prompt_episodes, warmup_episodes
from apportion.rlhf.stackelberg.instances.asking import IntentQuestions
from apportion.rlhf.stackelberg.instances.sources import instances_of
from apportion.rlhf.stackelberg.refiner import PromptedRefiner
from tests.environments.models import nobody

MODEL = LLMSettings(model="m", base_url="http://localhost:1/v1")
CANARY = re.compile(r"CANARY-(\d)")


class Marked(Werewolf):
    """Werewolf with a canary in each role and in what each seat learns in secret."""

    def role_in_words(self, seat):
        return f"{super().role_in_words(seat)} CANARY-{seat}"

    def tell(self, kind, text, data=None, to=None, *more, **others):
        if to is not None:
            text = f"{text} {' '.join(f'CANARY-{seat}' for seat in to)}"
        super().tell(kind, text, data, to, *more, **others)


def games(count: int):
    for seed in range(count):
        game = Marked(Options())
        game.reset(seed)
        begun = game.clone()
        agents = {name: Random() for name in game.agents}
        play(game, agents)
        yield RestoredEpisode(f"game-{seed}", begun, tuple(game.steps), agents)


def seats_marked(text: str) -> set[str]:
    return set(CANARY.findall(text))


def knows(reopened: RestoredEpisode, name: str) -> set[str]:
    """The seats whose canaries a player may read: its own, and the pack's of a wolf."""
    return seats_marked(reopened.after(len(reopened.steps)).observe(name))


def test_nothing_that_a_leader_does_not_know_is_in_what_refines_its_words_or_names_its_intents():
    led = 0
    for reopened in games(8):
        for one in instances_of(reopened):
            allowed = knows(reopened, one.leader)
            assert one.leader.rpartition(" ")[2] in allowed
            texts = [
                message.content for request in IntentQuestions(MODEL).requests(one) for message in request.messages
            ]
            for stages in ("two", "one"):
                for episode in (*prompt_episodes([one], stages), *warmup_episodes([one], stages)):
                    texts += [turn.text for turn in episode.turns]
            assert seats_marked(" ".join(texts)) <= allowed
            # The Measurer's prompt alone has the follower's own.
            assert one.follower.rpartition(" ")[2] in seats_marked(one.follower_sees)
            led += 1
    assert led > 50


def test_in_play_a_refiner_reads_the_leaders_own_view():
    for reopened in games(4):
        for step in range(len(reopened.steps)):
            game = reopened.after(step)
            for name in game.acting():
                request = PromptedRefiner(MODEL, nobody).request(Observation(game, name), "Hello.")
                text = " ".join(message.content for message in request.messages)
                assert seats_marked(text) <= knows(reopened, name)


def test_a_rounds_last_speaker_leads_nobody():
    for reopened in games(4):
        for one in instances_of(reopened):
            turn = int(one.name.rpartition("#")[2])
            assert reopened.after(reopened.places[turn].step).follower(reopened.places[turn].step) == one.follower
        speeches = [step for step, moves in enumerate(reopened.steps) if moves[0].act.kind == "speak"]
        last = [step for step in speeches if reopened.after(step).follower(step) is None]
        assert last and len(list(instances_of(reopened))) == len(speeches) - len(last)
