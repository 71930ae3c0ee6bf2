"""Games of hidden roles with rounds of discussion (Stackelberg Speaker, appendix A): Werewolf, Avalon, One Night.

From the ground up:

- `events` (what happened, and who may know it), `private_information` (what a player knows), `observation` (the same in
words),
- `game` (the environment that the games share; its head says what a game has to define),
- `scripts` (what scripts share), `language_model` (how models are asked), `agent_registry` (who can play, by name),
- `games` (a game to those who play any, and the table of games), `simulation` (from a choice to a corpus),
- `person` (one at a terminal), `league` (many matches of agents from a pool, or team against team),
- `werewolf` (two werewolves among seven), `avalon` (five players send each other on quests), `onuw` (one night, and a
  card that may change hands).
"""
