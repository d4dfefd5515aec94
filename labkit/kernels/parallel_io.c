/* All ranks open, write or read, and close files by MPI-IO, as IOR times it; and create, stat, read and remove items as
 * mdtest does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"

enum { SYNC_AT_END = 1, SYNC_EACH };
enum { OPEN_START, OPEN_STOP, ACCESS_START, ACCESS_STOP, CLOSE_START, CLOSE_STOP, MOVED, VALUES };

/* What all ranks have in `own`, (ranks, VALUES), in the third buffer. */
static int gathered(const Arguments *args, const int64_t *own, const int64_t **all)
{
    const int bytes = VALUES * (int)sizeof *own;
    *all = (const int64_t *)(const void *)args->extra;
    return args->mpi->Allgather(own, bytes, args->byte, args->extra, bytes, args->byte, args->comm);
}

/* IOR's ReduceIterResults: from the first rank's start to the last rank's stop, of the whole, of opening, of the
 * transfers and of closing; and what all ranks moved. */
static int record(const Arguments *args, int64_t i_, const int64_t *own)
{
    const int64_t *all;
    TRY(gathered(args, own, &all));
    int64_t reduced[VALUES];
    memcpy(reduced, all, sizeof reduced);
    for (int r = 1; r < args->ranks; r++)
        for (int v = 0; v < VALUES; v++) {
            const int64_t value = all[r * VALUES + v];
            if (v == MOVED)
                reduced[v] += value;
            else if (v % 2 ? value > reduced[v] : value < reduced[v])
                reduced[v] = value;
        }
    if (i_ < 0) return 0;
    args->time_ns[i_] = reduced[CLOSE_STOP] - reduced[OPEN_START];
    for (int k = 0; k < 3; k++) PHASE(k + 1) = reduced[2 * k + 1] - reduced[2 * k];
    if (args->deadline_ns) PHASE(4) = reduced[MOVED];
    return 0;
}

/* One transfer; the first 8 bytes of what is written say where in the file they belong. */
static int transfer(const Arguments *args, File file, int64_t k, int writes)
{
    const int64_t place = args->places[k];
    const int collective = args->mode;
    int done = 0;
    if (writes) {
        if (args->count >= 8) memcpy(args->send, &place, sizeof place);
        TRY((collective ? args->mpi->File_write_at_all : args->mpi->File_write_at)(file, place, args->send, args->count,
                                                                                   args->datatype, args->statuses));
    } else {
        TRY((collective ? args->mpi->File_read_at_all : args->mpi->File_read_at)(
            file, place, args->recv + k * args->stride, args->count, args->datatype, args->statuses));
    }
    TRY(args->mpi->Get_count(args->statuses, args->datatype, &done));
    if (done != args->count) return writes ? -ENOSPC : -EIO;
    if (writes && args->tests == SYNC_EACH) TRY(args->mpi->File_sync(file));
    return 0;
}

/* All transfers, or those until the deadline (IOR's stonewall). */
static int transfers(const Arguments *args, File file, int writes, int64_t *own)
{
    const int64_t began = now_ns();
    int64_t done = 0;
    int hit = 0;
    while (done < args->nplaces && !hit) {
        TRY(transfer(args, file, done++, writes));
        if (!args->deadline_ns) continue;
        hit = now_ns() - began > args->deadline_ns;
        if (args->mode) TRY(args->mpi->Bcast(&hit, sizeof hit, args->byte, 0, args->comm));
    }
    if (args->wear_out) {
        const int64_t *all;
        int64_t most = 0;
        own[MOVED] = done;
        TRY(gathered(args, own, &all));
        for (int r = 0; r < args->ranks; r++)
            if (all[r * VALUES + MOVED] > most) most = all[r * VALUES + MOVED];
        while (done < most) TRY(transfer(args, file, done++, writes));
    }
    if (writes && args->tests == SYNC_AT_END) TRY(args->mpi->File_sync(file));
    own[MOVED] = done * args->count;
    return 0;
}

/* On the clock of rank 0. */
#define STAMP(which) own[which] = now_ns() - args->ahead_ns;

