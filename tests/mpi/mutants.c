/* MPI functions with a fault, put into a kernel's table: every benchmark's verification must notice. */
#include "kernel.h"

static Mpi original;
static Handle self;

enum { RANKS = 2 };

/* Counts of all ranks without their last element; two such lists may be needed at once. */
static const int *less(const int *counts)
{
    static int kept[4][RANKS];
    static int turn;
    int *list = kept[turn = (turn + 1) % 4];
    for (int r = 0; r < RANKS; r++) list[r] = counts[r] - (counts[r] > 0);
    return list;
}

#define UNWRAP(...) __VA_ARGS__
#define FORMS(Fault, Name, IName, Parameters, Arguments)                                                                  \
    static int Fault##_##Name(UNWRAP Parameters) { return original.Name(UNWRAP Arguments); }                              \
    static int Fault##_##IName(UNWRAP Parameters, Handle *q) { return original.IName(UNWRAP Arguments, q); }              \
    static int Fault##_##Name##_init(UNWRAP Parameters, Handle i, Handle *q)                                              \
    {                                                                                                                     \
        return original.Name##_init(UNWRAP Arguments, i, q);                                                              \
    }
#define PUT_FORMS(Fault, Name, IName) \
    table->Name = Fault##_##Name, table->IName = Fault##_##IName, table->Name##_init = Fault##_##Name##_init;

/* ---- the last element of every message is left out */

static int drop_Send(const void *b, int n, Handle t, int to, int tag, Handle c) { return original.Send(b, n - (n > 4), t, to, tag, c); }
static int drop_Isend(const void *b, int n, Handle t, int to, int tag, Handle c, Handle *r)
{
    return original.Isend(b, n - (n > 4), t, to, tag, c, r);
}
static int drop_Send_init(const void *b, int n, Handle t, int to, int tag, Handle c, Handle *r)
{
    return original.Send_init(b, n - (n > 4), t, to, tag, c, r);
}
static int drop_Sendrecv(const void *b, int n, Handle t, int to, int tag, void *r, int m, Handle u, int from, int tag2, Handle c, void *s)
{
    return original.Sendrecv(b, n - 1, t, to, tag, r, m, u, from, tag2, c, s);
}
static int drop_Sendrecv_replace(void *b, int n, Handle t, int to, int tag, int from, int tag2, Handle c, void *s)
{
    return original.Sendrecv_replace(b, n - 1, t, to, tag, from, tag2, c, s);
}

#define PLAIN (const void *s, int n, Handle t, void *r, int m, Handle u, Handle c)
#define ROOTED (const void *s, int n, Handle t, void *r, int m, Handle u, int root, Handle c)
#define GATHERED (const void *s, int n, Handle t, const void *r, const int *m, const int *d, Handle u, Handle c)
#define VECTORS (const void *s, const int *n, const int *e, Handle t, const void *r, const int *m, const int *d, Handle u, Handle c)
#define TYPED (const void *s, const int *n, const int *e, const Handle *t, const void *r, const int *m, const int *d, const Handle *u, Handle c)
#define FAR (const void *s, const int *n, const int64_t *e, const Handle *t, const void *r, const int *m, const int64_t *d, const Handle *u, Handle c)
#define COMBINED (const void *s, void *r, int n, Handle t, Handle op, Handle c)

