/* MPI_Bcast from the root; every rank times it. The root's message lies in its send buffer. */
#include "kernel.h"

KERNEL(bcast)
{
    void *const message = job->rank == job->root ? job->send : job->recv;
    TIMED(TRY(job->mpi->Bcast(message, job->count, job->datatype, job->root, job->comm));, BARRIER_IF_ISOLATED);
    return 0;
}
