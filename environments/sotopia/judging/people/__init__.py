"""People who rate social episodes in the seven dimensions, in a terminal or in a spreadsheet.

From the ground up: `kept` (what was rated, a line each, in the folder of the new corpus), `dimensions` (what people are
asked), `telling` (an episode for a person to read), `sheet` (a form as CSV, and back), `credit_sheet` (another one,
about strategy and credit), `asking` (dimension by dimension at a terminal), `rated` (from either to a corpus).
"""
