/* Communication of applications: what a time step sends. Every rank times. */
#include "kernel.h"

enum { NANO = 1000000000 };

/* Sleep where the application would compute, then one message to and one from every neighbour. A row of the table is a
 * neighbour: its rank, the elements of the message, the place of both buffers in elements, and the direction; what is
 * sent in direction k arrives from direction k ^ 1. Phase 1 is the time without the sleep. */
KERNEL(halo)
{
    enum { WHO, COUNT, PLACE, WAY, ROW };
    const int n = job->npeers / ROW;
    const struct timespec rest = {job->places[0] / NANO, job->places[0] % NANO};
    Handle *request = job->requests;
    int64_t begun = 0;
    TIMED_RECORD(
        if (job->places[0]) nanosleep(&rest, NULL);
        begun = now_ns();
        for (const int32_t *to = job->peers; to < job->peers + n * ROW; to += ROW)
            TRY(job->mpi->Irecv(job->recv + to[PLACE] * job->stride, to[COUNT], job->datatype, to[WHO], to[WAY] ^ 1, job->comm,
                                request++));
        for (const int32_t *to = job->peers; to < job->peers + n * ROW; to += ROW)
            TRY(job->mpi->Isend(job->send + to[PLACE] * job->stride, to[COUNT], job->datatype, to[WHO], to[WAY], job->comm,
                                request++));
        request = job->requests;
        TRY(job->mpi->Waitall(2 * n, request, job->statuses));,
        PHASE(1) = now_ns() - begun;, BARRIER_IF_ISOLATED);
    return 0;
}

/* MPI_Alltoall in the rows, then the columns, then the pillars of a grid; with a count of 0 that one is left out. */
KERNEL(alltoall_3d)
{
    TIMED(for (int d = 0; d < 3; d++)
              if (job->counts[d])
                  TRY(job->mpi->Alltoall(job->send + job->far_bytes[d], job->counts[d], job->datatype, job->recv + job->far_bytes[d],
                                         job->counts[d], job->datatype, job->comms[d]));, BARRIER_IF_ISOLATED);
    return 0;
}
