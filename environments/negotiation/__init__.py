"""Two seats share out books, hats and balls by a dialogue (Kwon et al., 2021; Deal or No Deal, Lewis et al., 2017).

From the ground up:

- `contexts` (what is shared, what it is worth to each), `codes` (an act as a number), `solver` (every deal, exactly),
- `rules` (what is legal when, and the points),
- `sentences` (acts in words), `parser` (words to acts), `real_games` (people's negotiations as acts),
- `observation` (what a seat reads), `game` (the environment),
- `scripts`, `batched` (the same rules and scripts on arrays, many games at once),
- `language_model`, `wording` (a script in a language model's words) and `agents` (who can play),
- `pairs` (every pair of agents plays every task), `simulation` (from a choice to a corpus), `simulator` (its sessions
  played on),
- `casino` (the same about food, water and firewood), `bargaining` (about a price instead),
- `person` (one at a terminal), `annotating` (people answer what a learner asks),
- `study` (people negotiate with agents and say what they think of them).
"""
