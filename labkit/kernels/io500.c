/* The phases of IO500 in its order, as its phase_*.c make IOR, mdtest and pfind run them with system calls: all writes
 * and creations until a deadline, find, then stat, reads and removals of what is there.
 *
 * A phase keeps ns for a unit of work: 1 GiB, or 1000 operations. Its inverse is the score of the phase. The scores over
 * phases are those of geometric means of these times; the last one is the time of the iteration. `path` is the folder. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"

enum { HARD_B = 47008, FILE_B = 3901 }; /* of a transfer of the hard phases, and of a file of mdtest-hard */
enum { EASY_SIZE, EASY_MOST, HARD_MOST, ITEMS_MOST };                         /* places */
enum { EASY_MOVED, HARD_MOVED, EASY_ITEMS, HARD_ITEMS, SEEN, FOUND, COUNTS }; /* what `recv` ends with, int64 */
enum { START, STOP, AMOUNT, VALUES };
enum { CREATE, STAT, READ, REMOVE };

typedef struct {
    const Arguments *args;
    int64_t i, *counts, shortest, whole;
    double logs[2]; /* of the units' times: sums over the phases of IOR, and over the others */
    int phase;
} Run;

/* First start, last stop, and the sum or the greatest of the amounts of all ranks. */
static int reduce(const Arguments *args, int64_t *own, int64_t *sum, int64_t *most)
{
    const int bytes = VALUES * (int)sizeof *own;
    const int64_t *all = (const int64_t *)(const void *)args->extra;
    TRY(args->mpi->Allgather(own, bytes, args->byte, args->extra, bytes, args->byte, args->comm));
    *sum = *most = 0;
    for (int r = 0; r < args->ranks; r++, all += VALUES) {
        if (all[START] < own[START]) own[START] = all[START];
        if (all[STOP] > own[STOP]) own[STOP] = all[STOP];
        if (all[AMOUNT] > *most) *most = all[AMOUNT];
        *sum += all[AMOUNT];
    }
    return 0;
}

/* Keep a phase: its time for a unit of its work, which is in bytes or items. */
static void keep(Run *run, int64_t took, int64_t work, int bytes, int writes)
{
    const Arguments *args = run->args;
    const int64_t i_ = run->i;
    const double unit_ns = (double)took * (bytes ? 1 << 30 : 1000) / (double)work;
    run->whole += took;
    if (writes && (!run->shortest || took < run->shortest)) run->shortest = took;
    run->logs[!bytes] += log(unit_ns);
    PHASE(++run->phase) = (int64_t)(unit_ns + 0.5);
}

/* Keep what follows from all phases; the groups have 4 and 8. */
static void finish(Run *run)
{
    const Arguments *args = run->args;
    const int64_t i_ = run->i;
    const double bandwidth = exp(run->logs[0] / 4), metadata = exp(run->logs[1] / 8);
    const double values[] = {bandwidth, metadata, (double)run->whole, (double)run->shortest};
    for (int k = 0; k < 4; k++) PHASE(++run->phase) = (int64_t)(values[k] + 0.5);
    args->time_ns[i_] = (int64_t)(sqrt(bandwidth * metadata) + 0.5);
}

static void fill(char *buffer, int64_t size, int rank)
{
    const uint64_t first = (uint64_t)rank << 32;
    for (int64_t k = 0; k < size; k++) {
        const uint64_t word = first | (uint64_t)(k / 8);
        buffer[k] = ((const char *)&word)[k % 8];
    }
}

/* IO500 checks all that it reads, inside the timed part. */
static int wrong(const char *buffer, int64_t size, int rank)
{
    const uint64_t first = (uint64_t)rank << 32;
    uint64_t differs = 0, word;
    for (int64_t k = 0; k + 8 <= size; k += 8) {
        memcpy(&word, buffer + k, 8);
        differs |= word ^ (first | (uint64_t)(k / 8));
    }
    word = first | (uint64_t)(size / 8);
    return differs || memcmp(buffer + size / 8 * 8, &word, (size_t)(size % 8));
}

/* One transfer; of a rank's data the first byte is spoilt before it is read. */
static int transfer(const Arguments *args, int file, int writes, int64_t size, int64_t place, int of)
{
    if (!writes) args->recv[0] = (char)~args->recv[0];
    const ssize_t done =
        writes ? pwrite(file, args->send, (size_t)size, place) : pread(file, args->recv, (size_t)size, place);
    if (done != size) return done < 0 ? -errno : writes ? -ENOSPC : -EIO;
    return !writes && wrong(args->recv, size, of) ? -EBADMSG : 0;
}

static void file_name(const Arguments *args, char *name, size_t room, int hard, int of)
{
    if (hard)
        snprintf(name, room, "%sior-hard/file", args->path);
    else
        snprintf(name, room, "%sior-easy/ior_file_easy.%08d", args->path, of);
}

