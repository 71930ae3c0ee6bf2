"""Web pages over a finished run's folder and over tables of responses: `apportion view`.

From the ground up: `labels` (what people say of turns: kept, merged, exchanged), `data` (a run's index and tables, no
HTML), `views` (what pages show), `comparisons` (two opinions held against each other), `pages` (addresses and routes,
one file a group of pages; `pages.links` says how a page is added), `auth` (token, cookie, Host, Origin, what pages may
load), `connections` (how many, and for how long), `pseudonymize` (a copy of a run under other names), `bundle` (the
pages as files, all but `label`), `app` (the application), `serve` (port, address, browser), `study` (the pages of a
study with people: an application of its own), `scoring` (a reward model that programs ask: another).
`templates/` are Jinja's, `static/` style sheets and scripts; `tokens.css` is that of all pages.

Pages are made on the server and can be read without their scripts; nothing is inline and nothing is asked of another
host. A run is read through an index beside it, made in a process of its own, so that the server stays small.
"""
