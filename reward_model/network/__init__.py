"""From a dialogue's text to the numbers that a head makes a reward of.

From the ground up: `tokens` and `dialogue` (what is read, as numbers), `encoder_decoder` (how one with two halves
reads), `lora` (adapters), `backbones` (the networks that read), `preflight` (whether one can be had), `embed` and
`texts` (what a frozen one gives).
"""
