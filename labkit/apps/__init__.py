"""User interfaces: the command line, notebooks, the Explorer, courses and jobs."""
