/* What one machine costs without a network: a copy, a system call, a message over TCP to the same thread, a line of cache that changes cores, a thread that
 * another one wakes, and a fixed amount of arithmetic, which shows what interrupts it. No MPI. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

enum { LINE = 64 }; /* bytes that change cores together, on x86 and most of Arm */

/* A sample is `window` copies of one message. */
static inline void copy_window(const Arguments *args)
{
    for (int j = 0; j < args->window; j++) {
        memcpy(args->recv + j * args->stride, args->send + j * args->stride, (size_t)args->count);
        __asm__ volatile("" ::: "memory"); /* or one copy would do for all */
    }
}

KERNEL(memory_copy)
{
    TIMED(copy_window(args);, );
    return 0;
}

/* A sample is `window` calls of getppid, which no library answers by itself if asked through syscall(). */
KERNEL(system_call)
{
    TIMED(for (int j = 0; j < args->window; j++) syscall(SYS_getppid);, );
    return 0;
}

/* Two threads, each on a processor of its own: args->left and args->right. */
typedef struct {
    const Arguments *args;
    int core, error;                    /* error: errno if the thread could not be bound */
    _Alignas(128) _Atomic int64_t turn; /* alone in its line and in the one that is fetched with it */
    _Alignas(128) _Atomic int ready;
    int pipes[2][2];
} Pair;

static int bind_to(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set) ? errno : 0;
}

/* Run `answer` on the second processor while `ask` runs on the first one; the caller's affinity is as before afterwards. */
static int both(const Arguments *args, int (*ask)(Pair *), void *(*answer)(void *))
{
    Pair *pair = NULL;
    cpu_set_t before;
    pthread_t partner;
    if (posix_memalign((void **)&pair, 128, sizeof *pair)) return -ENOMEM;
    memset(pair, 0, sizeof *pair);
    pair->args = args, pair->core = args->right;
    int code = sched_getaffinity(0, sizeof before, &before) ? errno : bind_to(args->left);
    if (!code && (pipe(pair->pipes[0]) || pipe(pair->pipes[1]))) code = errno;
    if (!code) code = pthread_create(&partner, NULL, answer, pair);
    if (!code) {
        while (!atomic_load(&pair->ready)) sched_yield();
        code = pair->error ? pair->error : ask(pair);
        close(pair->pipes[0][1]); /* so that the second thread ends in any case */
        pair->pipes[0][1] = 0;
        pthread_join(partner, NULL);
    }
    for (int k = 0; k < 4; k++)
        if (pair->pipes[k / 2][k % 2] > 0) close(pair->pipes[k / 2][k % 2]);
    sched_setaffinity(0, sizeof before, &before);
    free(pair);
    return code;
}

/* Whether the second thread is where it must be; the first one waits for this. */
static int arrived(Pair *pair)
{
    pair->error = bind_to(pair->core);
    atomic_store(&pair->ready, 1);
    return !pair->error;
}

/* One thread writes odd numbers to a word and waits for the even ones, which the other writes: the line of the word
 * changes sides twice in a turn. A sample is `window` turns. */
static int ask_line(Pair *pair)
{
    const Arguments *args = pair->args;
    _Atomic int64_t *turn = &pair->turn;
    int64_t next = 1;
    TIMED(for (int j = 0; j < args->window; j++, next += 2) {
              atomic_store_explicit(turn, next, memory_order_release);
              while (atomic_load_explicit(turn, memory_order_acquire) == next) continue;
          }, );
    return 0;
}

static void *answer_line(void *argument)
{
    Pair *pair = argument;
    const Arguments *args = pair->args;
    _Atomic int64_t *turn = &pair->turn;
    int64_t next = 1;
    if (!arrived(pair)) return NULL;
    UNTIMED(for (int j = 0; j < args->window; j++, next += 2) {
        while (atomic_load_explicit(turn, memory_order_acquire) != next) continue;
        atomic_store_explicit(turn, next + 1, memory_order_release);
    });
    return NULL;
}

KERNEL(core_to_core) { return both(args, ask_line, answer_line); }

/* Before each sample, the second thread writes every line of the messages anew, with the bytes that are there. Then the
 * first one copies them, and only this is timed. */
static void have_written(Pair *pair, int64_t turn)
{
    atomic_store_explicit(&pair->turn, turn, memory_order_release);
    while (atomic_load_explicit(&pair->turn, memory_order_acquire) == turn) continue;
}

