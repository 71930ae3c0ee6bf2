"""What the page of one session shows, as frozen values: no HTML of its own but small drawings.

From the ground up: `people` (speakers, their colours, what of them is played), `axis` (where a turn and a second stand,
who speaks when and over whom), `turn_rewards` (turn rewards with their intervals, people's labels; their
drawings), `tracks` (descriptors over time), `evidence` (what is behind one turn), `view` (the whole page).
"""
