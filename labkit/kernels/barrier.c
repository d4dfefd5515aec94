/* MPI_Barrier, back to back; every rank times it. */
#include "kernel.h"

KERNEL(barrier)
{
    TIMED(TRY(job->mpi->Barrier(job->comm));, );
    return 0;
}