/* IOR: from the first rank's open to the last rank's close, with barriers between open, transfers and close, and with
 * fsync after writing. After the deadline every rank goes on to as many transfers as the fastest one made. */
static int ior(Run *run, int hard, int writes)
{
    const Arguments *args = run->args;
    const int of = writes ? args->rank : (args->rank + 1) % args->ranks;
    const int64_t size = hard ? HARD_B : args->places[EASY_SIZE];
    const int64_t step = hard ? size * args->ranks : size, offset = hard ? size * of : 0;
    int64_t *moved = run->counts + (hard ? HARD_MOVED : EASY_MOVED), own[VALUES], sum, done = 0;
    int64_t most = writes ? args->places[hard ? HARD_MOST : EASY_MOST] : *moved;
    char name[4096];
    file_name(args, name, sizeof name, hard, of);
    TRY(args->mpi->Barrier(args->comm));
    own[START] = now_ns() - args->ahead_ns;
    const int file = open(name, (writes ? O_CREAT | O_RDWR : O_RDONLY) | O_CLOEXEC, 0664);
    if (file < 0) return -errno;
    TRY(args->mpi->Barrier(args->comm));
    const int64_t began = now_ns();
    while (done < most) {
        TRY(transfer(args, file, writes, size, offset + done++ * step, of));
        if (writes && now_ns() - began > args->deadline_ns) break;
    }
    if (writes) {
        own[AMOUNT] = done;
        own[STOP] = own[START];
        int64_t unused[VALUES];
        memcpy(unused, own, sizeof unused);
        TRY(reduce(args, unused, &sum, moved));
        for (; done < *moved; done++) TRY(transfer(args, file, 1, size, offset + done * step, of));
        if (fsync(file)) return -errno;
    }
    TRY(args->mpi->Barrier(args->comm));
    if (close(file)) return -errno;
    own[STOP] = now_ns() - args->ahead_ns;
    own[AMOUNT] = done * size;
    TRY(reduce(args, own, &sum, &most));
    keep(run, own[STOP] - own[START], sum, 1, writes);
    return 0;
}

static int item(const Arguments *args, int step, int hard, const char *name, int of)
{
    struct stat status;
    if (step == STAT) return stat(name, &status) ? -errno : 0;
    if (step == REMOVE) return unlink(name) ? -errno : 0;
    const int file = open(name, (step == CREATE ? O_CREAT | O_RDWR : O_RDONLY) | O_CLOEXEC, 0664);
    if (file < 0) return -errno;
    const int code = hard ? transfer(args, file, step == CREATE, FILE_B, 0, of) : 0;
    return close(file) && !code ? -errno : code;
}

/* mdtest: the items of all ranks over the time of the slowest; creation ends with sync. In each step a rank takes the
 * items of the next rank, and with directories of their own ranks create in that of the next one (mdtest -N 1). */
static int mdtest(Run *run, int hard, int step)
{
    const Arguments *args = run->args;
    const int of = (args->rank + step) % args->ranks;
    int64_t *items = run->counts + (hard ? HARD_ITEMS : EASY_ITEMS), own[VALUES] = {0}, sum, most, k = 0;
    const int64_t last = step == CREATE ? args->places[ITEMS_MOST] : *items;
    char name[4096];
    int at = hard ? snprintf(name, sizeof name, "%smdtest-hard/test-dir.0-0/mdtest_tree.0/", args->path)
                  : snprintf(name, sizeof name, "%smdtest-easy/test-dir.0-0/mdtest_tree.%d.0/", args->path,
                             (of + 1) % args->ranks);
    at += snprintf(name + at, sizeof name - (size_t)at, "file.mdtest.%d.", of);
#define ITEM(number)                                                            \
    snprintf(name + at, sizeof name - (size_t)at, "%lld", (long long)(number)); \
    TRY(item(args, step, hard, name, of));
    TRY(args->mpi->Barrier(args->comm));
    const int64_t start = now_ns();
    while (k < last) {
        ITEM(k++)
        if (step == CREATE && now_ns() - start > args->deadline_ns) break;
    }
    if (step == CREATE) {
        own[AMOUNT] = k;
        TRY(reduce(args, own, &sum, items));
        for (; k < *items; k++) {
            ITEM(k)
        }
        sync();
    }
    TRY(args->mpi->Barrier(args->comm));
    own[START] = 0;
    own[STOP] = now_ns() - start;
    own[AMOUNT] = k;
    TRY(reduce(args, own, &sum, &most));
    keep(run, own[STOP], sum, 0, step == CREATE);
    return 0;
}

