/* Clocks: the cost of a read, and the offset between the clocks of ranks. */
#include "kernel.h"

/* A sample is the time between two reads with nothing between them. */
KERNEL(clock)
{
    struct timespec t;
    int64_t before, after;
    for (int64_t i = -args->warmup; i < args->iterations; i++) {
        clock_gettime((clockid_t)args->clock, &t);
        before = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
        clock_gettime((clockid_t)args->clock, &t);
        after = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
        if (i >= 0) args->time_ns[i] = after - before;
    }
    return 0;
}

/* Between rank 0 and a peer: phase 0 is how far the peer's clock is ahead, seen from rank 0, if the answer was written
 * half-way; phase 1 is the round trip. The shortest round trip bounds the error best. */
KERNEL(clock_offset)
{
    int64_t *word = (int64_t *)args->scratch;
    const int size = sizeof *word;
    for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) {
        if (args->active) {
            const int64_t start = now_ns();
            TRY(args->mpi->Send(word, size, args->byte, args->peer, 1, args->comm));
            TRY(args->mpi->Recv(word, size, args->byte, args->peer, 1, args->comm, args->statuses));
            const int64_t trip = now_ns() - start;
            if (i_ >= 0) PHASE(0) = *word - (start + trip / 2), PHASE(1) = trip;
        } else if (args->peer >= 0) {
            TRY(args->mpi->Recv(word, size, args->byte, args->peer, 1, args->comm, args->statuses));
            *word = now_ns();
            TRY(args->mpi->Send(word, size, args->byte, args->peer, 1, args->comm));
        }
    }
    return 0;
}
