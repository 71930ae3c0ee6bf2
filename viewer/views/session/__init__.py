"""What the page of one session shows, as frozen values: no HTML of its own but small drawings.

From the ground up: `axis` (where a turn and a second stand: seconds, or the order of the turns), `people` (speakers and
their colours), `lanes` (who speaks when, and over whom), `series` (turn rewards of every method with their intervals,
people's labels), `bars` (their drawings), `tracks` (descriptors over time), `recordings` (what is played), `evidence`
(what is behind one turn), `view` (the whole page).
"""
