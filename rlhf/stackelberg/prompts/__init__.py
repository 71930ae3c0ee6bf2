"""The prompts of section 3 and Appendix C."""
