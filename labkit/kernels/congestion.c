/* Victims time their own pattern while congestors load the network: GPCNeT in one kernel. */
#include "kernel.h"

#include <string.h>

enum { RING, RING_SYNC, ALLREDUCE, ALLTOALL, GET, PUT }; /* what victims time: args->mode */
enum { ALL_TO_ALL, INCAST, PUT_INCAST, GET_BROADCAST };  /* what a congestor does */
enum { PATTERN, SIZE, ME, MEMBERS };                     /* what peers tell a congestor of its group */
enum { ALONE, LOADED, RECOVERED };                       /* phases, in this order; args->turns of them */
enum { PHASE_LOADED, PHASE_ALONE, PHASE_RECOVERED, PHASE_CONGESTOR };
enum {
    FROM_LEFT = 81,
    FROM_RIGHT = 82,
    LOAD = 987,
    FLAG_SIZE = 4,
    ROUNDS = 8 /* between two tests whether the victims are done */
};

#define EVERY_VICTIM(WORK)                                                      \
    for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) {             \
        const int left = ring[0], right = ring[1];                              \
        (void)left, (void)right;                                                \
        const int64_t start_ = now_ns();                                        \
        WORK if (i_ >= 0) times[i_] = now_ns() - start_;                        \
        ring = ring + 2 == args->peers + args->npeers ? args->peers : ring + 2; \
    }                                                                           \
    break;

/* A new ring for every iteration, from a table that restarts in every phase. Both buffers hold the left neighbour's
 * message, then the right one's. */
static int victim(const Arguments *args, int64_t *times, Handle win)
{
    const Mpi *mpi = args->mpi;
    const Handle comm = args->comms[0], type = args->datatype;
    const int count = args->count, window = args->window;
    const int32_t *ring = args->peers;
    Handle *request = args->requests;
#define BOTH_WAYS                                                                                           \
    for (int j = 0; j < window; j++) {                                                                      \
        TRY(mpi->Irecv(args->recv, count, type, left, FROM_LEFT, comm, request + j));                       \
        TRY(mpi->Irecv(args->recv + count, count, type, right, FROM_RIGHT, comm, request + window + j));    \
    }                                                                                                       \
    for (int j = 0; j < window; j++) {                                                                      \
        TRY(mpi->Isend(args->send, count, type, left, FROM_RIGHT, comm, request + 2 * window + j));         \
        TRY(mpi->Isend(args->send + count, count, type, right, FROM_LEFT, comm, request + 3 * window + j)); \
    }                                                                                                       \
    TRY(mpi->Waitall(4 * window, request, args->statuses));
#define FLUSHED                     \
    TRY(mpi->Win_flush(left, win)); \
    TRY(mpi->Win_flush(right, win));
    switch (args->mode) {
    case RING:
        EVERY_VICTIM(BOTH_WAYS)
    case RING_SYNC:
        EVERY_VICTIM(BOTH_WAYS TRY(mpi->Barrier(comm));)
    case ALLREDUCE:
        EVERY_VICTIM(TRY(mpi->Allreduce(args->send, args->recv, count, type, args->op, comm));)
    case ALLTOALL:
        EVERY_VICTIM(TRY(mpi->Alltoall(args->send, count, type, args->recv, count, type, comm));)
    case GET:
        EVERY_VICTIM(TRY(mpi->Get(args->recv, count, type, left, count, count, type, win));
                     TRY(mpi->Get(args->recv + count, count, type, right, 0, count, type, win)); FLUSHED)
    default:
        EVERY_VICTIM(for (int j = 0; j < window; j++) {
            TRY(mpi->Put(args->send, count, type, left, count, count, type, win));
            TRY(mpi->Put(args->send + count, count, type, right, 0, count, type, win));
        } FLUSHED)
    }
    return 0;
}

/* One round of a group of congestors. Its first member is the one that receives or is read. */
static int load(const Arguments *args, Handle win)
{
    const Mpi *mpi = args->mpi;
    const int size = args->peers[SIZE], me = args->peers[ME], n = args->peers[MEMBERS];
    const Handle comm = args->comms[0];
    switch (args->peers[PATTERN]) {
    case ALL_TO_ALL:
        for (int k = 1; k < n; k++)
            TRY(mpi->Sendrecv(args->send, size, args->byte, (me + k) % n, LOAD, args->recv + (int64_t)(k - 1) * size,
                              size, args->byte, (me - k + n) % n, LOAD, comm, args->statuses));
        return 0;
    case INCAST:
        if (me) return mpi->Send(args->send, size, args->byte, 0, LOAD, comm);
        for (int k = 1; k < n; k++)
            TRY(mpi->Irecv(args->recv + (int64_t)(k - 1) * size, size, args->byte, k, LOAD, comm,
                           (Handle *)args->requests + k - 1));
        return mpi->Waitall(n - 1, args->requests, args->statuses);
    case PUT_INCAST:
        if (!me) return 0;
        TRY(mpi->Put(args->send, size, args->byte, 0, (int64_t)(me - 1) * size, size, args->byte, win));
        return mpi->Win_flush(0, win);
    default:
        if (!me) return 0;
        TRY(mpi->Get(args->recv, size, args->byte, 0, 0, size, args->byte, win));
        return mpi->Win_flush(0, win);
    }
}

/* Load the network until all victims have reached the second barrier; `round_ns` is the mean time of a round. The first
 * member of a group tests for it and tells the others. */
