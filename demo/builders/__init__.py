"""What made the demo: none of it is needed to run the demo, so a wheel has only what lies one folder up.

From the ground up: ``planting.py`` (a session with what is planted in it, qualities and scores),
``dialogues.py`` (chats from ``scenarios/`` and ``phrases.toml``), ``voices.py`` and ``films.py`` (speech and the
session clock, from ``films.toml``), ``faces.py`` and ``scenes.py`` (drawn faces, head motion, encoding), ``tables.py``
and ``make_corpus.py`` (writing it all), ``record_replies.py`` (the recorded replies).
"""
