"""The tables and figures of the Stackelberg Speaker, of leagues, social episodes and bargains.

From the ground up: `paper_rows` (what the paper compares, and how it is made), `games` (which agent is what; Tables 1
to 5 and 7), `curves` (Table 6, Figures 4, 5, 10), `report` (all of them, from corpora).
"""
