/* MPI_Reduce to the root; every rank times it. */
#include "kernel.h"

KERNEL(reduce)
{
    TIMED(TRY(job->mpi->Reduce(job->send, job->recv, job->count, job->datatype, job->op, job->root, job->comm));, BARRIER_IF_ISOLATED);
    return 0;
}
