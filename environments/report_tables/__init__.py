"""A report of simulated dialogues: tables of figures with intervals, and their pictures.

From the ground up: `people` (which agents are people), `figures` (a figure with its interval over episodes, means),
`table` (a table as text, Markdown and JSON), `report` (several of them, written to a folder), `drawing` (parts of a
picture), `chart` (figures with intervals along an axis).
"""
