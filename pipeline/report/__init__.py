"""The report of a run: one self-contained HTML page, without a script.

From the ground up: `colours` (of each method), `curves` (all trainings'), `sessions` (a few as examples), `conclusion`
(figures to sentences), `highlights` (tables to those figures, and the turns to look at), `page` (the whole;
`page.html`, `session.html`), `picture` (one session's rewards as a file of its own).
"""
