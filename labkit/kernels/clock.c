/* Clocks: what a read costs, and how far the ranks' clocks are apart. */
#include "kernel.h"

/* A sample is the time between two reads with nothing between them. */
KERNEL(clock)
{
    struct timespec t;
    int64_t before, after;
    for (int64_t i = -job->warmup; i < job->iterations; i++) {
        clock_gettime((clockid_t)job->clock, &t);
        before = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
        clock_gettime((clockid_t)job->clock, &t);
        after = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
        if (i >= 0) job->time_ns[i] = after - before;
    }
    return 0;
}

/* Between rank 0 and a peer: phase 0 is how far the peer's clock is ahead, seen from rank 0, if the answer was written
 * half-way; phase 1 is the round trip. The shortest round trip bounds the error best. */
KERNEL(clock_offset)
{
    int64_t *word = (int64_t *)job->scratch;
    const int size = sizeof *word;
    for (int64_t i_ = -job->warmup; i_ < job->iterations; i_++) {
        if (job->active) {
            const int64_t start = now_ns();
            TRY(job->mpi->Send(word, size, job->byte, job->peer, 1, job->comm));
            TRY(job->mpi->Recv(word, size, job->byte, job->peer, 1, job->comm, job->statuses));
            const int64_t took = now_ns() - start;
            if (i_ >= 0) PHASE(0) = *word - (start + took / 2), PHASE(1) = took;
        } else if (job->peer >= 0) {
            TRY(job->mpi->Recv(word, size, job->byte, job->peer, 1, job->comm, job->statuses));
            *word = now_ns();
            TRY(job->mpi->Send(word, size, job->byte, job->peer, 1, job->comm));
        }
    }
    return 0;
}
