/* Ping-pong: the active rank sends and waits for the answer of the same size. A sample is one round trip. */
#include "kernel.h"

KERNEL(latency)
{
    if (args->active)
        TIMED(SEND(args->send, 1) RECV(args->recv, 1), );
    else if (args->peer >= 0)
        UNTIMED(RECV(args->recv, 1) SEND(args->send, 1));
    return 0;
}

/* The same with another buffer for every message, taken from a table in turn. */
KERNEL(latency_buffers)
{
    const int64_t *places = args->places;
    const int64_t n = args->nplaces;
    int64_t k = 0;
    if (args->active)
        TIMED(SEND(args->send + places[k], 1) RECV(args->recv + places[k], 1), k = k + 1 == n ? 0 : k + 1;);
    else if (args->peer >= 0)
        UNTIMED(RECV(args->recv + places[k], 1) SEND(args->send + places[k], 1) k = k + 1 == n ? 0 : k + 1;);
    return 0;
}

/* Both send at once, then both receive. Every rank times. */
KERNEL(pingping)
{
    Handle *request = args->requests;
    TIMED(TRY(args->mpi->Isend(args->send, args->count, args->datatype, args->peer, 1, args->comm, request));
          RECV(args->recv, 1)
          TRY(args->mpi->Wait(request, args->statuses));, );
    return 0;
}

/* Ping-pong with persistent requests. */
KERNEL(latency_persistent)
{
    Handle *out = args->requests, *in = out + 1;
    if (args->peer < 0) return 0;
    TRY(args->mpi->Send_init(args->send, args->count, args->datatype, args->peer, 1, args->comm, out));
    TRY(args->mpi->Recv_init(args->recv, args->count, args->datatype, args->source, 1, args->comm, in));
#define SEND_AGAIN              \
    TRY(args->mpi->Start(out)); \
    TRY(args->mpi->Wait(out, args->statuses));
#define RECV_AGAIN             \
    TRY(args->mpi->Start(in)); \
    TRY(args->mpi->Wait(in, args->statuses));
    if (args->active)
        TIMED(SEND_AGAIN RECV_AGAIN, );
    else
        UNTIMED(RECV_AGAIN SEND_AGAIN);
    TRY(args->mpi->Request_free(out));
    return args->mpi->Request_free(in);
}

/* How much of a ping is work of the host: phase 1 is the time inside the calls that post the send and the receive and
 * complete them once they are done. */
KERNEL(host_overhead)
{
    Handle *out = args->requests, *in = out + 1;
    int64_t posting = 0, finishing = 0;
    if (args->active)
        TIMED_RECORD(
            const int64_t begin = now_ns();
            TRY(args->mpi->Irecv(args->recv, args->count, args->datatype, args->source, 1, args->comm, in));
            TRY(args->mpi->Isend(args->send, args->count, args->datatype, args->peer, 1, args->comm, out));
            posting = now_ns() - begin;
            int done = 0;
            int64_t last = 0;
            while (!done) { last = now_ns(); TRY(args->mpi->Test(in, &done, args->statuses)); }
            finishing = now_ns() - last;
            const int64_t wait = now_ns();
            TRY(args->mpi->Wait(out, args->statuses));
            finishing += now_ns() - wait;,
            PHASE(1) = posting + finishing;, );
    else if (args->peer >= 0)
        UNTIMED(RECV(args->recv, 1) SEND(args->send, 1));
    return 0;
}

/* A round of a tournament in every iteration: each rank ping-pongs with its partner, first from the lower rank, then
 * from the higher one, so that every rank has its own time. A partner of -1 is none. A run of the kernel continues
 * after the last round of the previous run. */
KERNEL(all_pairs)
{
    const Mpi *mpi = args->mpi;
    int64_t *next = (int64_t *)args->extra;
    const int64_t n = args->npeers, from = *next;
    for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) {
        const int peer = args->peers[((from + i_) % n + n) % n];
        int64_t start = now_ns(), elapsed = now_ns() - start;
        for (int turn = 0; turn < 2 && peer >= 0; turn++) {
            const int first = (args->rank < peer) == !turn;
            start = now_ns();
            if (first) TRY(mpi->Send(args->send, args->count, args->datatype, peer, 1, args->comm));
            TRY(mpi->Recv(args->recv, args->count, args->datatype, peer, 1, args->comm, args->statuses));
            if (first)
                elapsed = now_ns() - start;
            else
                TRY(mpi->Send(args->send, args->count, args->datatype, peer, 1, args->comm));
        }
        TRY(mpi->Barrier(args->comm)); /* or rounds would collide */
        if (i_ >= 0) args->time_ns[i_] = elapsed;
    }
    *next = (from + args->iterations) % n;
    return 0;
}

/* Overhead at both ends: a send, a delay in which message and answer arrive, then the receive. The delay is three times
 * the shortest of a few untimed round trips: a disturbed one would make all iterations long. Phase 0 is both calls, 1 the
 * send, 2 the receive, 3 the delay. */
enum { TRIPS = 9 };

KERNEL(delayed_overhead)
{
    int64_t shortest = INT64_MAX, sending = 0, waiting = 0, receiving = 0;
    if (args->peer < 0) return 0;
    for (int k = 0; k < TRIPS; k++) {
        const int64_t begin = now_ns();
        if (args->active) SEND(args->send, 1)
        RECV(args->recv, 1)
        if (!args->active) SEND(args->send, 1)
        const int64_t trip = now_ns() - begin;
        if (trip < shortest) shortest = trip;
    }
    const int64_t delay = 3 * shortest;
    if (args->active)
        TIMED_RECORD(
            const int64_t begin = now_ns();
            SEND(args->send, 1)
            const int64_t sent = now_ns();
            int64_t waited = sent;
            while (waited - sent < delay) waited = now_ns();
            RECV(args->recv, 1)
            receiving = now_ns() - waited;
            sending = sent - begin;
            waiting = waited - sent;,
            PHASE(0) = sending + receiving;
            PHASE(1) = sending; PHASE(2) = receiving; PHASE(3) = waiting;, );
    else
        UNTIMED(RECV(args->recv, 1) SEND(args->send, 1));
    return 0;
}
