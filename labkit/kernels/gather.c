/* MPI_Gather to the root; every rank times it. The root receives a message of each rank, its own among them. */
#include "kernel.h"

KERNEL(gather)
{
    TIMED(TRY(job->mpi->Gather(job->send, job->count, job->datatype, job->recv, job->count, job->datatype, job->root, job->comm));, BARRIER_IF_ISOLATED);
    return 0;
}
