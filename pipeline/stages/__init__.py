"""The stages of a run: each with its declaration, its key, its call and its check in one place.

`shared` holds what several have in common, `plugins` what an alignment chooses by name, `rollout_context` what is lent
to methods that play sessions on. In the order of the chain: `split`, `hand_labels`, `features` (features, verbalize),
`reward_model` (embed, train-reward), `choose` (select-sessions), `rubric`, `decompose` (react, judge, fit, rewards),
`slices`, `audit` (audit, stability), `evaluate`, `align`, `report`; `registry` lists them, and loads each when it is
first asked for. A new stage is a file here and a line there.
"""
