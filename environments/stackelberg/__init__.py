"""The tables and figures of the Stackelberg Speaker, of leagues, social episodes and bargains.

From the ground up: `variants` (which agent is what), `games` (Tables 1, 2, 4, 5), `curves` (Figures 4, 5, 10), `social`
(Table 3), `persuasion` (Table 6), `bargaining_table` (Table 7), `report` (all of them, from corpora).
"""
