"""What came of a study: figures with intervals, who answered how, a judge beside; as a page, Markdown, LaTeX, JSON.

From the ground up: `tables` (answers under the policies' names), `annotators` (who answered how, and whom one should
look at), `results` (a report as data), `measures` (how figures are told), `figures` (of one group of annotators),
`judges` (a language model beside people), `make` (all of it), `grids` (tables as text), `forest` (plots), then the
formats: `page` (with `page.html` and `page.css`), `markdown`, `latex`, `document` (JSON); `write` (all of them as
files).
"""
