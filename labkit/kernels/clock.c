/* The clock itself: a sample is the time between two reads with nothing between them. */
#include "kernel.h"

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
