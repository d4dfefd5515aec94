/* MPI-IO: one request on an open file, with the sync that makes it durable; the pointer is reset
 * outside the timed part. */
#include "collective.h"

enum { INDIVIDUAL, EXPLICIT, SHARED, COLLECTIVE_INDIVIDUAL, COLLECTIVE_EXPLICIT, COLLECTIVE_SHARED };

#define AT   args->file, args->offset, buffer, args->count, args->datatype
#define NEXT args->file, buffer, args->count, args->datatype
#define SYNC \
    if (args->tests) TRY(args->mpi->File_sync(args->file));
#define REWIND                                                               \
    if (args->mode == INDIVIDUAL || args->mode == COLLECTIVE_INDIVIDUAL)     \
        TRY(args->mpi->File_seek(args->file, args->offset, args->seek_set)); \
    if (args->mode == SHARED || args->mode == COLLECTIVE_SHARED) {           \
        TRY(args->mpi->Barrier(args->comm));                                 \
        TRY(args->mpi->File_seek_shared(args->file, 0, args->seek_set));     \
    }                                                                        \
    BARRIER_IF_ISOLATED

#define REQUESTS(way, Buffer)                                                     \
    static int way##_now(const Arguments *args, Buffer buffer)                    \
    {                                                                             \
        switch (args->mode) {                                                     \
        case INDIVIDUAL:                                                          \
            return args->mpi->File_##way(NEXT, args->statuses);                   \
        case EXPLICIT:                                                            \
            return args->mpi->File_##way##_at(AT, args->statuses);                \
        case SHARED:                                                              \
            return args->mpi->File_##way##_shared(NEXT, args->statuses);          \
        case COLLECTIVE_INDIVIDUAL:                                               \
            return args->mpi->File_##way##_all(NEXT, args->statuses);             \
        case COLLECTIVE_EXPLICIT:                                                 \
            return args->mpi->File_##way##_at_all(AT, args->statuses);            \
        default:                                                                  \
            return args->mpi->File_##way##_ordered(NEXT, args->statuses);         \
        }                                                                         \
    }                                                                             \
    static int way##_begin(const Arguments *args, Buffer buffer, Handle *request) \
    {                                                                             \
        switch (args->mode) {                                                     \
        case INDIVIDUAL:                                                          \
            return args->mpi->File_i##way(NEXT, request);                         \
        case EXPLICIT:                                                            \
            return args->mpi->File_i##way##_at(AT, request);                      \
        case COLLECTIVE_INDIVIDUAL:                                               \
            return args->mpi->File_i##way##_all(NEXT, request);                   \
        case COLLECTIVE_EXPLICIT:                                                 \
            return args->mpi->File_i##way##_at_all(AT, request);                  \
        default:                                                                  \
            return args->mpi->File_i##way##_shared(NEXT, request);                \
        }                                                                         \
    }
REQUESTS(write, const void *)
REQUESTS(read, void *)

/* Ranks that are not active take part only in the collective calls around the request. */
KERNEL(file_write)
{
    TIMED(if (args->active) TRY(write_now(args, args->send)); SYNC, REWIND);
    return 0;
}

KERNEL(file_read)
{
    TIMED(if (args->active) TRY(read_now(args, args->recv));, REWIND);
    return 0;
}

/* The non-blocking forms, with computation while the request is under way: phases as for the collectives. */
#define BEHIND(way, buffer, LAST)                                                 \
    KERNEL(file_i##way)                                                           \
    {                                                                             \
        Handle *request = args->requests;                                         \
        int64_t steps = 0, pure_sum = 0;                                          \
        for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) {           \
            int64_t start = now_ns();                                             \
            if (args->active) {                                                   \
                TRY(way##_begin(args, buffer, request));                          \
                TRY(args->mpi->Wait(request, args->statuses));                    \
            }                                                                     \
            LAST const int64_t pure = now_ns() - start;                           \
            REWIND                                                                \
            if (i_ < 0) pure_sum += pure;                                         \
            if (i_ == -1 || (i_ == 0 && !args->warmup))                           \
                steps = steps_for(args->warmup ? pure_sum / args->warmup : pure); \
            start = now_ns();                                                     \
            compute(steps);                                                       \
            const int64_t alone = now_ns() - start;                               \
            start = now_ns();                                                     \
            if (args->active) TRY(way##_begin(args, buffer, request));            \
            const int64_t begun = now_ns();                                       \
            compute(steps);                                                       \
            const int64_t computed = now_ns();                                    \
            if (args->active) TRY(args->mpi->Wait(request, args->statuses));      \
            LAST const int64_t total = now_ns() - start;                          \
            REWIND                                                                \
            if (i_ >= 0) {                                                        \
                args->time_ns[i_] = total;                                        \
                PHASE(PHASE_PURE) = pure;                                         \
                PHASE(PHASE_COMPUTE) = computed - begun;                          \
                PHASE(PHASE_ALONE) = alone;                                       \
            }                                                                     \
        }                                                                         \
        return 0;                                                                 \
    }
BEHIND(write, args->send, SYNC)
BEHIND(read, args->recv, )

/* MPI_File_open and MPI_File_close, without any data between them. */
KERNEL(file_open_close)
{
    File file;
    TIMED(TRY(args->mpi->File_open(args->comm, args->path, args->amode, args->info, &file));
          TRY(args->mpi->File_close(&file));,
          BARRIER_IF_ISOLATED);
    return 0;
}
