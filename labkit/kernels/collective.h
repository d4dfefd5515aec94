/* A collective in its three forms, from one list of arguments: blocking, non-blocking with computation between call and
 * completion, and persistent. Every rank times. */
#ifndef LABKIT_COLLECTIVE_H
#define LABKIT_COLLECTIVE_H

#include "kernel.h"

/* Arithmetic that no compiler can leave out and no memory slows down; one step takes some tens of ns. */
static inline void compute(int64_t steps)
{
    static volatile double kept = 0.5; /* read and written, so that nothing can be worked out beforehand */
    double x = kept;
    for (int64_t i = 0; i < steps; i++)
        for (int j = 0; j < 16; j++) x = x * 0.999999 + 0.0000011;
    kept = x;
}

/* Steps that take about so long on this core. */
static inline int64_t steps_for(int64_t ns)
{
    int64_t best = INT64_MAX;
    for (int k = 0; k < 5; k++) {
        const int64_t start = now_ns();
        compute(400);
        const int64_t took = now_ns() - start;
        if (took < best) best = took;
    }
    return best > 0 ? ns * 400 / best : ns;
}

/* The computation in tests + 1 parts, with MPI_Test between them. */
static inline int compute_testing(const Job *job, int64_t steps, Handle *request)
{
    int done;
    for (int t = 0; t < job->tests; t++) {
        compute(steps / (job->tests + 1));
        TRY(job->mpi->Test(request, &done, job->statuses));
    }
    compute(steps - steps / (job->tests + 1) * job->tests);
    return 0;
}

enum { PHASE_PURE = 1, PHASE_COMPUTE, PHASE_ALONE };

/* One iteration: BEGIN and wait (pure time); the computation alone; BEGIN, computation, wait (phase 0: total time, with
 * the computation inside it). The computation is as long as the pure time was in the warm-up. Without `overlap` the
 * pure time is phase 0 and the only one. */
#define OVERLAPPED(BEGIN)                                                          \
    do {                                                                           \
        Handle *request_ = job->requests;                                          \
        int64_t pure_sum_ = 0, steps_ = 0;                                         \
        for (int64_t i_ = -job->warmup; i_ < job->iterations; i_++) {              \
            CHOOSE_ROOT await_slot(job, i_);                                       \
            int64_t start_ = now_ns();                                             \
            TRY(BEGIN);                                                            \
            TRY(job->mpi->Wait(request_, job->statuses));                          \
            const int64_t pure_ = now_ns() - start_;                               \
            BARRIER_IF_ISOLATED                                                    \
            if (!job->overlap) {                                                   \
                if (i_ >= 0) job->time_ns[i_] = pure_;                             \
                continue;                                                          \
            }                                                                      \
            if (i_ < 0) pure_sum_ += pure_;                                        \
            if (i_ == -1 || (i_ == 0 && !job->warmup))                             \
                steps_ = steps_for(job->warmup ? pure_sum_ / job->warmup : pure_); \
            start_ = now_ns();                                                     \
            compute(steps_);                                                       \
            const int64_t alone_ = now_ns() - start_;                              \
            BARRIER_IF_ISOLATED                                                    \
            start_ = now_ns();                                                     \
            TRY(BEGIN);                                                            \
            const int64_t begun_ = now_ns();                                       \
            TRY(compute_testing(job, steps_, request_));                           \
            const int64_t computed_ = now_ns();                                    \
            TRY(job->mpi->Wait(request_, job->statuses));                          \
            const int64_t total_ = now_ns() - start_;                              \
            BARRIER_IF_ISOLATED                                                    \
            if (i_ >= 0) {                                                         \
                job->time_ns[i_] = total_;                                         \
                PHASE(PHASE_PURE) = pure_;                                         \
                PHASE(PHASE_COMPUTE) = computed_ - begun_;                         \
                PHASE(PHASE_ALONE) = alone_;                                       \
            }                                                                      \
        }                                                                          \
    } while (0)

/* The persistent form is set up once, untimed; its root cannot rotate. */
#define COLLECTIVE(name, Name, IName, ...)                                             \
    KERNEL(name)                                                                       \
    {                                                                                  \
        TIMED(TRY(job->mpi->Name(__VA_ARGS__));, BARRIER_IF_ISOLATED);                  \
        return 0;                                                                      \
    }                                                                                  \
    KERNEL(i##name)                                                                    \
    {                                                                                  \
        OVERLAPPED(job->mpi->IName(__VA_ARGS__, request_));                             \
        return 0;                                                                      \
    }                                                                                  \
    static int name##_prepare(const Job *job, int root_)                               \
    {                                                                                  \
        (void)root_;                                                                   \
        return job->mpi->Name##_init(__VA_ARGS__, job->info, (Handle *)job->requests); \
    }                                                                                  \
    KERNEL(name##_persistent)                                                          \
    {                                                                                  \
        TRY(name##_prepare(job, job->root));                                           \
        OVERLAPPED(job->mpi->Start(request_));                                         \
        return job->mpi->Request_free((Handle *)job->requests);                        \
    }

#define SENT       job->send, job->count, job->datatype
#define RECEIVED   job->recv, job->count, job->datatype
#define SENT_V     job->send, job->counts, job->displs, job->datatype
#define RECEIVED_V job->recv, job->counts, job->displs, job->datatype
#define SENT_W     job->send, job->counts, job->bytes, job->types
#define RECEIVED_W job->recv, job->counts, job->bytes, job->types

#endif
