"""Benchmarks of languages and libraries with a partitioned global address space: coarrays of Fortran, UPC, UPC++.

An image of Fortran, a thread of UPC and a rank of UPC++ are ranks here. OpenSHMEM is the family `shmem`.
"""
