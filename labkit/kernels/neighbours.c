/* Every rank talks to ranks beside it. Every rank times. */
#include "kernel.h"

/* To the right and from the left in one call. */
KERNEL(sendrecv)
{
    TIMED(TRY(job->mpi->Sendrecv(job->send, job->count, job->datatype, job->right, 1, job->recv, job->count,
                                 job->datatype, job->left, 1, job->comm, job->statuses));, BARRIER_IF_ISOLATED);
    return 0;
}

KERNEL(sendrecv_replace)
{
    TIMED(TRY(job->mpi->Sendrecv_replace(job->recv, job->count, job->datatype, job->right, 1, job->left, 1, job->comm,
                                         job->statuses));, BARRIER_IF_ISOLATED);
    return 0;
}

/* One message to and one from every neighbour. Directions come in pairs, 2d and 2d+1 opposite: what is sent in
 * direction k arrives from direction k ^ 1. */
KERNEL(exchange)
{
    const int n = job->npeers;
    Handle *request = job->requests;
    TIMED(for (int k = 0; k < n; k++)
              TRY(job->mpi->Irecv(job->recv + k * job->stride, job->count, job->datatype, job->peers[k], k ^ 1, job->comm, request + k));
          for (int k = 0; k < n; k++)
              TRY(job->mpi->Isend(job->send + k * job->stride, job->count, job->datatype, job->peers[k], k, job->comm, request + n + k));
          TRY(job->mpi->Waitall(2 * n, request, job->statuses));, BARRIER_IF_ISOLATED);
    return 0;
}

/* Partners from a table of npeers rows, a new row for every iteration: where to send, whence to receive; -1 for no one. */
KERNEL(random)
{
    Handle *request = job->requests;
    const int32_t *row = job->peers;
    int64_t k = 0;
    TIMED(int n = 0;
          if (row[1] >= 0) TRY(job->mpi->Irecv(job->recv, job->count, job->datatype, row[1], 1, job->comm, request + n++));
          if (row[0] >= 0) TRY(job->mpi->Isend(job->send, job->count, job->datatype, row[0], 1, job->comm, request + n++));
          TRY(job->mpi->Waitall(n, request, job->statuses));,
          k = k + 1 == job->npeers ? 0 : k + 1; row = job->peers + 2 * k; BARRIER_IF_ISOLATED);
    return 0;
}
