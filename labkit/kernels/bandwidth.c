/* A window of messages in flight, closed by one short answer. A sample is one window. */
#include "collective.h"

enum { MESSAGE = 100, ANSWER = 101, BACK = 102, ANSWER_SIZE = 4 };

#define RECV_ANSWER \
    TRY(args->mpi->Recv(args->scratch, ANSWER_SIZE, args->byte, args->peer, ANSWER, args->comm, args->statuses));
#define SEND_ANSWER TRY(args->mpi->Send(args->scratch, ANSWER_SIZE, args->byte, args->peer, ANSWER, args->comm));

/* The active rank sends to its peer. */
KERNEL(bandwidth)
{
    const int window = args->window;
    if (args->active)
        TIMED(for (int j = 0; j < window; j++) ISEND(j, MESSAGE) WAITALL(window) RECV_ANSWER, );
    else if (args->peer >= 0)
        UNTIMED(for (int j = 0; j < window; j++) IRECV(j, MESSAGE) WAITALL(window) SEND_ANSWER);
    return 0;
}

/* Both send to each other. */
KERNEL(bibandwidth)
{
    const int window = args->window;
    Handle *sends = (Handle *)args->requests + window;
#define BOTH(there, back)                                                                                   \
    for (int j = 0; j < window; j++) IRECV(j, back)                                                         \
    for (int j = 0; j < window; j++)                                                                        \
        TRY(args->mpi->Isend(args->send + j * args->stride, args->count, args->datatype, args->peer, there, \
                             args->comm, sends + j));                                                       \
    WAITALL(2 * window)
    if (args->active)
        TIMED(BOTH(MESSAGE, BACK) RECV_ANSWER, );
    else if (args->peer >= 0)
        UNTIMED(BOTH(BACK, MESSAGE) SEND_ANSWER);
    return 0;
}

#define OPEN_SENDS(first, tag)                                                                                \
    for (int j = 0; j < window; j++)                                                                          \
        TRY(args->mpi->Send_init(args->send + j * args->stride, args->count, args->datatype, args->peer, tag, \
                                 args->comm, first + j));
#define OPEN_RECVS(first, tag)                                                                                  \
    for (int j = 0; j < window; j++)                                                                            \
        TRY(args->mpi->Recv_init(args->recv + j * args->stride, args->count, args->datatype, args->source, tag, \
                                 args->comm, first + j));
#define AGAIN(n)                                           \
    TRY(args->mpi->Startall(n, (Handle *)args->requests)); \
    WAITALL(n)
#define FREE(n) \
    for (int j = 0; j < n; j++) TRY(args->mpi->Request_free((Handle *)args->requests + j));

/* The same two with persistent requests. */
KERNEL(bandwidth_persistent)
{
    const int window = args->window;
    Handle *all = args->requests;
    if (args->peer < 0) return 0;
    if (args->active) {
        OPEN_SENDS(all, MESSAGE)
        TIMED(AGAIN(window) RECV_ANSWER, );
    } else {
        OPEN_RECVS(all, MESSAGE)
        UNTIMED(AGAIN(window) SEND_ANSWER);
    }
    FREE(window)
    return 0;
}

KERNEL(bibandwidth_persistent)
{
    const int window = args->window;
    Handle *all = args->requests;
    if (args->peer < 0) return 0;
    OPEN_RECVS(all, args->active ? BACK : MESSAGE)
    OPEN_SENDS(all + window, args->active ? MESSAGE : BACK)
    if (args->active)
        TIMED(AGAIN(2 * window) RECV_ANSWER, );
    else
        UNTIMED(AGAIN(2 * window) SEND_ANSWER);
    FREE(2 * window)
    return 0;
}

/* Between half of a queue and all of it is outstanding: post half of it, then wait for the older half. A sample is half
 * a queue; the queue is drained after the loop. */
