"""Whether followers answer what leaders wanted (appendix D.3).

From the ground up: `followers` (who answers, and vectors of texts), `table` (cosines, epoch by epoch).
"""