static int ask_copy(Pair *pair)
{
    const Arguments *args = pair->args;
    int64_t next = 1;
    have_written(pair, next);
    TIMED(copy_window(args);, have_written(pair, next += 2););
    return 0;
}

static void *answer_copy(void *argument)
{
    Pair *pair = argument;
    const Arguments *args = pair->args;
    const int64_t end = 2 * (args->warmup + args->iterations + 1);
    if (!arrived(pair)) return NULL;
    for (int64_t next = 1; next < end; next += 2) {
        while (atomic_load_explicit(&pair->turn, memory_order_acquire) != next) continue;
        for (int j = 0; j < args->window; j++)
            for (volatile char *line = args->send + j * args->stride, *last = line + args->count; line < last;
                 line += LINE)
                *line = *line;
        atomic_store_explicit(&pair->turn, next + 1, memory_order_release);
    }
    return NULL;
}

KERNEL(core_to_core_copy) { return both(args, ask_copy, answer_copy); }

/* A byte through a pipe to a thread that sleeps in read, and one back through another pipe. A sample is one round. */
static int ask_pipe(Pair *pair)
{
    const Arguments *args = pair->args;
    const int out = pair->pipes[0][1], in = pair->pipes[1][0];
    char byte = 1;
    TIMED(if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1) return -EIO;, );
    return 0;
}

static void *answer_pipe(void *argument)
{
    Pair *pair = argument;
    const Arguments *args = pair->args;
    const int in = pair->pipes[0][0], out = pair->pipes[1][1];
    char byte;
    if (!arrived(pair)) return NULL;
    UNTIMED(if (read(in, &byte, 1) != 1 || write(out, &byte, 1) != 1) return NULL;);
    return NULL;
}

KERNEL(wake_up) { return both(args, ask_pipe, answer_pipe); }

/* A connection of this thread to itself: ends[0] sends, ends[1] receives. */
static int connected(int ends[2])
{
    const int now = 1;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof here;
    const int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int code = door < 0 || ends[0] < 0 || bind(door, (struct sockaddr *)&here, sizeof here) || listen(door, 1) ||
                       getsockname(door, (struct sockaddr *)&here, &length) ||
                       connect(ends[0], (struct sockaddr *)&here, sizeof here)
                   ? errno
                   : 0;
    if (!code && (ends[1] = accept(door, NULL, NULL)) < 0) code = errno;
    if (!code && setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &now, sizeof now)) code = errno;
    if (door >= 0) close(door);
    return code;
}

/* Send a message as far as the buffers of the sockets take it, receive what is there, and so on until all of it is. */
static int pass_message(const Arguments *args, const int ends[2])
{
    const size_t count = (size_t)args->count;
    size_t sent = 0, received = 0;
    while (received < count) {
        ssize_t moved = sent < count ? send(ends[0], args->send + sent, count - sent, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        if (moved > 0) sent += (size_t)moved;
        if (moved < 0 && errno != EAGAIN && errno != EINTR) return errno;
        if (received == sent) continue; /* nothing is under way */
        moved = recv(ends[1], args->recv + received, count - received, MSG_DONTWAIT);
        if (moved > 0) received += (size_t)moved;
        if (moved < 0 && errno != EAGAIN && errno != EINTR) return errno;
        if (moved == 0) return EPIPE;
    }
    return 0;
}

/* A sample is one message over the loopback interface, from a thread to itself: nobody must be woken. */
KERNEL(loopback)
{
    int ends[2] = {-1, -1}, code = connected(ends);
    if (!code) TIMED(if (!code) code = pass_message(args, ends);, );
    for (int k = 0; k < 2; k++)
        if (ends[k] >= 0) close(ends[k]);
    return -code;
}

/* A sample is the time of `window` steps of arithmetic, each of which needs the one before. Phase 1 is the time since
 * the end of the sample before, also across calls: so the samples have their places on one axis of time. */
KERNEL(noise)
{
    int64_t *end = (int64_t *)(void *)args->scratch;
    static volatile uint64_t state = 1; /* read and written, so that no step can be left out */
    uint64_t x = state;
    int64_t start = 0;
    TIMED_RECORD(
        for (int j = 0; j < args->window; j++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            __asm__ volatile("" : "+r"(x));
        },
        start = start_; PHASE(1) = *end ? start - *end : 0; *end = start + args->time_ns[i_];, );
    state = x;
    return 0;
}
