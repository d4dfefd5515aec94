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

void drop_last(Mpi *table, Handle comm_self)
{
    original = *table, self = comm_self;
    table->Send = drop_send, table->Isend = drop_isend, table->Bcast = drop_bcast, table->Allreduce = drop_allreduce;
}

void wrong_rank(Mpi *table, Handle comm_self)
{
    original = *table, self = comm_self;
    table->Send = wrong_send, table->Isend = wrong_isend, table->Bcast = wrong_bcast, table->Allreduce = wrong_allreduce;
}
