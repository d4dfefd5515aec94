/* The collectives, each in its three forms. A line is MPI's own call with what the job says in place of its arguments;
 * the uniform v and w forms describe the same data as the plain ones. */
#include "collective.h"

COLLECTIVE(barrier, Barrier, Ibarrier, job->comm)
COLLECTIVE(bcast, Bcast, Ibcast, job->rank == ROOT ? job->send : job->recv, job->count, job->datatype, ROOT, job->comm)
COLLECTIVE(gather, Gather, Igather, SENT, RECEIVED, ROOT, job->comm)
COLLECTIVE(gatherv, Gatherv, Igatherv, SENT, RECEIVED_V, ROOT, job->comm)
COLLECTIVE(scatter, Scatter, Iscatter, SENT, RECEIVED, ROOT, job->comm)
COLLECTIVE(scatterv, Scatterv, Iscatterv, SENT_V, RECEIVED, ROOT, job->comm)
COLLECTIVE(allgather, Allgather, Iallgather, SENT, RECEIVED, job->comm)
COLLECTIVE(allgatherv, Allgatherv, Iallgatherv, SENT, RECEIVED_V, job->comm)
COLLECTIVE(alltoall, Alltoall, Ialltoall, SENT, RECEIVED, job->comm)
COLLECTIVE(alltoallv, Alltoallv, Ialltoallv, SENT_V, RECEIVED_V, job->comm)
COLLECTIVE(alltoallw, Alltoallw, Ialltoallw, SENT_W, RECEIVED_W, job->comm)
COLLECTIVE(reduce, Reduce, Ireduce, job->send, job->recv, job->count, job->datatype, job->op, ROOT, job->comm)
COLLECTIVE(allreduce, Allreduce, Iallreduce, job->send, job->recv, job->count, job->datatype, job->op, job->comm)
COLLECTIVE(reduce_scatter, Reduce_scatter, Ireduce_scatter, job->send, job->recv, job->counts, job->datatype, job->op, job->comm)
COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block, job->send, job->recv, job->count, job->datatype, job->op, job->comm)
COLLECTIVE(scan, Scan, Iscan, job->send, job->recv, job->count, job->datatype, job->op, job->comm)
COLLECTIVE(exscan, Exscan, Iexscan, job->send, job->recv, job->count, job->datatype, job->op, job->comm)

/* On the neighbours of a communicator with a topology. */
COLLECTIVE(neighbor_allgather, Neighbor_allgather, Ineighbor_allgather, SENT, RECEIVED, job->comm)
COLLECTIVE(neighbor_allgatherv, Neighbor_allgatherv, Ineighbor_allgatherv, SENT, RECEIVED_V, job->comm)
COLLECTIVE(neighbor_alltoall, Neighbor_alltoall, Ineighbor_alltoall, SENT, RECEIVED, job->comm)
COLLECTIVE(neighbor_alltoallv, Neighbor_alltoallv, Ineighbor_alltoallv, SENT_V, RECEIVED_V, job->comm)
COLLECTIVE(neighbor_alltoallw, Neighbor_alltoallw, Ineighbor_alltoallw, job->send, job->counts, job->far_bytes, job->types, job->recv, job->counts, job->far_bytes, job->types, job->comm)

/* MPI_Reduce_local: no message at all, the cost of the arithmetic. */
KERNEL(reduce_local)
{
    TIMED(TRY(job->mpi->Reduce_local(job->send, job->recv, job->count, job->datatype, job->op));, BARRIER_IF_ISOLATED);
    return 0;
}