KERNEL(queue)
{
    const int half = args->window / 2;
    Handle *request = args->requests;
    int64_t turn = 0;
    char *const buffer = args->active ? args->send : args->recv;
    if (args->peer < 0) return 0;
#define POST(at)                                                                                                   \
    for (int j = 0; j < half; j++) {                                                                               \
        char *place = buffer + ((at) + j) * args->stride;                                                          \
        TRY(args->active ? args->mpi->Isend(place, args->count, args->datatype, args->peer, MESSAGE, args->comm,   \
                                            request + (at) + j)                                                    \
                         : args->mpi->Irecv(place, args->count, args->datatype, args->source, MESSAGE, args->comm, \
                                            request + (at) + j));                                                  \
    }
#define DRAIN(at) TRY(args->mpi->Waitall(half, request + (at), args->statuses));
    POST(0)
    TIMED(POST(turn ? 0 : half) DRAIN(turn ? half : 0) turn = !turn;, );
    DRAIN(turn ? half : 0)
    if (args->active) {
        RECV_ANSWER
    } else {
        SEND_ANSWER
    }
    return 0;
}

/* Computation between posting a window and waiting for it: phase 1 is the time it took. mode: ns of it in a window. */
KERNEL(availability)
{
    const int window = args->window;
    const int64_t steps = args->active && args->mode ? steps_for(args->mode) : 0;
    int64_t computing = 0;
    if (args->active)
        TIMED_RECORD(for (int j = 0; j < window; j++) ISEND(j, MESSAGE)
                     const int64_t begin = now_ns();
                     compute(steps);
                     computing = now_ns() - begin;
                     WAITALL(window) RECV_ANSWER, PHASE(1) = computing;, );
    else if (args->peer >= 0)
        UNTIMED(for (int j = 0; j < window; j++) IRECV(j, MESSAGE) WAITALL(window) SEND_ANSWER);
    return 0;
}

/* All ranks to one (mode 0), or one rank to all (mode 1): a window to or from every other rank, closed by one short
 * answer for each. The one rank times. */
KERNEL(hotspot)
{
    const int window = args->window, others = args->ranks - 1, outward = args->mode;
    Handle *request = args->requests;
    const Handle comm = args->comm;
    void *statuses = args->statuses;
#define OTHER(k) ((k) + ((k) >= args->root))
#define OTHERS(Call, buffer, offset)                                                                              \
    for (int k = 0; k < others; k++)                                                                              \
        for (int j = 0; j < window; j++)                                                                          \
            TRY(args->mpi->Call(buffer + (offset) * args->stride, args->count, args->datatype, OTHER(k), MESSAGE, \
                                comm, request + k * window + j));                                                 \
    TRY(args->mpi->Waitall(others *window, request, statuses));
    if (args->rank == args->root) {
        if (outward)
            TIMED(OTHERS(Isend, args->send, j)
                  for (int k = 0; k < others; k++)
                      TRY(args->mpi->Recv(args->scratch, ANSWER_SIZE, args->byte, OTHER(k), ANSWER, comm,
                                          statuses));, );
        else
            TIMED(OTHERS(Irecv, args->recv, k * window + j)
                  for (int k = 0; k < others; k++)
                      TRY(args->mpi->Send(args->scratch, ANSWER_SIZE, args->byte, OTHER(k), ANSWER, comm));, );
    } else if (outward)
        UNTIMED(for (int j = 0; j < window; j++)
                    TRY(args->mpi->Irecv(args->recv + j * args->stride, args->count, args->datatype, args->root,
                                         MESSAGE, comm, request + j));
                WAITALL(window)
                TRY(args->mpi->Send(args->scratch, ANSWER_SIZE, args->byte, args->root, ANSWER, comm)););
    else
        UNTIMED(for (int j = 0; j < window; j++)
                    TRY(args->mpi->Isend(args->send + j * args->stride, args->count, args->datatype, args->root,
                                         MESSAGE, comm, request + j));
                WAITALL(window)
                TRY(args->mpi->Recv(args->scratch, ANSWER_SIZE, args->byte, args->root, ANSWER, comm, statuses)););
    return 0;
}
