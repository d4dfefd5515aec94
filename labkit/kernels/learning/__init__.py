"""Ranks of distributed training: what one rank of `learning.*` runs, with torch and the standard library alone.

They need an interpreter that has torch, such as that of Debian's python3-torch, and no installed labkit. A launcher
(mpirun, srun) starts ``__main__.py`` once for each rank. `labkit.kernels.learning.plan` says what to do, `group` joins
the ranks, `timing` runs the timed loop, `collectives` has the collectives of torch.distributed with their check, `step`
and `compression` the steps of data-parallel training.
"""
