"""How ranks start: one file a launcher, each a pure function from a placement to a command line."""
