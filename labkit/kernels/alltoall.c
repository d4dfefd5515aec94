/* MPI_Alltoall; every rank times it. Every rank sends a message of its own to each. */
#include "kernel.h"

KERNEL(alltoall)
{
    TIMED(TRY(job->mpi->Alltoall(job->send, job->count, job->datatype, job->recv, job->count, job->datatype, job->comm));, BARRIER_IF_ISOLATED);
    return 0;
}
