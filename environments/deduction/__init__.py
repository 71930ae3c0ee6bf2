"""Games of hidden roles with rounds of discussion (Stackelberg Speaker, appendix A): Werewolf, Avalon, One Night.

From the ground up: `events` (what happened, and who may know it), `deals` (every order of roles), `observation` (what a
player knows, as data and in words), `base_game` (the environment that the games share; its head says what a game
defines), `scripts` (what scripts share), `language_model` (how models are asked), `text_rendering` (for a person),
`games` (a game and its agents, for those who play any, and the table of games), `simulation` (from a choice to a
corpus), `league` (many matches of agents from a pool, or team against team), `learned_table` (the file of what was
learned), `act_search` (Strategist), `chooser` (SLA and RL-ins), `latent_strategies` (LSPO), `player_training` (which
is trained how), `werewolf`, `avalon` and `onuw` (the
games; `rules` of each decides who wins).
"""
