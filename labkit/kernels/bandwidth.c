/* Rank 0 keeps a window of messages in flight; rank 1 closes it with one short answer. A sample is one window. */
#include "kernel.h"

enum { MESSAGE = 100, ANSWER = 101, ANSWER_SIZE = 4 };

KERNEL(bandwidth)
{
    const int window = job->window;
    if (job->rank == 0)
        TIMED(for (int j = 0; j < window; j++) ISEND(j, MESSAGE)
              WAITALL
              TRY(job->mpi->Recv(job->scratch, ANSWER_SIZE, job->datatype, job->peer, ANSWER, job->comm, job->statuses));, );
    else if (job->rank == 1)
        UNTIMED(for (int j = 0; j < window; j++) IRECV(j, MESSAGE)
                WAITALL
                TRY(job->mpi->Send(job->scratch, ANSWER_SIZE, job->datatype, job->peer, ANSWER, job->comm)););
    return 0;
}
