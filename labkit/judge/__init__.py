"""Findings over several points: slow ranks, violated guidelines, protocol changes.

Pure functions from samples and tables to tables and sentences. Each result has a `sentence` for its table.
`docs/statistics.md` lists the assumptions and error rates.
"""
