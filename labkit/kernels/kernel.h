/* What every kernel sees: a table of MPI functions, a job, the clock and the timed loop.
 *
 * There is no mpi.h here. The table is filled at run time from the MPI library that mpi4py uses, and every file is
 * compiled twice: with handles that are ints (MPICH and its relatives) and with handles that are pointers (Open MPI,
 * the ABI of MPI 5.0). One build therefore serves every MPI. */
#ifndef LABKIT_KERNEL_H
#define LABKIT_KERNEL_H

#include <stdint.h>
#include <time.h>

#ifdef HANDLE_INT
typedef int Handle;
#else
typedef struct opaque *Handle;
#endif

/* X(name, arguments): every MPI function a kernel may call. Python reads the names from the library (table.c), so this
 * list is their only home. A function the MPI at hand lacks is NULL. */
#define MPI_FUNCTIONS(X)                                                      \
    X(Send, (const void *, int, Handle, int, int, Handle))                    \
    X(Recv, (void *, int, Handle, int, int, Handle, void *))                  \
    X(Isend, (const void *, int, Handle, int, int, Handle, Handle *))         \
    X(Irecv, (void *, int, Handle, int, int, Handle, Handle *))               \
    X(Waitall, (int, Handle *, void *))                                       \
    X(Barrier, (Handle))                                                      \
    X(Bcast, (void *, int, Handle, int, Handle))                              \
    X(Reduce, (const void *, void *, int, Handle, Handle, int, Handle))       \
    X(Gather, (const void *, int, Handle, void *, int, Handle, int, Handle))  \
    X(Scatter, (const void *, int, Handle, void *, int, Handle, int, Handle)) \
    X(Allgather, (const void *, int, Handle, void *, int, Handle, Handle))    \
    X(Alltoall, (const void *, int, Handle, void *, int, Handle, Handle))     \
    X(Allreduce, (const void *, void *, int, Handle, Handle, Handle))

typedef struct {
#define X(name, arguments) int(*name) arguments;
    MPI_FUNCTIONS(X)
#undef X
} Mpi;

enum { TIMING_EACH = 0, TIMING_TOTAL = 1 };

/* All a kernel is told. Chosen at set-up; nothing in it changes while a kernel runs. `labkit.kernels.Job` mirrors it. */
typedef struct {
    const Mpi *mpi;
    Handle comm, datatype, op;
    void *requests; /* window handles */
    void *statuses; /* window statuses: real memory, never MPI_STATUS_IGNORE, whose value depends on the library */
    char *send, *recv;
    char *scratch;    /* 64 bytes for acknowledgements */
    int64_t *time_ns; /* iterations values; one value with TIMING_TOTAL */
    int64_t iterations, warmup;
    int64_t stride; /* bytes between the messages of a window; 0: all use the same buffer */
    int32_t count;  /* elements of datatype in one message */
    int32_t rank, ranks, peer, root, window;
    int32_t timing;   /* TIMING_EACH: OSU's definition; TIMING_TOTAL: IMB's */
    int32_t isolated; /* a barrier after every iteration, outside the timed part */
    int32_t clock;    /* clock id, for the clock's own kernel */
} Job;

/* int64 ns: exact at any uptime, where a double counting seconds is not. */
static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Every kernel is `KERNEL(name) { … }` and returns 0 or the MPI error code. */
#define KERNEL(name) __attribute__((visibility("default"))) int kernel_##name(const Job *job)

#define TRY(call)                \
    do {                         \
        int code_ = (call);      \
        if (code_) return code_; \
    } while (0)

/* Warm up, then time: WORK lies between the clock reads, AFTER behind them. */
#define TIMED(WORK, AFTER)                                     \
    do {                                                       \
        for (int64_t i_ = 0; i_ < job->warmup; i_++) {         \
            WORK AFTER                                         \
        }                                                      \
        if (job->timing == TIMING_EACH) {                      \
            for (int64_t i_ = 0; i_ < job->iterations; i_++) { \
                int64_t start_ = now_ns();                     \
                WORK job->time_ns[i_] = now_ns() - start_;     \
                AFTER                                          \
            }                                                  \
        } else {                                               \
            int64_t start_ = now_ns();                         \
            for (int64_t i_ = 0; i_ < job->iterations; i_++) { \
                WORK AFTER                                     \
            }                                                  \
            job->time_ns[0] = now_ns() - start_;               \
        }                                                      \
    } while (0)

/* The other side of a TIMED loop: as many rounds, no clock. */
#define UNTIMED(WORK)                                                    \
    do {                                                                 \
        for (int64_t i_ = 0; i_ < job->warmup + job->iterations; i_++) { \
            WORK                                                         \
        }                                                                \
    } while (0)

/* MPI calls with what the job already says filled in. */
#define SEND(buffer, tag) TRY(job->mpi->Send(buffer, job->count, job->datatype, job->peer, tag, job->comm));
#define RECV(buffer, tag) \
    TRY(job->mpi->Recv(buffer, job->count, job->datatype, job->peer, tag, job->comm, job->statuses));
#define ISEND(j, tag)                                                                                        \
    TRY(job->mpi->Isend(job->send + (j) * job->stride, job->count, job->datatype, job->peer, tag, job->comm, \
                        (Handle *)job->requests + (j)));
#define IRECV(j, tag)                                                                                        \
    TRY(job->mpi->Irecv(job->recv + (j) * job->stride, job->count, job->datatype, job->peer, tag, job->comm, \
                        (Handle *)job->requests + (j)));
#define WAITALL TRY(job->mpi->Waitall(job->window, (Handle *)job->requests, job->statuses));
#define BARRIER_IF_ISOLATED \
    if (job->isolated) TRY(job->mpi->Barrier(job->comm));

#endif