static int test(const Arguments *args, int64_t i, int writes)
{
    int64_t own[VALUES];
    File file;
    TRY(args->mpi->Barrier(args->comm));
    STAMP(OPEN_START)
    TRY(args->mpi->File_open(args->comms[0], args->path, args->amode, args->info, &file));
    if (writes) TRY(args->mpi->File_set_size(file, 0));
    STAMP(OPEN_STOP)
    STAMP(ACCESS_START)
    TRY(transfers(args, file, writes, own));
    STAMP(ACCESS_STOP)
    STAMP(CLOSE_START)
    TRY(args->mpi->File_close(&file));
    STAMP(CLOSE_STOP)
    TRY(args->mpi->Barrier(args->comm));
    const int64_t last = own[MOVED] / args->count - 1;
    if (writes && last >= 0) TRY(file_reaches(args->path, args->places[last] + args->count));
    return record(args, i, own);
}

/* This rank's transfers in a new file, as IOR's write phase leaves it, when it is not timed. */
static int rewrite(const Arguments *args)
{
    if (args->active && unlink(args->path) && errno != ENOENT) return -errno;
    TRY(args->mpi->Barrier(args->comm));
    const int file = open(args->own_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return -errno;
    int code = 0;
    for (int32_t k = 0; k < args->nplaces && !code; k++) {
        const int64_t place = args->own_places[k];
        if (args->count >= 8) memcpy(args->send, &place, sizeof place);
        const ssize_t done = pwrite(file, args->send, (size_t)args->count, place);
        if (done != args->count) code = done < 0 ? errno : ENOSPC;
    }
    if (close(file) && !code) code = errno;
    return -code;
}

/* Every test writes a new file. */
KERNEL(parallel_write)
{
    for (int64_t i = -args->warmup; i < args->iterations; i++) {
        if (args->active && unlink(args->path) && errno != ENOENT) return -errno;
        TRY(test(args, i, 1));
    }
    return 0;
}

KERNEL(parallel_read)
{
    for (int64_t i = -args->warmup; i < args->iterations; i++) {
        if (args->rewrite) {
            TRY(rewrite(args));
            TRY(args->mpi->Barrier(args->comm));
        }
        if (args->drop && args->active) {
            const int file = open(args->path, O_RDONLY | O_CLOEXEC);
            if (file < 0) return -errno;
            const int code = fdatasync(file) ? errno : posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
            close(file);
            if (code) return -code;
        }
        TRY(test(args, i, 0));
    }
    return 0;
}

enum { CREATE, STAT, READ, REMOVE, STEPS };
enum { FILES, DIRECTORIES };

static int whole(int file, int writes, char *buffer, int32_t count)
{
    const ssize_t done = writes ? write(file, buffer, (size_t)count) : read(file, buffer, (size_t)count);
    if (done == count) return 0;
    return done < 0 ? -errno : writes ? -ENOSPC : -EIO;
}

static int item(const Arguments *args, int step, const char *name)
{
    struct stat status;
    if (step == STAT) return stat(name, &status) ? -errno : 0;
    if (args->turns == DIRECTORIES) {
        if (step == READ) return 0;
        return (step == CREATE ? mkdir(name, 0755) : rmdir(name)) ? -errno : 0;
    }
    if (step == REMOVE) return unlink(name) ? -errno : 0;
    const int writes = step == CREATE, file = open(name, (writes ? O_CREAT | O_WRONLY : O_RDONLY) | O_CLOEXEC, 0664);
    if (file < 0) return -errno;
    const int code = args->count ? whole(file, writes, writes ? args->send : args->recv, args->count) : 0;
    return close(file) && !code ? -errno : code;
}

/* mdtest's phases, each between barriers; `mode` says which one is timed. `peers` has the rank whose items a rank takes
 * in each of them, `path` the folder; each rank's items are in its own part of the folder if `overlap` is set. */
KERNEL(metadata)
{
    char name[4096];
    for (int64_t i = -args->warmup; i < args->iterations; i++)
        for (int step = 0; step < STEPS; step++) {
            const int of = args->peers[step];
            int at = args->overlap ? snprintf(name, sizeof name, "%s/mdtest_tree.%d.0/", args->path, of)
                                   : snprintf(name, sizeof name, "%s/mdtest_tree.0/", args->path);
            at += snprintf(name + at, sizeof name - (size_t)at, "%s.mdtest.%d.",
                           args->turns == DIRECTORIES ? "dir" : "file", of);
            TRY(args->mpi->Barrier(args->comm));
            const int64_t start = now_ns();
            for (int k = 0; k < args->window; k++) {
                snprintf(name + at, sizeof name - (size_t)at, "%d", k);
                TRY(item(args, step, name));
            }
            TRY(args->mpi->Barrier(args->comm));
            if (i >= 0 && step == args->mode) args->time_ns[i] = now_ns() - start;
        }
    return 0;
}
