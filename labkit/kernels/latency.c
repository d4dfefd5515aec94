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

/* Where the time of a ping goes: phase 1 is the host's share of it, the time inside the calls that post the send and the
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
            PHASE(1) = posting + finishing;, );
    else if (job->peer >= 0)
        UNTIMED(RECV(job->recv, 1) SEND(job->send, 1));
    return 0;
}

/* A round of a tournament in every iteration: each rank and its partner in it ping-pong, the lower rank first, then the
 * other way round, so that every rank has a time of its own. A partner of -1: nobody. A call goes on with the round
 * after the last one of the call before. */
KERNEL(all_pairs)
{
    const Mpi *mpi = job->mpi;
    int64_t *next = (int64_t *)job->extra;
    const int64_t n = job->npeers, from = *next;
    for (int64_t i_ = -job->warmup; i_ < job->iterations; i_++) {
        const int peer = job->peers[((from + i_) % n + n) % n];
        int64_t start = now_ns(), took = now_ns() - start;
        for (int turn = 0; turn < 2 && peer >= 0; turn++) {
            const int first = (job->rank < peer) == !turn;
            start = now_ns();
            if (first) TRY(mpi->Send(job->send, job->count, job->datatype, peer, 1, job->comm));
            TRY(mpi->Recv(job->recv, job->count, job->datatype, peer, 1, job->comm, job->statuses));
            if (first)
                took = now_ns() - start;
            else
                TRY(mpi->Send(job->send, job->count, job->datatype, peer, 1, job->comm));
        }
        TRY(mpi->Barrier(job->comm)); /* or rounds would collide */
        if (i_ >= 0) job->time_ns[i_] = took;
    }
    *next = (from + job->iterations) % n;
    return 0;
}
