/* What every kernel uses: a table of MPI functions, its arguments, the clock and the timed loops.
 *
 * There is no mpi.h here. The table is filled at run time from the MPI library that mpi4py uses, and every file is
 * compiled twice: with handles that are ints (MPICH and its relatives) and with handles that are pointers (Open MPI,
 * the ABI of MPI 5.0). One build therefore serves every MPI. */
#ifndef LABKIT_KERNEL_H
#define LABKIT_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef HANDLE_INT
typedef int Handle;
#else
typedef struct opaque *Handle;
#endif

typedef struct file *File; /* a pointer in every library */

/* A collective with its non-blocking and its persistent form: the same arguments and a request. */
#define COLL(X, Name, IName, ...)     \
    X(Name, (__VA_ARGS__))            \
    X(IName, (__VA_ARGS__, Handle *)) \
    X(Name##_init, (__VA_ARGS__, Handle, Handle *))

#define BUF    const void *, int, Handle
#define BUFV   const void *, const int *, const int *, Handle
#define BUFW   const void *, const int *, const int *, const Handle *
#define BUFA   const void *, const int *, const int64_t *, const Handle *
#define TARGET int, int64_t, int, Handle /* rank, displacement, count, type */

/* X(name, arguments): every MPI function a kernel may call. Python reads the names from the library (table.c), so this
 * list is their only home. A function the MPI at hand lacks is NULL. */
#define MPI_FUNCTIONS(X)                                                                                    \
    X(Send, (BUF, int, int, Handle))                                                                        \
    X(Recv, (void *, int, Handle, int, int, Handle, void *))                                                \
    X(Isend, (BUF, int, int, Handle, Handle *))                                                             \
    X(Irecv, (void *, int, Handle, int, int, Handle, Handle *))                                             \
    X(Sendrecv, (BUF, int, int, void *, int, Handle, int, int, Handle, void *))                             \
    X(Sendrecv_replace, (void *, int, Handle, int, int, int, int, Handle, void *))                          \
    X(Send_init, (BUF, int, int, Handle, Handle *))                                                         \
    X(Recv_init, (void *, int, Handle, int, int, Handle, Handle *))                                         \
    X(Start, (Handle *))                                                                                    \
    X(Startall, (int, Handle *))                                                                            \
    X(Request_free, (Handle *))                                                                             \
    X(Wait, (Handle *, void *))                                                                             \
    X(Waitall, (int, Handle *, void *))                                                                     \
    X(Test, (Handle *, int *, void *))                                                                      \
    COLL(X, Barrier, Ibarrier, Handle)                                                                      \
    COLL(X, Bcast, Ibcast, void *, int, Handle, int, Handle)                                                \
    COLL(X, Gather, Igather, BUF, void *, int, Handle, int, Handle)                                         \
    COLL(X, Gatherv, Igatherv, BUF, BUFV, int, Handle)                                                      \
    COLL(X, Scatter, Iscatter, BUF, void *, int, Handle, int, Handle)                                       \
    COLL(X, Scatterv, Iscatterv, BUFV, void *, int, Handle, int, Handle)                                    \
    COLL(X, Allgather, Iallgather, BUF, void *, int, Handle, Handle)                                        \
    COLL(X, Allgatherv, Iallgatherv, BUF, BUFV, Handle)                                                     \
    COLL(X, Alltoall, Ialltoall, BUF, void *, int, Handle, Handle)                                          \
    COLL(X, Alltoallv, Ialltoallv, BUFV, BUFV, Handle)                                                      \
    COLL(X, Alltoallw, Ialltoallw, BUFW, BUFW, Handle)                                                      \
    COLL(X, Reduce, Ireduce, const void *, void *, int, Handle, Handle, int, Handle)                        \
    COLL(X, Allreduce, Iallreduce, const void *, void *, int, Handle, Handle, Handle)                       \
    COLL(X, Reduce_scatter, Ireduce_scatter, const void *, void *, const int *, Handle, Handle, Handle)     \
    COLL(X, Reduce_scatter_block, Ireduce_scatter_block, const void *, void *, int, Handle, Handle, Handle) \
    COLL(X, Scan, Iscan, const void *, void *, int, Handle, Handle, Handle)                                 \
    COLL(X, Exscan, Iexscan, const void *, void *, int, Handle, Handle, Handle)                             \
    COLL(X, Neighbor_allgather, Ineighbor_allgather, BUF, void *, int, Handle, Handle)                      \
    COLL(X, Neighbor_allgatherv, Ineighbor_allgatherv, BUF, BUFV, Handle)                                   \
    COLL(X, Neighbor_alltoall, Ineighbor_alltoall, BUF, void *, int, Handle, Handle)                        \
    COLL(X, Neighbor_alltoallv, Ineighbor_alltoallv, BUFV, BUFV, Handle)                                    \
    COLL(X, Neighbor_alltoallw, Ineighbor_alltoallw, BUFA, BUFA, Handle)                                    \
    X(Reduce_local, (const void *, void *, int, Handle, Handle))                                            \
    X(Put, (BUF, TARGET, Handle))                                                                           \
    X(Get, (void *, int, Handle, TARGET, Handle))                                                           \
    X(Accumulate, (BUF, TARGET, Handle, Handle))                                                            \
    X(Get_accumulate, (BUF, void *, int, Handle, TARGET, Handle, Handle))                                   \
    X(Fetch_and_op, (const void *, void *, Handle, int, int64_t, Handle, Handle))                           \
    X(Compare_and_swap, (const void *, const void *, void *, Handle, int, int64_t, Handle))                 \
    X(Win_create, (void *, int64_t, int, Handle, Handle, Handle *))                                         \
    X(Win_allocate, (int64_t, int, Handle, Handle, void *, Handle *))                                       \
    X(Win_free, (Handle *))                                                                                 \
    X(Win_fence, (int, Handle))                                                                             \
    X(Win_lock, (int, int, int, Handle))                                                                    \
    X(Win_unlock, (int, Handle))                                                                            \
    X(Win_lock_all, (int, Handle))                                                                          \
    X(Win_unlock_all, (Handle))                                                                             \
    X(Win_flush, (int, Handle))                                                                             \
    X(Win_flush_local, (int, Handle))                                                                       \
    X(Win_flush_all, (Handle))                                                                              \
    X(Win_flush_local_all, (Handle))                                                                        \
    X(Win_post, (Handle, int, Handle))                                                                      \
    X(Win_start, (Handle, int, Handle))                                                                     \
    X(Win_complete, (Handle))                                                                               \
    X(Win_wait, (Handle))                                                                                   \
    X(File_open, (Handle, const char *, int, Handle, File *))                                               \
    X(File_close, (File *))                                                                                 \
    X(File_sync, (File))                                                                                    \
    X(File_seek, (File, int64_t, int))                                                                      \
    X(File_seek_shared, (File, int64_t, int))                                                               \
    X(File_set_size, (File, int64_t))                                                                       \
    X(File_set_view, (File, int64_t, Handle, Handle, const char *, Handle))                                 \
    X(Get_count, (const void *, Handle, int *))                                                             \
    FILE_FUNCTIONS(X, write, const void *)                                                                  \
    FILE_FUNCTIONS(X, read, void *)

#define FILE_FUNCTIONS(X, way, Buffer)                                   \
    X(File_##way, (File, Buffer, int, Handle, void *))                   \
    X(File_##way##_at, (File, int64_t, Buffer, int, Handle, void *))     \
    X(File_##way##_shared, (File, Buffer, int, Handle, void *))          \
    X(File_##way##_all, (File, Buffer, int, Handle, void *))             \
    X(File_##way##_at_all, (File, int64_t, Buffer, int, Handle, void *)) \
    X(File_##way##_ordered, (File, Buffer, int, Handle, void *))         \
    X(File_i##way, (File, Buffer, int, Handle, Handle *))                \
    X(File_i##way##_at, (File, int64_t, Buffer, int, Handle, Handle *))  \
    X(File_i##way##_shared, (File, Buffer, int, Handle, Handle *))       \
    X(File_i##way##_all, (File, Buffer, int, Handle, Handle *))          \
    X(File_i##way##_at_all, (File, int64_t, Buffer, int, Handle, Handle *))

typedef struct {
#define X(name, arguments) int(*name) arguments;
    MPI_FUNCTIONS(X)
#undef X
} Mpi;

enum { TIMING_EACH = 0, TIMING_TOTAL = 1 };
enum { SYNC_LONGS = 64 }; /* more than any library needs */

/* The arguments of a kernel, set before it runs; none of them changes while it runs.
 * `labkit.kernels.native._fields` mirrors this structure. */
typedef struct {
    const Mpi *mpi;
    const struct shmem *shmem; /* shmem.h */
    long *sync;                /* two synchronisation arrays of OpenSHMEM, SYNC_LONGS each */
    Handle comm, datatype, op, byte, win, group, info;
    File file;
    void *requests; /* window handles */
    void *statuses; /* window statuses: real memory, never MPI_STATUS_IGNORE, whose value depends on the library */
    char *send, *recv;
    char *extra;               /* a third buffer, for the few calls that take one */
    char *scratch;             /* 64 bytes: for acknowledgements, and from LOOP_AT on the time of the timed loop */
    const char *path;          /* of a file */
    const Handle *types;       /* one for each rank, for the w forms */
    const Handle *comms;       /* parts of the ranks, for the benchmarks that have them */
    const int32_t *counts;     /* elements of each rank's message, for the v forms */
    const int32_t *displs;     /* its displacement, in elements */
    const int32_t *bytes;      /* its displacement, in bytes, for the w forms */
    const int64_t *far_bytes;  /* the same as MPI_Aint; for windows, where each of the peers' parts begins */
    const int32_t *peers;      /* neighbours in pairs of opposite directions, or a table of partners */
    const int64_t *places;     /* offsets of the buffers of successive messages, or of transfers in a file */
    const char *own_path;      /* of the file that this rank wrote, where it reads that of another */
    const int64_t *own_places; /* likewise */
    int64_t *time_ns;          /* phases x iterations values; one value with TIMING_TOTAL */
    int64_t iterations, warmup;
    int64_t stride;             /* bytes between the messages of a window; 0: all use the same buffer */
    int64_t offset;             /* of this rank in a file; bytes */
    int64_t slot_ns;            /* iterations start at multiples of this time; 0: they do not */
    int64_t start_ns, ahead_ns; /* start of the first one on rank 0's clock; how far this clock is ahead */
    int64_t deadline_ns;        /* after so long a rank begins no further transfer; 0: it does them all */
    int32_t count;              /* elements of datatype in one message */
    int32_t rank, ranks, peer, source, left, right, root, window;
    int32_t npeers, nplaces;
    int32_t active;   /* whether this rank times in patterns of pairs */
    int32_t rotate;   /* the root of iteration i is rank i % ranks */
    int32_t timing;   /* TIMING_EACH: OSU's definition; TIMING_TOTAL: IMB's */
    int32_t isolated; /* a barrier after every iteration, outside the timed part */
    int32_t turns;    /* who acts in a one-sided epoch: one_sided.c */
    int32_t lock;     /* MPI_LOCK_SHARED of this library */
    int32_t seek_set; /* MPI_SEEK_SET */
    int32_t amode;    /* how a file is opened */
    int32_t mode;     /* meaning depends on the kernel: see its file */
    int32_t overlap;  /* compute while a request is under way */
    int32_t tests;    /* calls of MPI_Test during the computation */
    int32_t clock;    /* clock id, for the clock's own kernel */
    int32_t allocate; /* whether MPI allocates a window's memory, where a kernel makes its own windows */
    int32_t wear_out; /* after the deadline, every rank goes on to as many transfers as the fastest one made */
    int32_t drop;     /* drop the file from the page cache before it is read */
    int32_t rewrite;  /* write the file again before it is read */
} Arguments;

/* int64 ns: exact at any uptime, where a double counting seconds is not. */
static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* With synchronised cadence: wait for the start of the iteration, on the common clock. */
static inline void await_slot(const Arguments *args, int64_t iteration)
{
    if (!args->slot_ns) return;
    const int64_t start_ns = args->start_ns + args->ahead_ns + (args->warmup + iteration) * args->slot_ns;
    while (now_ns() < start_ns) continue;
}

/* Every kernel is `KERNEL(name) { … }` and returns 0, the MPI error code, or an errno with a minus. */
#define KERNEL(name) __attribute__((visibility("default"))) int kernel_##name(const Arguments *args)

#define TRY(call)                \
    do {                         \
        int code_ = (call);      \
        if (code_) return code_; \
    } while (0)

/* Whether a file has the bytes up to `end`: an MPI may call a collective write done that found no space.
 * It is opened for this: NFS answers a plain stat from what it remembers of the attributes. */
static inline int file_reaches(const char *path, int64_t end)
{
    struct stat status;
    const int file = open(path, O_RDONLY);
    if (file < 0) return -errno;
    const int failed = fstat(file, &status) ? -errno : 0;
    close(file);
    if (failed) return failed;
    return status.st_size < end ? -ENOSPC : 0;
}

/* One iteration before or in the timed part: i_ counts from -warmup. ROOT is its root. */
#define ROOT root_
#define CHOOSE_ROOT                                                                         \
    const int root_ = args->rotate ? (int)((i_ + args->warmup) % args->ranks) : args->root; \
    (void)root_;

/* Warm up, then time: WORK lies between the clock reads, RECORD (which may set PHASE(k)) and AFTER
 * follow them. */
#define TIMED_RECORD(WORK, RECORD, AFTER)                       \
    do {                                                        \
        for (int64_t i_ = -args->warmup; i_ < 0; i_++) {        \
            CHOOSE_ROOT await_slot(args, i_);                   \
            WORK AFTER                                          \
        }                                                       \
        if (args->timing == TIMING_EACH) {                      \
            const int64_t began_ = now_ns();                    \
            for (int64_t i_ = 0; i_ < args->iterations; i_++) { \
                CHOOSE_ROOT await_slot(args, i_);               \
                int64_t start_ = now_ns();                      \
                WORK args->time_ns[i_] = now_ns() - start_;     \
                RECORD AFTER                                    \
            }                                                   \
            LOOP_NS = now_ns() - began_;                        \
        } else {                                                \
            int64_t start_ = now_ns();                          \
            for (int64_t i_ = 0; i_ < args->iterations; i_++) { \
                CHOOSE_ROOT                                     \
                WORK AFTER                                      \
            }                                                   \
            args->time_ns[0] = now_ns() - start_;               \
        }                                                       \
    } while (0)

/* ns around all timed iterations with their clock reads, as OSU's one-sided tests count them. */
#define LOOP_AT 56
#define LOOP_NS (*(int64_t *)(void *)(args->scratch + LOOP_AT))

#define TIMED(WORK, AFTER) TIMED_RECORD(WORK, , AFTER)

/* Phase k of the iteration; phase 0 is the time of WORK. */
#define PHASE(k) args->time_ns[(k) * args->iterations + i_]

/* The other side of a TIMED loop: as many iterations, no clock. */
#define UNTIMED(WORK)                                                   \
    do {                                                                \
        for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) { \
            WORK                                                        \
        }                                                               \
    } while (0)

/* MPI calls with the kernel's arguments filled in. */
#define SEND(buffer, tag) TRY(args->mpi->Send(buffer, args->count, args->datatype, args->peer, tag, args->comm));
#define RECV(buffer, tag) \
    TRY(args->mpi->Recv(buffer, args->count, args->datatype, args->source, tag, args->comm, args->statuses));
#define ISEND(j, tag)                                                                                               \
    TRY(args->mpi->Isend(args->send + (j) * args->stride, args->count, args->datatype, args->peer, tag, args->comm, \
                         (Handle *)args->requests + (j)));
#define IRECV(j, tag)                                                                                                 \
    TRY(args->mpi->Irecv(args->recv + (j) * args->stride, args->count, args->datatype, args->source, tag, args->comm, \
                         (Handle *)args->requests + (j)));
#define WAITALL(n) TRY(args->mpi->Waitall(n, (Handle *)args->requests, args->statuses));
#define BARRIER_IF_ISOLATED \
    if (args->isolated) TRY(args->mpi->Barrier(args->comm));

#endif
