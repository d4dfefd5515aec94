/* Victims time a pattern of their own while congestors load the network beside them: GPCNeT in one call. */
#include "kernel.h"

#include <string.h>

enum { RING, RING_SYNC, ALLREDUCE, ALLTOALL, GET, PUT }; /* what victims time: job->mode */
enum { ALL_TO_ALL, INCAST, PUT_INCAST, GET_BROADCAST };  /* what a congestor does */
enum { PATTERN, SIZE, ME, MEMBERS };                     /* what peers tell a congestor of its group */
enum { ALONE, LOADED, RECOVERED };                       /* phases, in this order; job->turns of them */
enum { PHASE_LOADED, PHASE_ALONE, PHASE_RECOVERED, PHASE_CONGESTOR };
enum {
    FROM_LEFT = 81,
    FROM_RIGHT = 82,
    LOAD = 987,
    FLAG_SIZE = 4,
    ROUNDS = 8 /* between two looks whether the victims are done */
};

#define EVERY_VICTIM(WORK)                                                   \
    for (int64_t i_ = -job->warmup; i_ < job->iterations; i_++) {            \
        const int left = ring[0], right = ring[1];                           \
        (void)left, (void)right;                                             \
        const int64_t start_ = now_ns();                                     \
        WORK if (i_ >= 0) times[i_] = now_ns() - start_;                     \
        ring = ring + 2 == job->peers + job->npeers ? job->peers : ring + 2; \
    }                                                                        \
    break;

/* A new ring for every iteration, from a table that begins anew in every phase. Both buffers hold the message for or
 * from the left, then that for or from the right. */
static int victim(const Job *job, int64_t *times, Handle win)
{
    const Mpi *mpi = job->mpi;
    const Handle comm = job->comms[0], type = job->datatype;
    const int count = job->count, window = job->window;
    const int32_t *ring = job->peers;
    Handle *request = job->requests;
#define BOTH_WAYS                                                                                          \
    for (int j = 0; j < window; j++) {                                                                     \
        TRY(mpi->Irecv(job->recv, count, type, left, FROM_LEFT, comm, request + j));                       \
        TRY(mpi->Irecv(job->recv + count, count, type, right, FROM_RIGHT, comm, request + window + j));    \
    }                                                                                                      \
    for (int j = 0; j < window; j++) {                                                                     \
        TRY(mpi->Isend(job->send, count, type, left, FROM_RIGHT, comm, request + 2 * window + j));         \
        TRY(mpi->Isend(job->send + count, count, type, right, FROM_LEFT, comm, request + 3 * window + j)); \
    }                                                                                                      \
    TRY(mpi->Waitall(4 * window, request, job->statuses));
#define FLUSHED                     \
    TRY(mpi->Win_flush(left, win)); \
    TRY(mpi->Win_flush(right, win));
    switch (job->mode) {
    case RING:
        EVERY_VICTIM(BOTH_WAYS)
    case RING_SYNC:
        EVERY_VICTIM(BOTH_WAYS TRY(mpi->Barrier(comm));)
    case ALLREDUCE:
        EVERY_VICTIM(TRY(mpi->Allreduce(job->send, job->recv, count, type, job->op, comm));)
    case ALLTOALL:
        EVERY_VICTIM(TRY(mpi->Alltoall(job->send, count, type, job->recv, count, type, comm));)
    case GET:
        EVERY_VICTIM(TRY(mpi->Get(job->recv, count, type, left, count, count, type, win));
                     TRY(mpi->Get(job->recv + count, count, type, right, 0, count, type, win)); FLUSHED)
    default:
        EVERY_VICTIM(for (int j = 0; j < window; j++) {
            TRY(mpi->Put(job->send, count, type, left, count, count, type, win));
            TRY(mpi->Put(job->send + count, count, type, right, 0, count, type, win));
        } FLUSHED)
    }
    return 0;
}

/* One round of a group of congestors; its first member is who receives, or is read. */
static int load(const Job *job, Handle win)
{
    const Mpi *mpi = job->mpi;
    const int size = job->peers[SIZE], me = job->peers[ME], n = job->peers[MEMBERS];
    const Handle comm = job->comms[0];
    switch (job->peers[PATTERN]) {
    case ALL_TO_ALL:
        for (int k = 1; k < n; k++)
            TRY(mpi->Sendrecv(job->send, size, job->byte, (me + k) % n, LOAD, job->recv + (int64_t)(k - 1) * size, size,
                              job->byte, (me - k + n) % n, LOAD, comm, job->statuses));
        return 0;
    case INCAST:
        if (me) return mpi->Send(job->send, size, job->byte, 0, LOAD, comm);
        for (int k = 1; k < n; k++)
            TRY(mpi->Irecv(job->recv + (int64_t)(k - 1) * size, size, job->byte, k, LOAD, comm,
                           (Handle *)job->requests + k - 1));
        return mpi->Waitall(n - 1, job->requests, job->statuses);
    case PUT_INCAST:
        if (!me) return 0;
        TRY(mpi->Put(job->send, size, job->byte, 0, (int64_t)(me - 1) * size, size, job->byte, win));
        return mpi->Win_flush(0, win);
    default:
        if (!me) return 0;
        TRY(mpi->Get(job->recv, size, job->byte, 0, 0, size, job->byte, win));
        return mpi->Win_flush(0, win);
    }
}

