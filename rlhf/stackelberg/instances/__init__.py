"""Speaking turns as instances (section 3.1), and what their leaders want to hear (section 3.2).

From the ground up: `instance` (one turn, as texts), `following` (the turns of one session, and who follows), `sources`
(those of corpora and files, drawn as in section 4.1), `intents` (Eq. 1: what is asked, and how a reply is read), `base`
(Eq. 2: u_base asked for), `asking` (for all turns: priced, previewed, kept).
"""