FORMS(drop, Bcast, Ibcast, (void *b, int n, Handle t, int root, Handle c), (b, n - 1, t, root, c))
FORMS(drop, Gather, Igather, ROOTED, (s, n - 1, t, r, m - 1, u, root, c))
FORMS(drop, Scatter, Iscatter, ROOTED, (s, n - 1, t, r, m - 1, u, root, c))
FORMS(drop, Gatherv, Igatherv, (const void *s, int n, Handle t, const void *r, const int *m, const int *d, Handle u, int root, Handle c), (s, n - 1, t, r, less(m), d, u, root, c))
FORMS(drop, Scatterv, Iscatterv, (const void *s, const int *n, const int *d, Handle t, void *r, int m, Handle u, int root, Handle c), (s, less(n), d, t, r, m - 1, u, root, c))
FORMS(drop, Allgather, Iallgather, PLAIN, (s, n - 1, t, r, m - 1, u, c))
FORMS(drop, Alltoall, Ialltoall, PLAIN, (s, n - 1, t, r, m - 1, u, c))
FORMS(drop, Allgatherv, Iallgatherv, GATHERED, (s, n - 1, t, r, less(m), d, u, c))
FORMS(drop, Alltoallv, Ialltoallv, VECTORS, (s, less(n), e, t, r, less(m), d, u, c))
FORMS(drop, Alltoallw, Ialltoallw, TYPED, (s, less(n), e, t, r, less(m), d, u, c))
FORMS(drop, Reduce, Ireduce, (const void *s, void *r, int n, Handle t, Handle op, int root, Handle c), (s, r, n - 1, t, op, root, c))
FORMS(drop, Allreduce, Iallreduce, COMBINED, (s, r, n - 1, t, op, c))
FORMS(drop, Scan, Iscan, COMBINED, (s, r, n - 1, t, op, c))
FORMS(drop, Exscan, Iexscan, COMBINED, (s, r, n - 1, t, op, c))
FORMS(drop, Reduce_scatter_block, Ireduce_scatter_block, COMBINED, (s, r, n - 1, t, op, c))
FORMS(drop, Reduce_scatter, Ireduce_scatter, (const void *s, void *r, const int *n, Handle t, Handle op, Handle c), (s, r, less(n), t, op, c))
FORMS(drop, Neighbor_allgather, Ineighbor_allgather, PLAIN, (s, n - 1, t, r, m - 1, u, c))
FORMS(drop, Neighbor_alltoall, Ineighbor_alltoall, PLAIN, (s, n - 1, t, r, m - 1, u, c))
FORMS(drop, Neighbor_allgatherv, Ineighbor_allgatherv, GATHERED, (s, n - 1, t, r, less(m), d, u, c))
FORMS(drop, Neighbor_alltoallv, Ineighbor_alltoallv, VECTORS, (s, less(n), e, t, r, less(m), d, u, c))
FORMS(drop, Neighbor_alltoallw, Ineighbor_alltoallw, FAR, (s, less(n), e, t, r, less(m), d, u, c))

#define ONE (n > 1 ? n - 1 : 0)
static int drop_Put(const void *b, int n, Handle t, int to, int64_t at, int m, Handle u, Handle w) { (void)m; return original.Put(b, ONE, t, to, at, ONE, u, w); }
static int drop_Get(void *b, int n, Handle t, int to, int64_t at, int m, Handle u, Handle w) { (void)m; return original.Get(b, ONE, t, to, at, ONE, u, w); }
static int drop_Accumulate(const void *b, int n, Handle t, int to, int64_t at, int m, Handle u, Handle op, Handle w)
{
    (void)m;
    return original.Accumulate(b, ONE, t, to, at, ONE, u, op, w);
}
static int drop_Get_accumulate(const void *b, int n, Handle t, void *r, int k, Handle v, int to, int64_t at, int m, Handle u, Handle op, Handle w)
{
    (void)m, (void)k;
    return original.Get_accumulate(b, ONE, t, r, ONE, v, to, at, ONE, u, op, w);
}
static int drop_Fetch_and_op(const void *b, void *r, Handle t, int to, int64_t at, Handle op, Handle w)
{
    (void)b, (void)r, (void)t, (void)to, (void)at, (void)op, (void)w;
    return 0;
}
static int drop_Compare_and_swap(const void *b, const void *x, void *r, Handle t, int to, int64_t at, Handle w)
{
    (void)b, (void)x, (void)r, (void)t, (void)to, (void)at, (void)w;
    return 0;
}
static int drop_File_write_at(File f, int64_t at, const void *b, int n, Handle t, void *s) { return original.File_write_at(f, at, b, n - 1, t, s); }
static int drop_File_read_at(File f, int64_t at, void *b, int n, Handle t, void *s) { return original.File_read_at(f, at, b, n - 1, t, s); }
static int drop_File_iwrite_at(File f, int64_t at, const void *b, int n, Handle t, Handle *q) { return original.File_iwrite_at(f, at, b, n - 1, t, q); }
static int drop_File_iread_at(File f, int64_t at, void *b, int n, Handle t, Handle *q) { return original.File_iread_at(f, at, b, n - 1, t, q); }

