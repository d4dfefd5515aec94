/* Ping-pong: the active rank sends and waits for the answer of the same size. A sample is one round trip. */
#include "kernel.h"

KERNEL(latency)
{
    if (job->active)
        TIMED(SEND(job->send, 1) RECV(job->recv, 1), );
    else if (job->peer >= 0)
        UNTIMED(RECV(job->recv, 1) SEND(job->send, 1));
    return 0;
}

/* The same with a buffer of its own for every message, taken from a table in turn. */
KERNEL(latency_buffers)
{
    const int64_t *places = job->places;
    const int64_t n = job->nplaces;
    int64_t k = 0;
    if (job->active)
        TIMED(SEND(job->send + places[k], 1) RECV(job->recv + places[k], 1), k = k + 1 == n ? 0 : k + 1;);
    else if (job->peer >= 0)
        UNTIMED(RECV(job->recv + places[k], 1) SEND(job->send + places[k], 1) k = k + 1 == n ? 0 : k + 1;);
    return 0;
}

/* Both send at once, then both receive. Every rank times. */
KERNEL(pingping)
{
    Handle *request = job->requests;
    TIMED(TRY(job->mpi->Isend(job->send, job->count, job->datatype, job->peer, 1, job->comm, request));
          RECV(job->recv, 1)
          TRY(job->mpi->Wait(request, job->statuses));, );
    return 0;
}

/* Ping-pong with persistent requests. */
KERNEL(latency_persistent)
{
    Handle *out = job->requests, *in = out + 1;
    if (job->peer < 0) return 0;
    TRY(job->mpi->Send_init(job->send, job->count, job->datatype, job->peer, 1, job->comm, out));
    TRY(job->mpi->Recv_init(job->recv, job->count, job->datatype, job->source, 1, job->comm, in));
#define SEND_AGAIN             \
    TRY(job->mpi->Start(out)); \
    TRY(job->mpi->Wait(out, job->statuses));
#define RECV_AGAIN            \
    TRY(job->mpi->Start(in)); \
    TRY(job->mpi->Wait(in, job->statuses));
    if (job->active)
        TIMED(SEND_AGAIN RECV_AGAIN, );
    else
        UNTIMED(RECV_AGAIN SEND_AGAIN);
    TRY(job->mpi->Request_free(out));
    return job->mpi->Request_free(in);
}

/* Where the time of a ping goes: lane 1 is the host's share of it, the time inside the calls that post the send and the
 * receive and take their completion once it is there. */
KERNEL(host_overhead)
{
    Handle *out = job->requests, *in = out + 1;
    int64_t posting = 0, finishing = 0;
    if (job->active)
        TIMED_RECORD(
            const int64_t begin = now_ns();
            TRY(job->mpi->Irecv(job->recv, job->count, job->datatype, job->source, 1, job->comm, in));
            TRY(job->mpi->Isend(job->send, job->count, job->datatype, job->peer, 1, job->comm, out));
            posting = now_ns() - begin;
            int done = 0;
            int64_t last = 0;
            while (!done) { last = now_ns(); TRY(job->mpi->Test(in, &done, job->statuses)); }
            finishing = now_ns() - last;
            const int64_t wait = now_ns();
            TRY(job->mpi->Wait(out, job->statuses));
            finishing += now_ns() - wait;,
            LANE(1) = posting + finishing;, );
    else if (job->peer >= 0)
        UNTIMED(RECV(job->recv, 1) SEND(job->send, 1));
    return 0;
}
