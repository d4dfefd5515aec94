"""What measurements say beyond their own point: slow ranks, violated guidelines, protocol changes.

Pure functions from samples and tables to tables and sentences. Each result has a `sentence`, for every table needs one.
`docs/statistics.md` says what each assumes and how often it errs.
"""