void drop_last(Mpi *table, Handle comm_self)
{
    original = *table, self = comm_self;
    table->Send = drop_Send, table->Isend = drop_Isend, table->Send_init = drop_Send_init;
    table->Sendrecv = drop_Sendrecv, table->Sendrecv_replace = drop_Sendrecv_replace;
    PUT_FORMS(drop, Bcast, Ibcast)
    PUT_FORMS(drop, Gather, Igather)
    PUT_FORMS(drop, Gatherv, Igatherv)
    PUT_FORMS(drop, Scatter, Iscatter)
    PUT_FORMS(drop, Scatterv, Iscatterv)
    PUT_FORMS(drop, Allgather, Iallgather)
    PUT_FORMS(drop, Allgatherv, Iallgatherv)
    PUT_FORMS(drop, Alltoall, Ialltoall)
    PUT_FORMS(drop, Alltoallv, Ialltoallv)
    PUT_FORMS(drop, Alltoallw, Ialltoallw)
    PUT_FORMS(drop, Reduce, Ireduce)
    PUT_FORMS(drop, Allreduce, Iallreduce)
    PUT_FORMS(drop, Scan, Iscan)
    PUT_FORMS(drop, Exscan, Iexscan)
    PUT_FORMS(drop, Reduce_scatter, Ireduce_scatter)
    PUT_FORMS(drop, Reduce_scatter_block, Ireduce_scatter_block)
    PUT_FORMS(drop, Neighbor_allgather, Ineighbor_allgather)
    PUT_FORMS(drop, Neighbor_allgatherv, Ineighbor_allgatherv)
    PUT_FORMS(drop, Neighbor_alltoall, Ineighbor_alltoall)
    PUT_FORMS(drop, Neighbor_alltoallv, Ineighbor_alltoallv)
    PUT_FORMS(drop, Neighbor_alltoallw, Ineighbor_alltoallw)
    table->Put = drop_Put, table->Get = drop_Get, table->Accumulate = drop_Accumulate;
    table->Get_accumulate = drop_Get_accumulate, table->Fetch_and_op = drop_Fetch_and_op;
    table->Compare_and_swap = drop_Compare_and_swap;
    table->File_write_at = drop_File_write_at, table->File_read_at = drop_File_read_at;
    table->File_iwrite_at = drop_File_iwrite_at, table->File_iread_at = drop_File_iread_at;
}

/* ---- the wrong rank: for messages itself, for collectives the other root or nobody else, for windows its own */

static int wrong_Send(const void *b, int n, Handle t, int to, int tag, Handle c) { return original.Send(b, n, t, !to, tag, c); }
static int wrong_Isend(const void *b, int n, Handle t, int to, int tag, Handle c, Handle *r)
{
    return original.Isend(b, n, t, !to, tag, c, r);
}
static int wrong_Send_init(const void *b, int n, Handle t, int to, int tag, Handle c, Handle *r)
{
    return original.Send_init(b, n, t, !to, tag, c, r);
}
static int wrong_Sendrecv(const void *b, int n, Handle t, int to, int tag, void *r, int m, Handle u, int from, int tag2, Handle c, void *s)
{
    return original.Sendrecv(b, n, t, !to, tag, r, m, u, !from, tag2, c, s);
}
static int wrong_Sendrecv_replace(void *b, int n, Handle t, int to, int tag, int from, int tag2, Handle c, void *s)
{
    return original.Sendrecv_replace(b, n, t, !to, tag, !from, tag2, c, s);
}