/* Read a directory: count the files, and look at those whose name has 01. */
static int look(const Arguments *args, const char *below, const struct stat *after, int64_t *seen, int64_t *found)
{
    char name[4096];
    snprintf(name, sizeof name, "%s%s", args->path, below);
    DIR *folder = opendir(name);
    if (!folder) return -errno;
    struct stat status;
    int code = 0;
    for (struct dirent *entry; !code && (entry = readdir(folder));) {
        if (entry->d_type == DT_DIR || entry->d_name[0] == '.') continue;
        const int matches = strstr(entry->d_name, "01") != NULL;
        if ((matches || entry->d_type == DT_UNKNOWN) &&
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
            code = -errno;
        else if (entry->d_type == DT_UNKNOWN && S_ISDIR(status.st_mode))
            continue;
        *seen += 1;
        *found += matches && status.st_size == FILE_B && status.st_ctim.tv_sec >= after->st_ctim.tv_sec;
    }
    closedir(folder);
    return code;
}

/* find -newer timestamp -size 3901c -name "*01*": each rank reads the directory that it made, the first one also those
 * that all have. The rate counts all files. */
static int find(Run *run)
{
    const Arguments *args = run->args;
    static const char *const shared[] = {"",
                                         "ior-easy",
                                         "ior-hard",
                                         "mdtest-easy",
                                         "mdtest-easy/test-dir.0-0",
                                         "mdtest-hard",
                                         "mdtest-hard/test-dir.0-0",
                                         "mdtest-hard/test-dir.0-0/mdtest_tree.0"};
    char below[64];
    struct stat after;
    int64_t own[VALUES] = {0}, found = 0, most;
    snprintf(below, sizeof below, "mdtest-easy/test-dir.0-0/mdtest_tree.%d.0", args->rank);
    TRY(args->mpi->Barrier(args->comm));
    const int64_t start = now_ns();
    if (stat(args->own_path, &after)) return -errno;
    TRY(look(args, below, &after, &own[AMOUNT], &found));
    for (size_t k = 0; args->rank == 0 && k < sizeof shared / sizeof *shared; k++)
        TRY(look(args, shared[k], &after, &own[AMOUNT], &found));
    own[STOP] = now_ns() - start;
    TRY(reduce(args, own, run->counts + SEEN, &most));
    const int64_t took = own[STOP];
    own[AMOUNT] = found;
    TRY(reduce(args, own, run->counts + FOUND, &most));
    keep(run, took, run->counts[SEEN], 0, 0);
    return 0;
}

/* Before each phase, as drop-caches of IO500. */
static int forget(const Arguments *args)
{
    if (!args->drop) return 0;
    TRY(args->mpi->Barrier(args->comm));
    const int file = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (file < 0) return -errno;
    const int code = write(file, "3", 1) == 1 ? 0 : -errno;
    close(file);
    return code;
}

static int mark(const Arguments *args)
{
    if (args->rank) return 0;
    const int file = open(args->own_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return file < 0 || close(file) ? -errno : 0;
}

static int clean(const Arguments *args)
{
    char name[4096];
    file_name(args, name, sizeof name, 0, args->rank);
    if (unlink(name)) return -errno;
    TRY(args->mpi->Barrier(args->comm));
    if (args->rank) return 0;
    file_name(args, name, sizeof name, 1, 0);
    return unlink(name) || unlink(args->own_path) ? -errno : 0;
}

#define NEXT(call)         \
    do {                   \
        TRY(forget(args)); \
        TRY(call);         \
    } while (0)

static int phases(Run *run)
{
    const Arguments *args = run->args;
    enum { EASY, HARD };
    NEXT(ior(run, EASY, 1));
    NEXT(mdtest(run, EASY, CREATE));
    TRY(mark(args));
    NEXT(ior(run, HARD, 1));
    NEXT(mdtest(run, HARD, CREATE));
    NEXT(find(run));
    NEXT(ior(run, EASY, 0));
    NEXT(mdtest(run, EASY, STAT));
    NEXT(ior(run, HARD, 0));
    NEXT(mdtest(run, HARD, STAT));
    NEXT(mdtest(run, EASY, REMOVE));
    NEXT(mdtest(run, HARD, READ));
    NEXT(mdtest(run, HARD, REMOVE));
    finish(run);
    return clean(args);
}

KERNEL(io500)
{
    const int64_t size = args->places[EASY_SIZE] > HARD_B ? args->places[EASY_SIZE] : HARD_B;
    fill(args->send, size, args->rank);
    int64_t spare[17]; /* of an iteration that is not timed */
    Arguments untimed = *args;
    untimed.time_ns = spare;
    untimed.iterations = 1;
    for (int64_t i = -args->warmup; i < args->iterations; i++) {
        int64_t *counts = (int64_t *)(void *)(args->recv + (size + 7) / 8 * 8);
        Run run = {i < 0 ? &untimed : args, i < 0 ? 0 : i, counts, 0, 0, {0, 0}, 0};
        TRY(phases(&run));
    }
    return 0;
}
