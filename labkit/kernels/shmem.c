/* OpenSHMEM. Buffers are symmetric: the same address names the same object of every processing element (PE). In
 * patterns of pairs the active PE reaches into the memory of its peer, which waits in a barrier meanwhile. */
#include "shmem.h"
#include "collective.h"

#include <stdlib.h>
#include <string.h>

#define CALL(name, ...) args->shmem->name(__VA_ARGS__)
#define QUIET           CALL(quiet)
#define END                \
    do {                   \
        CALL(barrier_all); \
        return 0;          \
    } while (0)

#define PUT(form) CALL(form, args->recv, args->send, (size_t)args->count, args->peer)
#define GET(form) PUT(form) /* from the peer's `send` to the own `recv`: the same places */

/* Every PE writes its own buffers anew, with what they hold, as OSU's tests do before they begin: the first transfers
 * find them in the caches of their owners. */
static void rewrite(const Arguments *args, int64_t bytes)
{
    for (volatile char *at = args->send; at < args->send + bytes; at++) *at = *at;
    for (volatile char *at = args->recv; at < args->recv + bytes; at++) *at = *at;
}

/* One transfer and its completion. shmem_getmem is complete when it returns. */
#define PAIR(name, WORK)                    \
    KERNEL(name)                            \
    {                                       \
        if (args->timing == TIMING_TOTAL) { \
            rewrite(args, args->count);     \
            CALL(barrier_all);              \
        }                                   \
        if (args->active) TIMED(WORK, );     \
        END;                                \
    }
PAIR(shmem_put, PUT(putmem); QUIET;)
PAIR(shmem_put_nb, PUT(putmem_nbi); QUIET;)
PAIR(shmem_get, GET(getmem);)
PAIR(shmem_get_nb, GET(getmem_nbi); QUIET;)

/* Window of transfers, each with buffers of its own, and one completion. With `mode` 1 it starts cold, as OSU's tests: every
 * PE writes its buffers and then so much other memory that they leave the caches; nobody writes while a window is timed. */
enum { COLD_B = 50 * (4 << 20) };
#define TRANSFERS(form)                                                                   \
    for (int64_t at = 0, end = args->window * args->stride; at < end; at += args->stride) \
        CALL(form, args->recv + at, args->send + at, (size_t)args->count, args->peer);    \
    QUIET;
#define WINDOW(name, form)                                                       \
    KERNEL(name)                                                                 \
    {                                                                            \
        char *other = args->mode ? malloc(COLD_B) : NULL;                        \
        if (args->mode && !other) return -ENOMEM;                                \
        if (!args->mode && args->active) TIMED(TRANSFERS(form), );                \
        for (int64_t i_ = -args->warmup; other && i_ < args->iterations; i_++) { \
            rewrite(args, args->window * args->stride);                          \
            memset(other, (int)i_, COLD_B);                                      \
            CALL(barrier_all);                                                   \
            if (args->active) {                                                  \
                const int64_t start = now_ns();                                  \
                TRANSFERS(form)                                                  \
                const int64_t taken = now_ns() - start;                          \
                if (i_ >= 0) args->time_ns[i_] = taken;                          \
            }                                                                    \
            CALL(barrier_all);                                                   \
        }                                                                        \
        free(other);                                                             \
        END;                                                                     \
    }
WINDOW(shmem_put_rate, putmem)
WINDOW(shmem_put_rate_nb, putmem_nbi)
WINDOW(shmem_get_rate_nb, getmem_nbi)

/* Phases as those of MPI's non-blocking collectives (collective.h); only the active PE communicates and computes. */
KERNEL(shmem_put_overlap)
{
    int64_t pure_sum = 0, steps = 0;
    for (int64_t i_ = -args->warmup; args->active && i_ < args->iterations; i_++) {
        int64_t start = now_ns();
        PUT(putmem);
        QUIET;
        const int64_t pure = now_ns() - start;
        CALL(fence);
        if (i_ < 0) pure_sum += pure;
        if (i_ == -1 || (i_ == 0 && !args->warmup)) steps = steps_for(args->warmup ? pure_sum / args->warmup : pure);
        start = now_ns();
        compute(steps);
        const int64_t alone = now_ns() - start;
        start = now_ns();
        PUT(putmem_nbi);
        const int64_t begun = now_ns();
        compute(steps);
        const int64_t computed = now_ns();
        QUIET;
        const int64_t total = now_ns() - start;
        CALL(fence);
        if (i_ >= 0) {
            args->time_ns[i_] = total;
            PHASE(PHASE_PURE) = pure;
            PHASE(PHASE_COMPUTE) = computed - begun;
            PHASE(PHASE_ALONE) = alone;
        }
    }
    END;
}

/* ---- Collectives over all PEs, in turn with two synchronisation arrays: one may be in use by a slower PE. A message is
 * counted in words of 32 bits. */

#define ALL    0, 0, args->ranks
#define SYNC   args->sync + ((i_ + args->warmup) & 1) * SYNC_LONGS
#define PLACES args->recv, args->send, (size_t)args->count / 4