#define NOBODY ((void)c, self)
FORMS(wrong, Bcast, Ibcast, (void *b, int n, Handle t, int root, Handle c), (b, n, t, !root, c))
FORMS(wrong, Gather, Igather, ROOTED, (s, n, t, r, m, u, !root, c))
FORMS(wrong, Scatter, Iscatter, ROOTED, (s, n, t, r, m, u, !root, c))
FORMS(wrong, Gatherv, Igatherv, (const void *s, int n, Handle t, const void *r, const int *m, const int *d, Handle u, int root, Handle c), (s, n, t, r, m, d, u, !root, c))
FORMS(wrong, Scatterv, Iscatterv, (const void *s, const int *n, const int *d, Handle t, void *r, int m, Handle u, int root, Handle c), (s, n, d, t, r, m, u, !root, c))
FORMS(wrong, Allgather, Iallgather, PLAIN, (s, n, t, r, m, u, NOBODY))
FORMS(wrong, Alltoall, Ialltoall, PLAIN, (s, n, t, r, m, u, NOBODY))
FORMS(wrong, Allgatherv, Iallgatherv, GATHERED, (s, n, t, r, m, d, u, NOBODY))
FORMS(wrong, Alltoallv, Ialltoallv, VECTORS, (s, n, e, t, r, m, d, u, NOBODY))
FORMS(wrong, Alltoallw, Ialltoallw, TYPED, (s, n, e, t, r, m, d, u, NOBODY))
FORMS(wrong, Reduce, Ireduce, (const void *s, void *r, int n, Handle t, Handle op, int root, Handle c), (s, r, n, t, op, !root, c))
FORMS(wrong, Allreduce, Iallreduce, COMBINED, (s, r, n, t, op, NOBODY))
FORMS(wrong, Scan, Iscan, COMBINED, (s, r, n, t, op, NOBODY))
FORMS(wrong, Exscan, Iexscan, COMBINED, (s, r, n, t, op, NOBODY))
FORMS(wrong, Reduce_scatter, Ireduce_scatter, (const void *s, void *r, const int *n, Handle t, Handle op, Handle c), (s, r, n, t, op, NOBODY))
FORMS(wrong, Reduce_scatter_block, Ireduce_scatter_block, COMBINED, (s, r, n, t, op, NOBODY))

static int wrong_Put(const void *b, int n, Handle t, int to, int64_t at, int m, Handle u, Handle w) { return original.Put(b, n, t, !to, at, m, u, w); }
static int wrong_Get(void *b, int n, Handle t, int to, int64_t at, int m, Handle u, Handle w) { return original.Get(b, n, t, !to, at, m, u, w); }
static int wrong_Accumulate(const void *b, int n, Handle t, int to, int64_t at, int m, Handle u, Handle op, Handle w)
{
    return original.Accumulate(b, n, t, !to, at, m, u, op, w);
}
static int wrong_Get_accumulate(const void *b, int n, Handle t, void *r, int k, Handle v, int to, int64_t at, int m, Handle u, Handle op, Handle w)
{
    return original.Get_accumulate(b, n, t, r, k, v, !to, at, m, u, op, w);
}
static int wrong_Fetch_and_op(const void *b, void *r, Handle t, int to, int64_t at, Handle op, Handle w)
{
    return original.Fetch_and_op(b, r, t, !to, at, op, w);
}
static int wrong_Compare_and_swap(const void *b, const void *x, void *r, Handle t, int to, int64_t at, Handle w)
{
    return original.Compare_and_swap(b, x, r, t, !to, at, w);
}

void wrong_rank(Mpi *table, Handle comm_self)
{
    original = *table, self = comm_self;
    table->Send = wrong_Send, table->Isend = wrong_Isend, table->Send_init = wrong_Send_init;
    table->Sendrecv = wrong_Sendrecv, table->Sendrecv_replace = wrong_Sendrecv_replace;
    PUT_FORMS(wrong, Bcast, Ibcast)
    PUT_FORMS(wrong, Gather, Igather)
    PUT_FORMS(wrong, Gatherv, Igatherv)
    PUT_FORMS(wrong, Scatter, Iscatter)
    PUT_FORMS(wrong, Scatterv, Iscatterv)
    PUT_FORMS(wrong, Allgather, Iallgather)
    PUT_FORMS(wrong, Allgatherv, Iallgatherv)
    PUT_FORMS(wrong, Alltoall, Ialltoall)
    PUT_FORMS(wrong, Alltoallv, Ialltoallv)
    PUT_FORMS(wrong, Alltoallw, Ialltoallw)
    PUT_FORMS(wrong, Reduce, Ireduce)
    PUT_FORMS(wrong, Allreduce, Iallreduce)
    PUT_FORMS(wrong, Scan, Iscan)
    PUT_FORMS(wrong, Exscan, Iexscan)
    PUT_FORMS(wrong, Reduce_scatter, Ireduce_scatter)
    PUT_FORMS(wrong, Reduce_scatter_block, Ireduce_scatter_block)
    table->Put = wrong_Put, table->Get = wrong_Get, table->Accumulate = wrong_Accumulate;
    table->Get_accumulate = wrong_Get_accumulate, table->Fetch_and_op = wrong_Fetch_and_op;
    table->Compare_and_swap = wrong_Compare_and_swap;
}
