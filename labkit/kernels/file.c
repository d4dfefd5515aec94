/* MPI-IO: one request on an open file, with the sync that makes it last; the pointer goes back behind the clock. */
#include "collective.h"

enum { INDIVIDUAL, EXPLICIT, SHARED, COLLECTIVE_INDIVIDUAL, COLLECTIVE_EXPLICIT, COLLECTIVE_SHARED };

#define AT   job->file, job->offset, buffer, job->count, job->datatype
#define NEXT job->file, buffer, job->count, job->datatype
#define SYNC \
    if (job->tests) TRY(job->mpi->File_sync(job->file));
#define REWIND                                                           \
    if (job->mode == INDIVIDUAL || job->mode == COLLECTIVE_INDIVIDUAL)   \
        TRY(job->mpi->File_seek(job->file, job->offset, job->seek_set)); \
    if (job->mode == SHARED || job->mode == COLLECTIVE_SHARED) {         \
        TRY(job->mpi->Barrier(job->comm));                               \
        TRY(job->mpi->File_seek_shared(job->file, 0, job->seek_set));    \
    }                                                                    \
    BARRIER_IF_ISOLATED

#define REQUESTS(way, Buffer)                                              \
    static int way##_now(const Job *job, Buffer buffer)                    \
    {                                                                      \
        switch (job->mode) {                                               \
        case INDIVIDUAL:                                                   \
            return job->mpi->File_##way(NEXT, job->statuses);              \
        case EXPLICIT:                                                     \
            return job->mpi->File_##way##_at(AT, job->statuses);           \
        case SHARED:                                                       \
            return job->mpi->File_##way##_shared(NEXT, job->statuses);     \
        case COLLECTIVE_INDIVIDUAL:                                        \
            return job->mpi->File_##way##_all(NEXT, job->statuses);        \
        case COLLECTIVE_EXPLICIT:                                          \
            return job->mpi->File_##way##_at_all(AT, job->statuses);       \
        default:                                                           \
            return job->mpi->File_##way##_ordered(NEXT, job->statuses);    \
        }                                                                  \
    }                                                                      \
    static int way##_begin(const Job *job, Buffer buffer, Handle *request) \
    {                                                                      \
        switch (job->mode) {                                               \
        case INDIVIDUAL:                                                   \
            return job->mpi->File_i##way(NEXT, request);                   \
        case EXPLICIT:                                                     \
            return job->mpi->File_i##way##_at(AT, request);                \
        case COLLECTIVE_INDIVIDUAL:                                        \
            return job->mpi->File_i##way##_all(NEXT, request);             \
        case COLLECTIVE_EXPLICIT:                                          \
            return job->mpi->File_i##way##_at_all(AT, request);            \
        default:                                                           \
            return job->mpi->File_i##way##_shared(NEXT, request);          \
        }                                                                  \
    }
REQUESTS(write, const void *)
REQUESTS(read, void *)

/* Ranks that are not active only take part in what is collective around the request. */
KERNEL(file_write)
{
    TIMED(if (job->active) TRY(write_now(job, job->send)); SYNC, REWIND);
    return 0;
}

KERNEL(file_read)
{
    TIMED(if (job->active) TRY(read_now(job, job->recv));, REWIND);
    return 0;
}

/* The non-blocking forms, with computation while the request is under way: phases as for the collectives. */
#define BEHIND(way, buffer, LAST)                                                                                      \
    KERNEL(file_i##way)                                                                                                \
    {                                                                                                                  \
        Handle *request = job->requests;                                                                               \
        int64_t steps = 0, pure_sum = 0;                                                                               \
        for (int64_t i_ = -job->warmup; i_ < job->iterations; i_++) {                                                  \
            int64_t start = now_ns();                                                                                  \
            if (job->active) {                                                                                         \
                TRY(way##_begin(job, buffer, request));                                                                \
                TRY(job->mpi->Wait(request, job->statuses));                                                           \
            }                                                                                                          \
            LAST const int64_t pure = now_ns() - start;                                                                \
            REWIND                                                                                                     \
            if (i_ < 0) pure_sum += pure;                                                                              \
            if (i_ == -1 || (i_ == 0 && !job->warmup)) steps = steps_for(job->warmup ? pure_sum / job->warmup : pure); \
            start = now_ns();                                                                                          \
            compute(steps);                                                                                            \
            const int64_t alone = now_ns() - start;                                                                    \
            start = now_ns();                                                                                          \
            if (job->active) TRY(way##_begin(job, buffer, request));                                                   \
            const int64_t begun = now_ns();                                                                            \
            compute(steps);                                                                                            \
            const int64_t computed = now_ns();                                                                         \
            if (job->active) TRY(job->mpi->Wait(request, job->statuses));                                              \
            LAST const int64_t total = now_ns() - start;                                                               \
            REWIND                                                                                                     \
            if (i_ >= 0) {                                                                                             \
                job->time_ns[i_] = total;                                                                              \
                PHASE(PHASE_PURE) = pure;                                                                              \
                PHASE(PHASE_COMPUTE) = computed - begun;                                                               \
                PHASE(PHASE_ALONE) = alone;                                                                            \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
BEHIND(write, job->send, SYNC)
BEHIND(read, job->recv, )

/* MPI_File_open and MPI_File_close, without any data between them. */
KERNEL(file_open_close)
{
    File file;
    TIMED(TRY(job->mpi->File_open(job->comm, job->path, job->amode, job->info, &file)); TRY(job->mpi->File_close(&file));,
          BARRIER_IF_ISOLATED);
    return 0;
}