static int congest(const Arguments *args, Handle win, int64_t *round_ns)
{
    const Mpi *mpi = args->mpi;
    Handle start, stop;
    int64_t rounds = 0;
    int over = 0;
    for (int k = 0; k < ROUNDS; k++) TRY(load(args, win));
    TRY(mpi->Ibarrier(args->comm, &start));
    TRY(load(args, win));
    TRY(mpi->Wait(&start, args->statuses));
    TRY(mpi->Ibarrier(args->comm, &stop));
    const int64_t begun = now_ns();
    for (; !over; rounds += ROUNDS) {
        for (int k = 0; k < ROUNDS; k++) TRY(load(args, win));
        if (!args->peers[ME]) TRY(mpi->Test(&stop, &over, args->statuses));
        TRY(mpi->Barrier(args->comms[0])); /* or the first member would run ahead of the others */
        args->scratch[0] = (char)over;
        TRY(mpi->Bcast(args->scratch, FLAG_SIZE, args->byte, 0, args->comms[0]));
        over = args->scratch[0];
    }
    *round_ns = (now_ns() - begun) / rounds;
    return args->peers[ME] ? mpi->Wait(&stop, args->statuses) : 0;
}

/* Exposed memory: that of the message buffers, or memory that MPI allocated, as in GPCNeT. */
typedef struct {
    Handle handle;
    int opened, read;
    int64_t size;
    void *base;
} Window;

/* Open a window if the pattern is one-sided, one part of the ranks after the other: Open MPI 4.1 names the shared
 * memory of a window after its communicator, and disjoint communicators have the same name. */
static int open_window(const Arguments *args, int congestor, Window *win)
{
    const Mpi *mpi = args->mpi;
    const int pattern = congestor ? args->peers[PATTERN] : args->mode;
    win->read = pattern == (congestor ? GET_BROADCAST : GET);
    win->size =
        congestor ? (int64_t)args->peers[SIZE] * (win->read ? 1 : args->peers[MEMBERS]) : 2 * (int64_t)args->count;
    win->base = win->read ? args->send : args->recv;
    int32_t first = args->rank;
    TRY(mpi->Bcast(&first, sizeof first, args->byte, 0, args->comms[0]));
    win->opened = pattern >= (congestor ? PUT_INCAST : GET);
    for (int turn = 0; turn < args->ranks; turn++) {
        if (win->opened && turn == first) {
            if (args->allocate) {
                TRY(mpi->Win_allocate(win->size, 1, args->info, args->comms[0], &win->base, &win->handle));
                memcpy(win->base, win->read ? args->send : args->recv, (size_t)win->size);
            } else
                TRY(mpi->Win_create(win->base, win->size, 1, args->info, args->comms[0], &win->handle));
            TRY(mpi->Win_lock_all(0, win->handle));
        }
        TRY(mpi->Barrier(args->comm));
    }
    return 0;
}

/* Copy what was put into memory of MPI to the receive buffer, where it is verified. A barrier has passed since then. */
static int close_window(const Arguments *args, Window *win)
{
    if (!win->opened) return 0;
    TRY(args->mpi->Win_unlock_all(win->handle));
    TRY(args->mpi->Barrier(args->comms[0]));
    if (args->allocate && !win->read) memcpy(args->recv, win->base, (size_t)win->size);
    return args->mpi->Win_free(&win->handle);
}

KERNEL(victims)
{
    static const int order[] = {PHASE_ALONE, PHASE_LOADED, PHASE_RECOVERED};
    const Mpi *mpi = args->mpi;
    Handle meeting;
    Window win = {.handle = args->win};
    int64_t round_ns = 0;
    TRY(open_window(args, !args->active, &win));
    for (int phase = 0; phase < args->turns; phase++) {
        int64_t *const times = args->time_ns + (args->turns == 1 ? 0 : order[phase]) * args->iterations;
        TRY(mpi->Barrier(args->comm));
        if (!args->active) {
            if (phase == LOADED) TRY(congest(args, win.handle, &round_ns));
            continue;
        }
        if (phase == LOADED) {
            TRY(mpi->Ibarrier(args->comm, &meeting));
            TRY(mpi->Wait(&meeting, args->statuses));
        }
        TRY(victim(args, times, win.handle));
        if (phase == LOADED) {
            TRY(mpi->Ibarrier(args->comm, &meeting));
            TRY(mpi->Wait(&meeting, args->statuses));
        }
    }
    TRY(close_window(args, &win));
    if (args->turns == 1) return 0;
    int64_t *const every = (int64_t *)args->extra;
    int64_t sum = 0, congestors = 0;
    TRY(mpi->Allgather(&round_ns, sizeof round_ns, args->byte, every, sizeof round_ns, args->byte, args->comm));
    for (int r = 0; r < args->ranks; r++) sum += every[r], congestors += every[r] > 0;
    for (int64_t i_ = 0; i_ < args->iterations; i_++) PHASE(PHASE_CONGESTOR) = congestors ? sum / congestors : 0;
    return 0;
}

/* The congestors without victims. */
KERNEL(loads)
{
    Window win = {.handle = args->win};
    TRY(open_window(args, 1, &win));
    TIMED(TRY(load(args, win.handle));, if (i_ % ROUNDS == 0) TRY(args->mpi->Barrier(args->comms[0])););
    return close_window(args, &win);
}
