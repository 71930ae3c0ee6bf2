"""People who rate social episodes in the seven dimensions, in a terminal or in a spreadsheet.

From the ground up: `log` (what was rated, a line each, in the folder of the new corpus), `sheet` (an episode for a
person to read, what people are asked, a form as CSV, and back), `credit_form` (another one, about strategy and credit),
`terminal_form` (dimension by dimension at a terminal), `merge` (from either to a corpus).
"""
