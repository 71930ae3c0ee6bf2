"""What came of a study: figures with intervals, who answered how, a judge beside; as a page, Markdown, LaTeX, JSON.

From the ground up: `tables` (answers under the policies' names), `annotators` (who answered how, and whom one should
look at), `results` (a report as data), `figures` (of one group of annotators, and of a language model beside people),
`make` (all of it), `grids` (tables as text), `forest` (plots), `page` (HTML, with `page.html` and `page.css`), `latex`,
`write` (these, Markdown and JSON as files).
"""
