"""What people use: the command line, notebooks, the Explorer, courses and jobs."""
