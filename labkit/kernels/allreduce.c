/* MPI_Allreduce; every rank times it. */
#include "kernel.h"

KERNEL(allreduce)
{
    TIMED(TRY(job->mpi->Allreduce(job->send, job->recv, job->count, job->datatype, job->op, job->comm));,
          BARRIER_IF_ISOLATED);
    return 0;
}
