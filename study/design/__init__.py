"""A study as data: one folder that says what is asked of whom, without the names of the policies.

From the ground up: `criteria` (what is asked, and on which scale; `sets/` are those that ship), `settings` (a study's
file), `items` (contexts and responses, without names), `unblinding_key` (whose response it is: for reports alone),
`answers` (what an answer is, and what it says of a response), `attention_checks` (items that tell whether somebody
reads), `randomization` (who gets which item, in which order, under which letters), `dialogues` (items of a corpus),
`folder` (all of it in one place), `create` (from a table of responses to a folder).
"""
