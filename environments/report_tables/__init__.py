"""A report of simulated dialogues: tables of figures with intervals, and their pictures.

From the ground up: `table` (figures with their intervals over episodes; a table as text, Markdown and JSON), `report`
(several tables, written to a folder; which agents are people), `chart` (parts of a picture; figures along an axis,
histograms, maps, ranges), `rows_to_play` (rows of a paper that nobody has played, with the commands that fill them).
"""
