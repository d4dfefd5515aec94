/* OpenSHMEM for kernels: a table of its functions, filled at run time from the library that belongs to the MPI in use.
 *
 * The functions are those of OpenSHMEM 1.4, with active sets in the place of teams: Open MPI has these in all versions. */
#ifndef LABKIT_SHMEM_H
#define LABKIT_SHMEM_H

#include <stddef.h>

#include "kernel.h"

#define ATOMICS(X, name, type)                                     \
    X(type, name##_atomic_fetch_add, (type *, type, int))          \
    X(type, name##_atomic_fetch_inc, (type *, int))                \
    X(void, name##_atomic_add, (type *, type, int))                \
    X(void, name##_atomic_inc, (type *, int))                      \
    X(type, name##_atomic_compare_swap, (type *, type, type, int)) \
    X(type, name##_atomic_swap, (type *, type, int))               \
    X(void, name##_atomic_set, (type *, type, int))                \
    X(type, name##_atomic_fetch, (const type *, int))

#define REDUCTIONS(X, name, type)                                                           \
    X(void, name##_sum_to_all, (type *, const type *, int, int, int, int, type *, long *))  \
    X(void, name##_prod_to_all, (type *, const type *, int, int, int, int, type *, long *)) \
    X(void, name##_max_to_all, (type *, const type *, int, int, int, int, type *, long *))  \
    X(void, name##_min_to_all, (type *, const type *, int, int, int, int, type *, long *))

/* X(result, name, arguments): every function a kernel may call; Python reads the names from the library (table.c). */
#define SHMEM_FUNCTIONS(X)                                                           \
    X(void, putmem, (void *, const void *, size_t, int))                             \
    X(void, putmem_nbi, (void *, const void *, size_t, int))                         \
    X(void, getmem, (void *, const void *, size_t, int))                             \
    X(void, getmem_nbi, (void *, const void *, size_t, int))                         \
    X(void, quiet, (void))                                                           \
    X(void, fence, (void))                                                           \
    X(void, barrier_all, (void))                                                     \
    X(void, barrier, (int, int, int, long *))                                        \
    X(void, broadcast32, (void *, const void *, size_t, int, int, int, int, long *)) \
    X(void, collect32, (void *, const void *, size_t, int, int, int, long *))        \
    X(void, fcollect32, (void *, const void *, size_t, int, int, int, long *))       \
    X(void, alltoall32, (void *, const void *, size_t, int, int, int, long *))       \
    REDUCTIONS(X, float, float)                                                      \
    REDUCTIONS(X, double, double)                                                    \
    REDUCTIONS(X, int, int)                                                          \
    REDUCTIONS(X, longlong, long long)                                               \
    ATOMICS(X, int, int)                                                             \
    ATOMICS(X, longlong, long long)

struct shmem {
#define X(result, name, arguments) result(*name) arguments;
    SHMEM_FUNCTIONS(X)
#undef X
};

#endif
