/* MPI functions that sleep every tenth time, put into the kernel's table of one rank: who is slow must be found. */
#define _GNU_SOURCE
#include <unistd.h>

#include "kernel.h"

static Mpi original;
static int64_t calls;

static void sleep_sometimes(void)
{
    if (++calls % 10 == 0) usleep(20000);
}

/* Between two timed parts, where the rank's own clock does not see it. */
static int late_Barrier(Handle c)
{
    const int code = original.Barrier(c);
    sleep_sometimes();
    return code;
}

/* In the timed part, before the rank has sent anything. */
static int slow_Bcast(void *b, int n, Handle t, int root, Handle c)
{
    sleep_sometimes();
    return original.Bcast(b, n, t, root, c);
}

static int slow_Allreduce(const void *s, void *r, int n, Handle t, Handle op, Handle c)
{
    sleep_sometimes();
    return original.Allreduce(s, r, n, t, op, c);
}

void late(Mpi *table)
{
    original = *table;
    table->Barrier = late_Barrier;
}

void slow(Mpi *table)
{
    original = *table;
    table->Bcast = slow_Bcast, table->Allreduce = slow_Allreduce;
}
