/* Communication of applications: what a time step sends. Every rank times. */
#include "kernel.h"

enum { NANO = 1000000000 };

/* Sleep where the application would compute, then one message to and one from every neighbour. A row of the table is a
 * neighbour: its rank, the elements of the message, the place of both buffers in elements, and the direction; what is
 * sent in direction k arrives from direction k ^ 1. Phase 1 is the time without the sleep. */
KERNEL(halo)
{
    enum { RANK, COUNT, PLACE, DIRECTION, ROW };
    const int n = args->npeers / ROW;
    const struct timespec rest = {args->places[0] / NANO, args->places[0] % NANO};
    Handle *request = args->requests;
    int64_t begun = 0;
    TIMED_RECORD(
        if (args->places[0]) nanosleep(&rest, NULL);
        begun = now_ns();
        for (const int32_t *to = args->peers; to < args->peers + n * ROW; to += ROW)
            TRY(args->mpi->Irecv(args->recv + to[PLACE] * args->stride, to[COUNT], args->datatype, to[RANK],
                                 to[DIRECTION] ^ 1, args->comm, request++));
        for (const int32_t *to = args->peers; to < args->peers + n * ROW; to += ROW)
            TRY(args->mpi->Isend(args->send + to[PLACE] * args->stride, to[COUNT], args->datatype, to[RANK],
                                 to[DIRECTION], args->comm, request++));
        request = args->requests;
        TRY(args->mpi->Waitall(2 * n, request, args->statuses));,
        PHASE(1) = now_ns() - begun;, BARRIER_IF_ISOLATED);
    return 0;
}

/* MPI_Alltoall in the rows, then the columns, then the pillars of a grid; a count of 0 leaves that one out. */
KERNEL(alltoall_3d)
{
    TIMED(for (int d = 0; d < 3; d++)
              if (args->counts[d])
                  TRY(args->mpi->Alltoall(args->send + args->far_bytes[d], args->counts[d], args->datatype,
                                          args->recv + args->far_bytes[d], args->counts[d], args->datatype,
                                          args->comms[d]));, BARRIER_IF_ISOLATED);
    return 0;
}
