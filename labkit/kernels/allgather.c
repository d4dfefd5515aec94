/* MPI_Allgather; every rank times it. Every rank receives the message of each. */
#include "kernel.h"

KERNEL(allgather)
{
    TIMED(TRY(job->mpi->Allgather(job->send, job->count, job->datatype, job->recv, job->count, job->datatype, job->comm));, BARRIER_IF_ISOLATED);
    return 0;
}
