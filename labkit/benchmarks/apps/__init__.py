"""Communication kernels of applications: what a time step of a simulation sends, without its computation."""
