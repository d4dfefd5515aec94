/* A collective in its three forms, from one list of arguments: blocking, non-blocking with computation between call and
 * completion, and persistent. Every rank times. */
#ifndef LABKIT_COLLECTIVE_H
#define LABKIT_COLLECTIVE_H

#include "kernel.h"

/* Arithmetic that no compiler can remove and that uses no memory; one step takes some tens of ns. */
static inline void compute(int64_t steps)
{
    static volatile double state = 0.5; /* read and written, so that the compiler cannot compute anything in advance */
    double x = state;
    for (int64_t i = 0; i < steps; i++)
        for (int j = 0; j < 16; j++) x = x * 0.999999 + 0.0000011;
    state = x;
}

/* How many steps take about so many ns on this core. */
static inline int64_t steps_for(int64_t ns)
{
    int64_t best = INT64_MAX;
    for (int k = 0; k < 5; k++) {
        const int64_t start = now_ns();
        compute(400);
        const int64_t elapsed = now_ns() - start;
        if (elapsed < best) best = elapsed;
    }
    return best > 0 ? ns * 400 / best : ns;
}

/* The computation in tests + 1 parts, with MPI_Test between them. */
static inline int compute_testing(const Arguments *args, int64_t steps, Handle *request)
{
    int done;
    for (int t = 0; t < args->tests; t++) {
        compute(steps / (args->tests + 1));
        TRY(args->mpi->Test(request, &done, args->statuses));
    }
    compute(steps - steps / (args->tests + 1) * args->tests);
    return 0;
}

enum { PHASE_PURE = 1, PHASE_COMPUTE, PHASE_ALONE };

/* One iteration: BEGIN and wait (pure time); the computation alone; BEGIN, computation, wait (phase 0: total time, with
 * the computation inside it). The computation is as long as the pure time was in the warm-up. Without `overlap` the
 * pure time is phase 0 and the only one. */
#define OVERLAPPED(BEGIN)                                                            \
    do {                                                                             \
        Handle *request_ = args->requests;                                           \
        int64_t pure_sum_ = 0, steps_ = 0;                                           \
        for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) {              \
            CHOOSE_ROOT await_slot(args, i_);                                        \
            int64_t start_ = now_ns();                                               \
            TRY(BEGIN);                                                              \
            TRY(args->mpi->Wait(request_, args->statuses));                          \
            const int64_t pure_ = now_ns() - start_;                                 \
            BARRIER_IF_ISOLATED                                                      \
            if (!args->overlap) {                                                    \
                if (i_ >= 0) args->time_ns[i_] = pure_;                              \
                continue;                                                            \
            }                                                                        \
            if (i_ < 0) pure_sum_ += pure_;                                          \
            if (i_ == -1 || (i_ == 0 && !args->warmup))                              \
                steps_ = steps_for(args->warmup ? pure_sum_ / args->warmup : pure_); \
            start_ = now_ns();                                                       \
            compute(steps_);                                                         \
            const int64_t alone_ = now_ns() - start_;                                \
            BARRIER_IF_ISOLATED                                                      \
            start_ = now_ns();                                                       \
            TRY(BEGIN);                                                              \
            const int64_t begun_ = now_ns();                                         \
            TRY(compute_testing(args, steps_, request_));                            \
            const int64_t computed_ = now_ns();                                      \
            TRY(args->mpi->Wait(request_, args->statuses));                          \
            const int64_t total_ = now_ns() - start_;                                \
            BARRIER_IF_ISOLATED                                                      \
            if (i_ >= 0) {                                                           \
                args->time_ns[i_] = total_;                                          \
                PHASE(PHASE_PURE) = pure_;                                           \
                PHASE(PHASE_COMPUTE) = computed_ - begun_;                           \
                PHASE(PHASE_ALONE) = alone_;                                         \
            }                                                                        \
        }                                                                            \
    } while (0)

/* The persistent form is set up once, untimed; its root cannot rotate. */
#define COLLECTIVE(name, Name, IName, ...)                                                \
    KERNEL(name)                                                                          \
    {                                                                                     \
        TIMED(TRY(args->mpi->Name(__VA_ARGS__));, BARRIER_IF_ISOLATED);                    \
        return 0;                                                                         \
    }                                                                                     \
    KERNEL(i##name)                                                                       \
    {                                                                                     \
        OVERLAPPED(args->mpi->IName(__VA_ARGS__, request_));                               \
        return 0;                                                                         \
    }                                                                                     \
    static int name##_prepare(const Arguments *args, int root_)                           \
    {                                                                                     \
        (void)root_;                                                                      \
        return args->mpi->Name##_init(__VA_ARGS__, args->info, (Handle *)args->requests); \
    }                                                                                     \
    KERNEL(name##_persistent)                                                             \
    {                                                                                     \
        TRY(name##_prepare(args, args->root));                                            \
        OVERLAPPED(args->mpi->Start(request_));                                           \
        return args->mpi->Request_free((Handle *)args->requests);                         \
    }

#define SENT       args->send, args->count, args->datatype
#define RECEIVED   args->recv, args->count, args->datatype
#define SENT_V     args->send, args->counts, args->displs, args->datatype
#define RECEIVED_V args->recv, args->counts, args->displs, args->datatype
#define SENT_W     args->send, args->counts, args->bytes, args->types
#define RECEIVED_W args->recv, args->counts, args->bytes, args->types

#endif
