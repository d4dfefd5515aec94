/* MPI functions with a fault, put into a kernel's table: every benchmark's verification must notice. */
#include "kernel.h"

static Mpi original;
static Handle self;

static int drop_send(const void *b, int n, Handle t, int to, int tag, Handle c) { return original.Send(b, n - (n > 4), t, to, tag, c); }
static int drop_isend(const void *b, int n, Handle t, int to, int tag, Handle c, Handle *r)
{
    return original.Isend(b, n - (n > 4), t, to, tag, c, r);
}
static int drop_bcast(void *b, int n, Handle t, int root, Handle c) { return original.Bcast(b, n - 1, t, root, c); }
static int drop_allreduce(const void *s, void *r, int n, Handle t, Handle op, Handle c)
{
    return original.Allreduce(s, r, n - 1, t, op, c);
}

static int drop_reduce(const void *s, void *r, int n, Handle t, Handle op, int root, Handle c)
{
    return original.Reduce(s, r, n - 1, t, op, root, c);
}
static int drop_gather(const void *s, int n, Handle t, void *r, int m, Handle u, int root, Handle c)
{
    return original.Gather(s, n - 1, t, r, m - 1, u, root, c);
}
static int drop_scatter(const void *s, int n, Handle t, void *r, int m, Handle u, int root, Handle c)
{
    return original.Scatter(s, n - 1, t, r, m - 1, u, root, c);
}
static int drop_allgather(const void *s, int n, Handle t, void *r, int m, Handle u, Handle c)
{
    return original.Allgather(s, n - 1, t, r, m - 1, u, c);
}
static int drop_alltoall(const void *s, int n, Handle t, void *r, int m, Handle u, Handle c)
{
    return original.Alltoall(s, n - 1, t, r, m - 1, u, c);
}

static int wrong_send(const void *b, int n, Handle t, int to, int tag, Handle c) { return original.Send(b, n, t, !to, tag, c); }
static int wrong_isend(const void *b, int n, Handle t, int to, int tag, Handle c, Handle *r)
{
    return original.Isend(b, n, t, !to, tag, c, r);
}
static int wrong_bcast(void *b, int n, Handle t, int root, Handle c) { return original.Bcast(b, n, t, !root, c); }
static int wrong_allreduce(const void *s, void *r, int n, Handle t, Handle op, Handle c)
{
    (void)c;
    return original.Allreduce(s, r, n, t, op, self);
}

static int wrong_reduce(const void *s, void *r, int n, Handle t, Handle op, int root, Handle c)
{
    return original.Reduce(s, r, n, t, op, !root, c);
}
static int wrong_gather(const void *s, int n, Handle t, void *r, int m, Handle u, int root, Handle c)
{
    return original.Gather(s, n, t, r, m, u, !root, c);
}
static int wrong_scatter(const void *s, int n, Handle t, void *r, int m, Handle u, int root, Handle c)
{
    return original.Scatter(s, n, t, r, m, u, !root, c);
}
static int wrong_allgather(const void *s, int n, Handle t, void *r, int m, Handle u, Handle c)
{
    (void)c;
    return original.Allgather(s, n, t, r, m, u, self);
}
static int wrong_alltoall(const void *s, int n, Handle t, void *r, int m, Handle u, Handle c)
{
    (void)c;
    return original.Alltoall(s, n, t, r, m, u, self);
}

void drop_last(Mpi *table, Handle comm_self)
{
    original = *table, self = comm_self;
    table->Send = drop_send, table->Isend = drop_isend, table->Bcast = drop_bcast, table->Allreduce = drop_allreduce;
    table->Reduce = drop_reduce, table->Gather = drop_gather, table->Scatter = drop_scatter;
    table->Allgather = drop_allgather, table->Alltoall = drop_alltoall;
}

void wrong_rank(Mpi *table, Handle comm_self)
{
    original = *table, self = comm_self;
    table->Send = wrong_send, table->Isend = wrong_isend, table->Bcast = wrong_bcast, table->Allreduce = wrong_allreduce;
    table->Reduce = wrong_reduce, table->Gather = wrong_gather, table->Scatter = wrong_scatter;
    table->Allgather = wrong_allgather, table->Alltoall = wrong_alltoall;
}
