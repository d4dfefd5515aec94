/* Every rank exchanges messages with its neighbours. Every rank times. */
#include "kernel.h"

/* Send to the right and receive from the left in one call. */
KERNEL(sendrecv)
{
    TIMED(TRY(args->mpi->Sendrecv(args->send, args->count, args->datatype, args->right, 1, args->recv, args->count,
                                 args->datatype, args->left, 1, args->comm, args->statuses));, BARRIER_IF_ISOLATED);
    return 0;
}

KERNEL(sendrecv_replace)
{
    TIMED(TRY(args->mpi->Sendrecv_replace(args->recv, args->count, args->datatype, args->right, 1, args->left, 1,
                                          args->comm, args->statuses));, BARRIER_IF_ISOLATED);
    return 0;
}

/* One message to and one from every neighbour. Directions come in pairs, 2d and 2d+1 opposite: what is sent in
 * direction k arrives from direction k ^ 1. */
KERNEL(exchange)
{
    const int n = args->npeers;
    Handle *request = args->requests;
    TIMED(for (int k = 0; k < n; k++)
              TRY(args->mpi->Irecv(args->recv + k * args->stride, args->count, args->datatype, args->peers[k], k ^ 1,
                                   args->comm, request + k));
          for (int k = 0; k < n; k++)
              TRY(args->mpi->Isend(args->send + k * args->stride, args->count, args->datatype, args->peers[k], k,
                                   args->comm, request + n + k));
          TRY(args->mpi->Waitall(2 * n, request, args->statuses));, BARRIER_IF_ISOLATED);
    return 0;
}

/* Partners from a table of npeers rows, a new row for every iteration: whom to send to, whom to receive from; -1 for
 * none. */
KERNEL(random)
{
    Handle *request = args->requests;
    const int32_t *row = args->peers;
    int64_t k = 0;
    TIMED(int n = 0;
          if (row[1] >= 0)
              TRY(args->mpi->Irecv(args->recv, args->count, args->datatype, row[1], 1, args->comm, request + n++));
          if (row[0] >= 0)
              TRY(args->mpi->Isend(args->send, args->count, args->datatype, row[0], 1, args->comm, request + n++));
          TRY(args->mpi->Waitall(n, request, args->statuses));,
          k = k + 1 == args->npeers ? 0 : k + 1; row = args->peers + 2 * k; BARRIER_IF_ISOLATED);
    return 0;
}