/* Load the network until all victims have reached the second barrier; `round_ns` is what a round took meanwhile. The
 * first member of a group sees it, and tells the others. */
static int congest(const Job *job, Handle win, int64_t *round_ns)
{
    const Mpi *mpi = job->mpi;
    Handle start, stop;
    int64_t rounds = 0;
    int over = 0;
    for (int k = 0; k < ROUNDS; k++) TRY(load(job, win));
    TRY(mpi->Ibarrier(job->comm, &start));
    TRY(load(job, win));
    TRY(mpi->Wait(&start, job->statuses));
    TRY(mpi->Ibarrier(job->comm, &stop));
    const int64_t begun = now_ns();
    for (; !over; rounds += ROUNDS) {
        for (int k = 0; k < ROUNDS; k++) TRY(load(job, win));
        if (!job->peers[ME]) TRY(mpi->Test(&stop, &over, job->statuses));
        TRY(mpi->Barrier(job->comms[0])); /* or the first member would run ahead of the others */
        job->scratch[0] = (char)over;
        TRY(mpi->Bcast(job->scratch, FLAG_SIZE, job->byte, 0, job->comms[0]));
        over = job->scratch[0];
    }
    *round_ns = (now_ns() - begun) / rounds;
    return job->peers[ME] ? mpi->Wait(&stop, job->statuses) : 0;
}

/* What others reach into: the memory behind the message buffers, or memory that MPI allocated, as GPCNeT has it. */
typedef struct {
    Handle handle;
    int opened, read;
    int64_t size;
    void *base;
} Window;

/* A window where the pattern is one-sided. One part of the ranks after the other: Open MPI 4.1 names the shared memory
   behind a window after its communicator, and disjoint ones are named alike. */
static int open_window(const Job *job, int congestor, Window *win)
{
    const Mpi *mpi = job->mpi;
    const int pattern = congestor ? job->peers[PATTERN] : job->mode;
    win->read = pattern == (congestor ? GET_BROADCAST : GET);
    win->size = congestor ? (int64_t)job->peers[SIZE] * (win->read ? 1 : job->peers[MEMBERS]) : 2 * (int64_t)job->count;
    win->base = win->read ? job->send : job->recv;
    int32_t first = job->rank;
    TRY(mpi->Bcast(&first, sizeof first, job->byte, 0, job->comms[0]));
    win->opened = pattern >= (congestor ? PUT_INCAST : GET);
    for (int turn = 0; turn < job->ranks; turn++) {
        if (win->opened && turn == first) {
            if (job->allocate) {
                TRY(mpi->Win_allocate(win->size, 1, job->info, job->comms[0], &win->base, &win->handle));
                memcpy(win->base, win->read ? job->send : job->recv, (size_t)win->size);
            } else
                TRY(mpi->Win_create(win->base, win->size, 1, job->info, job->comms[0], &win->handle));
            TRY(mpi->Win_lock_all(0, win->handle));
        }
        TRY(mpi->Barrier(job->comm));
    }
    return 0;
}

/* What was put into memory of MPI's goes where the bytes are looked at. All have met since it was put. */
static int close_window(const Job *job, Window *win)
{
    if (!win->opened) return 0;
    TRY(job->mpi->Win_unlock_all(win->handle));
    TRY(job->mpi->Barrier(job->comms[0]));
    if (job->allocate && !win->read) memcpy(job->recv, win->base, (size_t)win->size);
    return job->mpi->Win_free(&win->handle);
}

KERNEL(victims)
{
    static const int order[] = {PHASE_ALONE, PHASE_LOADED, PHASE_RECOVERED};
    const Mpi *mpi = job->mpi;
    Handle meeting;
    Window win = {.handle = job->win};
    int64_t round_ns = 0;
    TRY(open_window(job, !job->active, &win));
    for (int phase = 0; phase < job->turns; phase++) {
        int64_t *const times = job->time_ns + (job->turns == 1 ? 0 : order[phase]) * job->iterations;
        TRY(mpi->Barrier(job->comm));
        if (!job->active) {
            if (phase == LOADED) TRY(congest(job, win.handle, &round_ns));
            continue;
        }
        if (phase == LOADED) {
            TRY(mpi->Ibarrier(job->comm, &meeting));
            TRY(mpi->Wait(&meeting, job->statuses));
        }
        TRY(victim(job, times, win.handle));
        if (phase == LOADED) {
            TRY(mpi->Ibarrier(job->comm, &meeting));
            TRY(mpi->Wait(&meeting, job->statuses));
        }
    }
    TRY(close_window(job, &win));
    if (job->turns == 1) return 0;
    int64_t *const every = (int64_t *)job->extra;
    int64_t sum = 0, congestors = 0;
    TRY(mpi->Allgather(&round_ns, sizeof round_ns, job->byte, every, sizeof round_ns, job->byte, job->comm));
    for (int r = 0; r < job->ranks; r++) sum += every[r], congestors += every[r] > 0;
    for (int64_t i_ = 0; i_ < job->iterations; i_++) PHASE(PHASE_CONGESTOR) = congestors ? sum / congestors : 0;
    return 0;
}

/* The congestors without any victim. */
KERNEL(loads)
{
    Window win = {.handle = job->win};
    TRY(open_window(job, 1, &win));
    TIMED(TRY(load(job, win.handle));, if (i_ % ROUNDS == 0) TRY(job->mpi->Barrier(job->comms[0])););
    return close_window(job, &win);
}