#define COLLECTIVE_OF_ALL(name, ...)                         \
    KERNEL(shmem_##name)                                     \
    {                                                        \
        TIMED(args->shmem->__VA_ARGS__;, CALL(barrier_all);); \
        return 0;                                            \
    }
COLLECTIVE_OF_ALL(broadcast, broadcast32(PLACES, args->root, ALL, SYNC))
COLLECTIVE_OF_ALL(collect, collect32(PLACES, ALL, SYNC))
COLLECTIVE_OF_ALL(fcollect, fcollect32(PLACES, ALL, SYNC))
COLLECTIVE_OF_ALL(alltoall, alltoall32(PLACES, ALL, SYNC))

KERNEL(shmem_barrier)
{
    TIMED(CALL(barrier, ALL, SYNC);, );
    return 0;
}

/* `mode` is the type and the operation, in the order of REDUCTIONS; `extra` is the work array, of which there are two
 * for the same reason, each `turns` bytes long. */
#define REDUCE(name, type) \
    TIMED(CALL(name, (type *)(void *)args->recv, (const type *)(const void *)args->send, args->count, ALL,               \
               (type *)(void *)(args->extra + ((i_ + args->warmup) & 1) * args->turns), SYNC);, CALL(barrier_all);)
#define OPERATIONS_OF(first, name, type)  \
    case first:                           \
        REDUCE(name##_sum_to_all, type);  \
        break;                            \
    case first + 1:                       \
        REDUCE(name##_prod_to_all, type); \
        break;                            \
    case first + 2:                       \
        REDUCE(name##_max_to_all, type);  \
        break;                            \
    case first + 3:                       \
        REDUCE(name##_min_to_all, type);  \
        break;

KERNEL(shmem_reduce)
{
    switch (args->mode) {
        OPERATIONS_OF(0, float, float)
        OPERATIONS_OF(4, double, double)
        OPERATIONS_OF(8, int, int)
        OPERATIONS_OF(12, longlong, long long)
    }
    return 0;
}

/* ---- Atomics on the elements of the peer's `recv`, 8 B apart, one after the other. The operand is the first element of
 * `send`; what an operation fetches lands in the own `recv`, which is also what compare_swap compares with. With
 * TIMING_TOTAL every PE writes its elements anew after each round of them, as OSU's test does before its only round. */

#define NEXT(WORK)                              \
    {                                           \
        WORK;                                   \
        at += apart;                            \
        if (at == args->window * apart) at = 0; \
    }
#define ATOMIC(WORK)                                                             \
    if (args->timing == TIMING_EACH) {                                           \
        if (args->active) TIMED(NEXT(WORK), );                                    \
    } else {                                                                     \
        int64_t total = 0;                                                       \
        for (int64_t i_ = -args->warmup, end; i_ < args->iterations; i_ = end) { \
            end = i_ < 0 ? 0 : args->iterations;                                 \
            if (end > i_ + args->window) end = i_ + args->window;                \
            rewrite(args, 8 * args->window);                                     \
            CALL(barrier_all);                                                   \
            if (args->active) {                                                  \
                const int64_t start = now_ns();                                  \
                for (int64_t j = i_; j < end; j++) NEXT(WORK)                    \
                if (i_ >= 0) total += now_ns() - start;                          \
            }                                                                    \
            CALL(barrier_all);                                                   \
        }                                                                        \
        args->time_ns[0] = total;                                                \
    }
#define ATOMICS_ON(first, name, type)                                                                             \
    {                                                                                                             \
        enum { apart = 8 / sizeof(type) };                                                                        \
        type *const there = (type *)(void *)args->recv, *const here = there, value = *(type *)(void *)args->send; \
        switch (args->mode - first) {                                                                             \
        case 0:                                                                                                   \
            ATOMIC(here[at] = args->shmem->name##_atomic_fetch_add(there + at, value, args->peer));               \
            break;                                                                                                \
        case 1:                                                                                                   \
            ATOMIC(here[at] = args->shmem->name##_atomic_fetch_inc(there + at, args->peer));                      \
            break;                                                                                                \
        case 2:                                                                                                   \
            ATOMIC(args->shmem->name##_atomic_add(there + at, value, args->peer));                                \
            break;                                                                                                \
        case 3:                                                                                                   \
            ATOMIC(args->shmem->name##_atomic_inc(there + at, args->peer));                                       \
            break;                                                                                                \
        case 4:                                                                                                   \
            ATOMIC(here[at] = args->shmem->name##_atomic_compare_swap(there + at, here[at], value, args->peer));  \
            break;                                                                                                \
        case 5:                                                                                                   \
            ATOMIC(here[at] = args->shmem->name##_atomic_swap(there + at, value, args->peer));                    \
            break;                                                                                                \
        case 6:                                                                                                   \
            ATOMIC(args->shmem->name##_atomic_set(there + at, value, args->peer));                                \
            break;                                                                                                \
        case 7:                                                                                                   \
            ATOMIC(here[at] = args->shmem->name##_atomic_fetch(there + at, args->peer));                          \
            break;                                                                                                \
        }                                                                                                         \
    }

KERNEL(shmem_atomic)
{
    int at = 0;
    if (args->mode < 8)
        ATOMICS_ON(0, int, int)
    else
        ATOMICS_ON(8, longlong, long long)
    END;
}
