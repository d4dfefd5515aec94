/* MPI_Scatter from the root; every rank times it. The root sends a message to each rank, itself among them. */
#include "kernel.h"

KERNEL(scatter)
{
    TIMED(TRY(job->mpi->Scatter(job->send, job->count, job->datatype, job->recv, job->count, job->datatype, job->root, job->comm));, BARRIER_IF_ISOLATED);
    return 0;
}
