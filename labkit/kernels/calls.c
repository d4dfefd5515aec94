/* The calls of a message, each timed by itself. */
#include "kernel.h"

enum { MESSAGE = 100, ANSWER = 101, ANSWER_SIZE = 4 };

/* Ping-pong. Phase 1: post the send. 2: the last poll that found nothing. 3: the poll that found the message. 4: complete
 * the send. 5: post the receive, before the send. Without a poll that found nothing, phase 2 is that of the iteration
 * before. */
KERNEL(call_times)
{
    Handle *out = args->requests, *in = out + 1;
    int64_t posting = 0, polling = 0, finding = 0, completing = 0, expecting = 0;
    if (args->active)
        TIMED_RECORD(
            const int64_t begin = now_ns();
            TRY(args->mpi->Irecv(args->recv, args->count, args->datatype, args->source, 1, args->comm, in));
            const int64_t expected = now_ns();
            TRY(args->mpi->Isend(args->send, args->count, args->datatype, args->peer, 1, args->comm, out));
            int64_t last = now_ns();
            posting = last - expected;
            expecting = expected - begin;
            for (int done = 0; !done;) {
                TRY(args->mpi->Test(in, &done, args->statuses));
                const int64_t now = now_ns();
                if (done)
                    finding = now - last;
                else
                    polling = now - last;
                last = now;
            }
            TRY(args->mpi->Wait(out, args->statuses));
            completing = now_ns() - last;,
            PHASE(1) = posting; PHASE(2) = polling; PHASE(3) = finding; PHASE(4) = completing; PHASE(5) = expecting;, );
    else if (args->peer >= 0)
        UNTIMED(RECV(args->recv, 1) SEND(args->send, 1));
    return 0;
}

/* A window of messages as in bandwidth.c. Phase 1: post all of them. 2: complete all of them. The rest of the window is
 * the answer. */
KERNEL(injection)
{
    const int window = args->window;
    int64_t posting = 0, completing = 0;
    if (args->active)
        TIMED_RECORD(
            const int64_t begin = now_ns();
            for (int j = 0; j < window; j++) ISEND(j, MESSAGE)
            const int64_t posted = now_ns();
            WAITALL(window)
            completing = now_ns() - posted;
            posting = posted - begin;
            TRY(args->mpi->Recv(args->scratch, ANSWER_SIZE, args->byte, args->peer, ANSWER, args->comm,
                                args->statuses));,
            PHASE(1) = posting; PHASE(2) = completing;, );
    else if (args->peer >= 0)
        UNTIMED(for (int j = 0; j < window; j++) IRECV(j, MESSAGE) WAITALL(window)
                TRY(args->mpi->Send(args->scratch, ANSWER_SIZE, args->byte, args->peer, ANSWER, args->comm)););
    return 0;
}
