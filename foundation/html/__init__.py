"""Self-contained HTML pages: no script, no request to anywhere.

From the ground up: `text` (strings and numbers as a page shows them) and `page` (a template in the common frame:
`document.html`, which the viewer's frame extends, too, with `document.css`, colours in `tokens.css`, tables in
`parts.html`, and `message.html` for a page of one sentence).
"""
