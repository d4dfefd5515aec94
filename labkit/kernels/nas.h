/* What the kernels of the NAS Parallel Benchmarks share: their random numbers, memory, calls of MPI that are timed and
 * counted, and the loop of whole runs. Algorithms, constants and formulas are those of NPB 3.4 (MPI); the code is not. */
#ifndef LABKIT_NAS_H
#define LABKIT_NAS_H

#include <errno.h>
#include <string.h>

#include "kernel.h"

/* The kernels compute as well as communicate, so they are compiled like the original. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* The receive buffer of a rank after a run, 8 B each: what Python verifies (doubles), then counts (int64): messages and
 * bytes to each rank, calls and bytes of each collective, messages of each size. `labkit.benchmarks.compute._nas`
 * mirrors this layout. */
enum { NAS_RESULTS = 64, NAS_COLLECTIVES = 3, NAS_SIZES = 32 };
enum { NAS_ALLREDUCE, NAS_REDUCE, NAS_ALLTOALL };

typedef struct {
    const Arguments *args;
    double *results;
    int64_t *messages, *bytes, *calls, *moved, *sizes;
    int64_t item;      /* B of an element of args->datatype */
    int64_t inside_ns; /* time in MPI */
    char *memory;      /* of the send buffer, what is left */
    int64_t left;
} Nas;

static inline Nas nas_begin(const Arguments *args, int64_t item)
{
    int64_t *counts = (int64_t *)(void *)args->recv + NAS_RESULTS;
    Nas nas = {.args = args, .results = (double *)(void *)args->recv, .messages = counts, .item = item};
    nas.bytes = nas.messages + args->ranks;
    nas.calls = nas.bytes + args->ranks;
    nas.moved = nas.calls + NAS_COLLECTIVES;
    nas.sizes = nas.moved + NAS_COLLECTIVES;
    nas.memory = args->send;
    nas.left = args->places[0];
    return nas;
}

/* Forget what was counted so far, results too. */
static inline void nas_forget(Nas *nas)
{
    memset(nas->args->recv, 0, (NAS_RESULTS + 2 * (size_t)nas->args->ranks + 2 * NAS_COLLECTIVES + NAS_SIZES) * 8);
    nas->inside_ns = 0;
}

/* A part of the send buffer; NULL if Python gave less than is needed. */
static inline void *nas_take(Nas *nas, int64_t count, int64_t size)
{
    const int64_t bytes = (count * size + 63) / 64 * 64;
    if (bytes > nas->left) return NULL;
    void *part = nas->memory;
    nas->memory += bytes;
    nas->left -= bytes;
    return part;
}

#define TAKE(pointer, count)                                                        \
    do {                                                                            \
        if (!((pointer) = nas_take(nas, count, sizeof *(pointer)))) return -ENOMEM; \
    } while (0)

/* A call of MPI whose time counts as communication. */
#define INSIDE(call)                           \
    do {                                       \
        const int64_t entered_ = now_ns();     \
        TRY(call);                             \
        nas->inside_ns += now_ns() - entered_; \
    } while (0)

static inline void nas_count(Nas *nas, int to, int64_t elements)
{
    const int64_t bytes = elements * nas->item;
    nas->messages[to]++;
    nas->bytes[to] += bytes;
    nas->sizes[bytes ? 64 - __builtin_clzll((unsigned long long)bytes) : 0]++;
}

static inline void nas_collective(Nas *nas, int kind, int64_t elements)
{
    nas->calls[kind]++;
    nas->moved[kind] += elements * nas->item;
}

static inline int nas_irecv(Nas *nas, void *to, int count, int from, int tag, int slot)
{
    const Arguments *args = nas->args;
    INSIDE(args->mpi->Irecv(to, count, args->datatype, from, tag, args->comm, (Handle *)args->requests + slot));
    return 0;
}

static inline int nas_send(Nas *nas, const void *from, int count, int to, int tag)
{
    const Arguments *args = nas->args;
    INSIDE(args->mpi->Send(from, count, args->datatype, to, tag, args->comm));
    nas_count(nas, to, count);
    return 0;
}

static inline int nas_wait(Nas *nas, int slot)
{
    const Arguments *args = nas->args;
    INSIDE(args->mpi->Wait((Handle *)args->requests + slot, args->statuses));
    return 0;
}

/* A message to and one from the same rank. */
static inline int nas_exchange(Nas *nas, void *to, int received, const void *from, int sent, int peer, int tag)
{
    TRY(nas_irecv(nas, to, received, peer, tag, 0));
    TRY(nas_send(nas, from, sent, peer, tag));
    return nas_wait(nas, 0);
}

static inline int nas_allreduce(Nas *nas, const void *from, void *to, int count)
{
    const Arguments *args = nas->args;
    INSIDE(args->mpi->Allreduce(from, to, count, args->datatype, args->op, args->comm));
    nas_collective(nas, NAS_ALLREDUCE, count);
    return 0;
}

/* Every iteration is a whole run: PREPARE is not timed, WORK is, CHECK follows it untimed and uncounted. Phase 1 is the
 * time of computation, phase 2 the time in MPI. */
#define NAS_RUNS(PREPARE, WORK, CHECK)                      \
    do {                                                    \
        for (int64_t i_ = 0; i_ < args->iterations; i_++) { \
            PREPARE;                                        \
            TRY(args->mpi->Barrier(args->comm));            \
            nas_forget(nas);                                \
            const int64_t start_ = now_ns();                \
            WORK;                                           \
            args->time_ns[i_] = now_ns() - start_;          \
            PHASE(2) = nas->inside_ns;                      \
            PHASE(1) = args->time_ns[i_] - nas->inside_ns;  \
            CHECK;                                          \
        }                                                   \
    } while (0)

/* NPB's random numbers: x <- a x mod 2^46, in integers, which is exact. */
#define NAS_MASK       ((UINT64_C(1) << 46) - 1)
#define NAS_MULTIPLIER UINT64_C(1220703125)

static inline double nas_random(uint64_t *state)
{
    *state = *state * NAS_MULTIPLIER & NAS_MASK;
    return (double)(int64_t)*state * 0x1p-46;
}

/* The state after so many further numbers. */
static inline uint64_t nas_skip(uint64_t state, uint64_t numbers)
{
    for (uint64_t power = NAS_MULTIPLIER; numbers; numbers >>= 1, power = power * power & NAS_MASK)
        if (numbers & 1) state = state * power & NAS_MASK;
    return state;
}

#endif
