/* A window of messages in flight, closed by one short answer. A sample is one window. */
#include "collective.h"

enum { MESSAGE = 100, ANSWER = 101, BACK = 102, ANSWER_SIZE = 4 };

#define HEAR TRY(job->mpi->Recv(job->scratch, ANSWER_SIZE, job->byte, job->peer, ANSWER, job->comm, job->statuses));
#define TELL TRY(job->mpi->Send(job->scratch, ANSWER_SIZE, job->byte, job->peer, ANSWER, job->comm));

/* The active rank sends to its peer. */
KERNEL(bandwidth)
{
    const int window = job->window;
    if (job->active)
        TIMED(for (int j = 0; j < window; j++) ISEND(j, MESSAGE) WAITALL(window) HEAR, );
    else if (job->peer >= 0)
        UNTIMED(for (int j = 0; j < window; j++) IRECV(j, MESSAGE) WAITALL(window) TELL);
    return 0;
}

/* Both send to each other. */
KERNEL(bibandwidth)
{
    const int window = job->window;
    Handle *sends = (Handle *)job->requests + window;
#define BOTH(there, back)                                                                                        \
    for (int j = 0; j < window; j++) IRECV(j, back)                                                              \
    for (int j = 0; j < window; j++)                                                                             \
        TRY(job->mpi->Isend(job->send + j * job->stride, job->count, job->datatype, job->peer, there, job->comm, \
                            sends + j));                                                                         \
    WAITALL(2 * window)
    if (job->active)
        TIMED(BOTH(MESSAGE, BACK) HEAR, );
    else if (job->peer >= 0)
        UNTIMED(BOTH(BACK, MESSAGE) TELL);
    return 0;
}

#define OPEN_SENDS(first, tag)                                                                                     \
    for (int j = 0; j < window; j++)                                                                               \
        TRY(job->mpi->Send_init(job->send + j * job->stride, job->count, job->datatype, job->peer, tag, job->comm, \
                                first + j));
#define OPEN_RECVS(first, tag)                                                                                       \
    for (int j = 0; j < window; j++)                                                                                 \
        TRY(job->mpi->Recv_init(job->recv + j * job->stride, job->count, job->datatype, job->source, tag, job->comm, \
                                first + j));
#define AGAIN(n)                                         \
    TRY(job->mpi->Startall(n, (Handle *)job->requests)); \
    WAITALL(n)
#define FREE(n) \
    for (int j = 0; j < n; j++) TRY(job->mpi->Request_free((Handle *)job->requests + j));

/* The same two with persistent requests. */
KERNEL(bandwidth_persistent)
{
    const int window = job->window;
    Handle *all = job->requests;
    if (job->peer < 0) return 0;
    if (job->active) {
        OPEN_SENDS(all, MESSAGE)
        TIMED(AGAIN(window) HEAR, );
    } else {
        OPEN_RECVS(all, MESSAGE)
        UNTIMED(AGAIN(window) TELL);
    }
    FREE(window)
    return 0;
}

KERNEL(bibandwidth_persistent)
{
    const int window = job->window;
    Handle *all = job->requests;
    if (job->peer < 0) return 0;
    OPEN_RECVS(all, job->active ? BACK : MESSAGE)
    OPEN_SENDS(all + window, job->active ? MESSAGE : BACK)
    if (job->active)
        TIMED(AGAIN(2 * window) HEAR, );
    else
        UNTIMED(AGAIN(2 * window) TELL);
    FREE(2 * window)
    return 0;
}

/* At least half and at most all of a queue outstanding: post half of it, then wait for the older half. A sample is half
 * a queue; the queue is drained behind the loop. */
KERNEL(queue)
{
    const int half = job->window / 2;
    Handle *request = job->requests;
    int64_t turn = 0;
    char *const buffer = job->active ? job->send : job->recv;
    if (job->peer < 0) return 0;
#define POST(at)                                                                                                       \
    for (int j = 0; j < half; j++) {                                                                                   \
        char *place = buffer + ((at) + j) * job->stride;                                                               \
        TRY(job->active                                                                                                \
                ? job->mpi->Isend(place, job->count, job->datatype, job->peer, MESSAGE, job->comm, request + (at) + j) \
                : job->mpi->Irecv(place, job->count, job->datatype, job->source, MESSAGE, job->comm,                   \
                                  request + (at) + j));                                                                \
    }
#define DRAIN(at) TRY(job->mpi->Waitall(half, request + (at), job->statuses));
    POST(0)
    TIMED(POST(turn ? 0 : half) DRAIN(turn ? half : 0) turn = !turn;, );
    DRAIN(turn ? half : 0)
    if (job->active) {
        HEAR
    } else {
        TELL
    }
    return 0;
}

/* Computation between posting a window and waiting for it: phase 1 is the time it took. mode: ns of it in a window. */
KERNEL(availability)
{
    const int window = job->window;
    const int64_t steps = job->active && job->mode ? steps_for(job->mode) : 0;
    int64_t computing = 0;
    if (job->active)
        TIMED_RECORD(for (int j = 0; j < window; j++) ISEND(j, MESSAGE)
                     const int64_t begin = now_ns();
                     compute(steps);
                     computing = now_ns() - begin;
                     WAITALL(window) HEAR, PHASE(1) = computing;, );
    else if (job->peer >= 0)
        UNTIMED(for (int j = 0; j < window; j++) IRECV(j, MESSAGE) WAITALL(window) TELL);
    return 0;
}

/* Everybody to one rank (mode 0), or one rank to everybody (mode 1): a window to or from every other rank, closed by one
 * short answer for each. The one rank times. */
KERNEL(hotspot)
{
    const int window = job->window, others = job->ranks - 1, outward = job->mode;
    Handle *request = job->requests;
    const Handle comm = job->comm;
    void *statuses = job->statuses;
#define OTHER(k) ((k) + ((k) >= job->root))
#define EVERYBODY(Call, buffer, offset)                                                                             \
    for (int k = 0; k < others; k++)                                                                                \
        for (int j = 0; j < window; j++)                                                                            \
            TRY(job->mpi->Call(buffer + (offset) * job->stride, job->count, job->datatype, OTHER(k), MESSAGE, comm, \
                               request + k * window + j));                                                          \
    TRY(job->mpi->Waitall(others *window, request, statuses));
    if (job->rank == job->root) {
        if (outward)
            TIMED(EVERYBODY(Isend, job->send, j)
                  for (int k = 0; k < others; k++)
                      TRY(job->mpi->Recv(job->scratch, ANSWER_SIZE, job->byte, OTHER(k), ANSWER, comm, statuses));, );
        else
            TIMED(EVERYBODY(Irecv, job->recv, k * window + j)
                  for (int k = 0; k < others; k++)
                      TRY(job->mpi->Send(job->scratch, ANSWER_SIZE, job->byte, OTHER(k), ANSWER, comm));, );
    } else if (outward)
        UNTIMED(for (int j = 0; j < window; j++)
                    TRY(job->mpi->Irecv(job->recv + j * job->stride, job->count, job->datatype, job->root, MESSAGE, comm, request + j));
                WAITALL(window)
                TRY(job->mpi->Send(job->scratch, ANSWER_SIZE, job->byte, job->root, ANSWER, comm)););
    else
        UNTIMED(for (int j = 0; j < window; j++)
                    TRY(job->mpi->Isend(job->send + j * job->stride, job->count, job->datatype, job->root, MESSAGE, comm, request + j));
                WAITALL(window)
                TRY(job->mpi->Recv(job->scratch, ANSWER_SIZE, job->byte, job->root, ANSWER, comm, statuses)););
    return 0;
}
