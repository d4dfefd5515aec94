/* MPI calls for buffers in device memory over an MPI that knows nothing of it: what a program does that copies itself.
 *
 * Each call copies the data that it sends from the device to pinned host memory first, and what it received back
 * afterwards, whole messages at a time. Python puts this table in the place of MPI's own (`labkit_staged`), so every
 * kernel runs over it unchanged. One point at a time uses it, from one thread. Addresses outside the two buffers
 * (scratch, MPI_IN_PLACE, buffers on the host) go to MPI as they are. */
#include "device.h"

enum { MOST = 2 * 65536 }; /* receives that may be pending: two windows */

static Mpi table;
static const Mpi *mpi;
static const Gpu *gpu;
static struct {
    char *device;
    int64_t bytes;
} pending[MOST];
static int npending;

/* The place of a device address in pinned host memory; the address itself if it is in neither buffer. */
static char *mirror(const void *buffer)
{
    char *at = (char *)(uintptr_t)buffer;
    for (int k = 0; k < 2; k++)
        if (gpu->device[k] && at >= gpu->device[k] && at < gpu->device[k] + gpu->room[k])
            return gpu->host[k] + (at - gpu->device[k]);
    return at;
}

static int to_host(const void *buffer, int64_t bytes)
{
    char *host = mirror(buffer);
    if (host != buffer && bytes) TRY_CUDA(gpu->cuda->MemcpyDtoH_v2(host, (Address)(uintptr_t)buffer, (size_t)bytes));
    return 0;
}

static int to_device(void *buffer, int64_t bytes)
{
    char *host = mirror(buffer);
    if (host != buffer && bytes) TRY_CUDA(gpu->cuda->MemcpyHtoD_v2((Address)(uintptr_t)buffer, host, (size_t)bytes));
    return 0;
}

#define BYTES(count) ((int64_t)(count) * gpu->itemsize)

/* Copy back what the requests that have ended received. */
static int received(void)
{
    for (int k = 0; k < npending; k++) TRY(to_device(pending[k].device, pending[k].bytes));
    npending = 0;
    return 0;
}

static int send(const void *buffer, int count, Handle type, int peer, int tag, Handle comm)
{
    TRY(to_host(buffer, BYTES(count)));
    return mpi->Send(mirror(buffer), count, type, peer, tag, comm);
}

static int recv(void *buffer, int count, Handle type, int peer, int tag, Handle comm, void *status)
{
    TRY(mpi->Recv(mirror(buffer), count, type, peer, tag, comm, status));
    return to_device(buffer, BYTES(count));
}

static int isend(const void *buffer, int count, Handle type, int peer, int tag, Handle comm, Handle *request)
{
    TRY(to_host(buffer, BYTES(count)));
    return mpi->Isend(mirror(buffer), count, type, peer, tag, comm, request);
}

static int irecv(void *buffer, int count, Handle type, int peer, int tag, Handle comm, Handle *request)
{
    if (npending == MOST) TRY(received());
    if (mirror(buffer) != buffer) {
        pending[npending].device = buffer;
        pending[npending++].bytes = BYTES(count);
    }
    return mpi->Irecv(mirror(buffer), count, type, peer, tag, comm, request);
}

static int waitall(int count, Handle *requests, void *statuses)
{
    TRY(mpi->Waitall(count, requests, statuses));
    return received();
}

static int wait(Handle *request, void *status)
{
    TRY(mpi->Wait(request, status));
    return received();
}

static int bcast(void *buffer, int count, Handle type, int root, Handle comm)
{
    if (gpu->rank == root) TRY(to_host(buffer, BYTES(count)));
    TRY(mpi->Bcast(mirror(buffer), count, type, root, comm));
    return gpu->rank == root ? 0 : to_device(buffer, BYTES(count));
}

#define ROOTED(name, Name, out, back)                                                                       \
    static int name(const void *from, int count, Handle type, void *to, int rcount, Handle rtype, int root, \
                    Handle comm)                                                                            \
    {                                                                                                       \
        TRY(to_host(from, out));                                                                            \
        TRY(mpi->Name(mirror(from), count, type, mirror(to), rcount, rtype, root, comm));                   \
        return to_device(to, back);                                                                         \
    }
ROOTED(gather, Gather, BYTES(count), gpu->rank == root ? BYTES(rcount) * gpu->ranks : 0)
ROOTED(scatter, Scatter, gpu->rank == root ? BYTES(count) * gpu->ranks : 0, BYTES(rcount))

#define EVERY(name, Name, out)                                                                                 \
    static int name(const void *from, int count, Handle type, void *to, int rcount, Handle rtype, Handle comm) \
    {                                                                                                          \
        TRY(to_host(from, out));                                                                               \
        TRY(mpi->Name(mirror(from), count, type, mirror(to), rcount, rtype, comm));                            \
        return to_device(to, BYTES(rcount) * gpu->ranks);                                                      \
    }
EVERY(allgather, Allgather, BYTES(count))
EVERY(alltoall, Alltoall, BYTES(count) * gpu->ranks)

static int reduce(const void *from, void *to, int count, Handle type, Handle op, int root, Handle comm)
{
    TRY(to_host(from, BYTES(count)));
    TRY(mpi->Reduce(mirror(from), mirror(to), count, type, op, root, comm));
    return gpu->rank == root ? to_device(to, BYTES(count)) : 0;
}

static int allreduce(const void *from, void *to, int count, Handle type, Handle op, Handle comm)
{
    TRY(to_host(from, BYTES(count)));
    TRY(mpi->Allreduce(mirror(from), mirror(to), count, type, op, comm));
    return to_device(to, BYTES(count));
}

static int reduce_scatter_block(const void *from, void *to, int count, Handle type, Handle op, Handle comm)
{
    TRY(to_host(from, BYTES(count) * gpu->ranks));
    TRY(mpi->Reduce_scatter_block(mirror(from), mirror(to), count, type, op, comm));
    return to_device(to, BYTES(count));
}

/* The table for a point. Functions that no kernel of the family gpu calls are NULL in it. */
__attribute__((visibility("default"))) const void *labkit_staged(const Mpi *genuine, const Gpu *of)
{
    mpi = genuine, gpu = of, npending = 0;
    table = (Mpi){
        .Send = send,
        .Recv = recv,
        .Isend = isend,
        .Irecv = irecv,
        .Waitall = waitall,
        .Wait = wait,
        .Barrier = genuine->Barrier,
        .Bcast = bcast,
        .Gather = gather,
        .Scatter = scatter,
        .Allgather = allgather,
        .Alltoall = alltoall,
        .Reduce = reduce,
        .Allreduce = allreduce,
        .Reduce_scatter_block = reduce_scatter_block,
    };
    return &table;
}
