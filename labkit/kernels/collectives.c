/* The collectives, each in its three forms. A line is an MPI call with the kernel's arguments; the uniform v and w
 * forms describe the same data as the plain ones. */
#include "collective.h"

COLLECTIVE(barrier, Barrier, Ibarrier, args->comm)
COLLECTIVE(bcast, Bcast, Ibcast, args->rank == ROOT ? args->send : args->recv, args->count, args->datatype, ROOT,
           args->comm)
COLLECTIVE(gather, Gather, Igather, SENT, RECEIVED, ROOT, args->comm)
COLLECTIVE(gatherv, Gatherv, Igatherv, SENT, RECEIVED_V, ROOT, args->comm)
COLLECTIVE(scatter, Scatter, Iscatter, SENT, RECEIVED, ROOT, args->comm)
COLLECTIVE(scatterv, Scatterv, Iscatterv, SENT_V, RECEIVED, ROOT, args->comm)
COLLECTIVE(allgather, Allgather, Iallgather, SENT, RECEIVED, args->comm)
COLLECTIVE(allgatherv, Allgatherv, Iallgatherv, SENT, RECEIVED_V, args->comm)
COLLECTIVE(alltoall, Alltoall, Ialltoall, SENT, RECEIVED, args->comm)
COLLECTIVE(alltoallv, Alltoallv, Ialltoallv, SENT_V, RECEIVED_V, args->comm)
COLLECTIVE(alltoallw, Alltoallw, Ialltoallw, SENT_W, RECEIVED_W, args->comm)
COLLECTIVE(reduce, Reduce, Ireduce, args->send, args->recv, args->count, args->datatype, args->op, ROOT, args->comm)
COLLECTIVE(allreduce, Allreduce, Iallreduce, args->send, args->recv, args->count, args->datatype, args->op, args->comm)
COLLECTIVE(reduce_scatter, Reduce_scatter, Ireduce_scatter, args->send, args->recv, args->counts, args->datatype,
           args->op, args->comm)
COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block, args->send, args->recv, args->count,
           args->datatype, args->op, args->comm)
COLLECTIVE(scan, Scan, Iscan, args->send, args->recv, args->count, args->datatype, args->op, args->comm)
COLLECTIVE(exscan, Exscan, Iexscan, args->send, args->recv, args->count, args->datatype, args->op, args->comm)

/* On the neighbours of a communicator with a topology. */
COLLECTIVE(neighbor_allgather, Neighbor_allgather, Ineighbor_allgather, SENT, RECEIVED, args->comm)
COLLECTIVE(neighbor_allgatherv, Neighbor_allgatherv, Ineighbor_allgatherv, SENT, RECEIVED_V, args->comm)
COLLECTIVE(neighbor_alltoall, Neighbor_alltoall, Ineighbor_alltoall, SENT, RECEIVED, args->comm)
COLLECTIVE(neighbor_alltoallv, Neighbor_alltoallv, Ineighbor_alltoallv, SENT_V, RECEIVED_V, args->comm)
COLLECTIVE(neighbor_alltoallw, Neighbor_alltoallw, Ineighbor_alltoallw, args->send, args->counts, args->far_bytes,
           args->types, args->recv, args->counts, args->far_bytes, args->types, args->comm)

/* MPI_Reduce_local: the cost of the arithmetic, without any message. */
KERNEL(reduce_local)
{
    TIMED(TRY(args->mpi->Reduce_local(args->send, args->recv, args->count, args->datatype, args->op));,
          BARRIER_IF_ISOLATED);
    return 0;
}
