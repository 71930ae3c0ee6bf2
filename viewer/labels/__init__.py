"""People's labels of turns: kept beside a run, merged into a corpus, exchanged with Label Studio. No page, no server.

From the ground up: `label` (what is asked, on which scale, and one answer), `label_store` (the file that they are
appended to), `merge` (into a corpus of their own), `label_studio` (there and back), `of_study` (ratings of turns that a
study's annotators gave).
"""
