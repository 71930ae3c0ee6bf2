"""Made-up leagues: nobody played, winners are drawn by strengths."""

import math
from random import Random

from apportion.environments.tournament.team_games.matches import Match, Matches, Seat

VILLAGE, WOLVES = "village", "werewolves"
ROLES = ("Werewolf", "Werewolf", "Seer", "Guardian", "Villager", "Villager", "Villager")
STRENGTHS = {"weak": -1.5, "middle": 0.0, "strong": 1.5}


def match(name, seating, village_won, deal="", roles=ROLES, votes=None, people=(), drawn=True):
    """One match; ``seating`` are agents by seat, ``people`` numbers of seats."""
    seats = []
    for place, (agent, role) in enumerate(zip(seating, roles, strict=True)):
        team = WOLVES if role == "Werewolf" else VILLAGE
        beside = set(people) - {place + 1}
        won = (team == VILLAGE) == village_won
        received = None if votes is None else votes[place]
        seats.append(
            Seat(place + 1, agent, role, team, team, won, received, 0 if beside else None, place + 1 in people)
        )
    return Match(name, deal or name, tuple(seats), drawn)


def league(matches=200, agents=tuple(STRENGTHS), seed=0, teams=False):
    """Every seat drawn from the pool; or every ordered pair of teams, on the same deals."""
    made = []
    for number in range(matches):
        draws = Random(f"{seed}/{number}")
        roles = tuple(draws.sample(ROLES, len(ROLES)))
        wolves = [role == "Werewolf" for role in roles]
        luck = draws.random()
        pairs = [(one, other) for one in agents for other in agents] if teams else [None]
        for pair in pairs:
            seating = [draws.choice(agents) for _ in roles] if pair is None else [pair[wolf] for wolf in wolves]
            good = [STRENGTHS[a] for a, wolf in zip(seating, wolves, strict=True) if not wolf]
            evil = [STRENGTHS[a] for a, wolf in zip(seating, wolves, strict=True) if wolf]
            lean = 1.2 * (sum(good) / len(good) - sum(evil) / len(evil))
            votes = [draws.randrange(3) for _ in roles]
            won = luck < 1 / (1 + math.exp(-lean))
            made.append(match(f"{number}-{pair}", seating, won, f"deal {number}", roles, votes, drawn=not teams))
    return Matches("Werewolf, made up", (VILLAGE, WOLVES), tuple(made))
