"""A scripted game of accusations whose followers are moved by words: what Measurer and Refiner are tried on.

Player 1 accuses player 3, player 2 answers. A seer wants a reason, a guardian wants to be called by name, a villager
wants both; who is not moved turns the accusation round. The leader does not know the follower's role.
"""

from random import Random

from apportion.rlhf.stackelberg.instances.instance import Instance

ROLES = ("villager", "seer", "guardian")
REASONS = ("was silent all day", "voted against the seer", "told two stories", "follows every accusation")
OPENINGS = ("I think", "I say", "To me", "Listen,")
RULES = "Three players vote out a wolf."
DESIRED = ("I agree. I vote for player 3.", "I vote for player 3.", "Player 3 is a wolf. I vote for player 3.")
UNDESIRED = ("No. I vote for player 1.", "I vote for player 1.", "Player 1 is a wolf. I vote for player 1.")


def speech(draws: Random) -> str:
    """A speech; half of them give a reason, half of them call the follower by name."""
    words = f"{draws.choice(OPENINGS)} player 3 is a wolf"
    if draws.random() < 0.5:
        words += f", because player 3 {draws.choice(REASONS)}"
    words += "."
    return f"{words} Player 2, vote with me." if draws.random() < 0.5 else words


def answer_of(role: str, said: str) -> str:
    """What a follower of a role answers."""
    reason, named = "because" in said, "Player 2," in said
    moved = {"seer": reason, "guardian": named, "villager": reason and named}[role]
    return DESIRED[0] if moved else UNDESIRED[0]


def round_table(count: int, seed: int = 0, intents: bool = True) -> tuple[Instance, ...]:
    """That many turns, four in a session."""
    return tuple(_turn(number, Random(f"{seed}/{number}"), seed, intents) for number in range(count))


def role_of(instance: Instance) -> str:
    """The follower's true role."""
    return next(role for role in ROLES if f"You are player 2, the {role}." in instance.follower_sees)


def _turn(number: int, draws: Random, seed: int, intents: bool) -> Instance:
    said, role, other = speech(draws), draws.choice(ROLES), draws.choice(ROLES)
    mark = f"CANDIDATE-{number:08x}"
    return Instance(
        name=f"round table/game {seed}-{number // 4}#{number % 4}",
        game="round table",
        leader="player 1",
        follower="player 2",
        leader_sees=f"{RULES} You are player 1, the {other}. You suspect player 3.",
        follower_sees=f'{RULES} You are player 2, the {role}. Player 1 said: "{mark}"',
        mark=mark,
        said=said,
        answered=answer_of(role, said),
        backends=("scripted", "scripted"),
        desired=DESIRED if intents else (),
        undesired=UNDESIRED if intents else (),
    )
