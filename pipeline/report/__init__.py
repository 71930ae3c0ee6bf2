"""The report of a run: one self-contained HTML page, without a script.

From the ground up: `text` (strings and numbers, made harmless), `bars` and `chart` (inline drawings), `curves` (all
trainings'), `sessions` (a few as examples), `mixes` (what sources weigh), `page` (the whole; `page.html`,
`session.html`, `page.css`, and `tokens.css`, colours that the viewer has too), `picture` (one session's rewards as a
file of its own).
"""
