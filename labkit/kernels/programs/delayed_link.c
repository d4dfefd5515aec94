/* Cables that delay and lose frames, for kernels without sch_netem: netem's constant delay and its independent loss.
 *
 *   delayed_link DELAY_NS LOSS HOST SWITCH [HOST SWITCH ...]
 *
 * Each pair of numbers names two open TAP devices, the ends of a cable. A frame from the host leaves at the switch
 * DELAY_NS later, or, with probability LOSS, not at all; a frame from the switch reaches the host at once. Frames keep
 * their order. TAP devices take no segmentation offload, so each frame is one packet of the wire, and one loss loses
 * one packet. It ends when a device is gone, or by a signal. The rate is not its concern: HTB shapes both ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { CABLES = 64, FRAME = 65536, LIMIT = 100000, BATCH = 64 }; /* LIMIT: frames that wait, as netem's limit */

typedef struct frame {
    struct frame *next;
    int64_t due;
    int to;
    size_t length;
    char bytes[];
} Frame;

static Frame *first, **end = &first;
static int waiting;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* splitmix64: uniform in [0, 1) */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* A full receiver drops the frame, as a switch does. */
static void pass(int to, const char *bytes, size_t length)
{
    while (write(to, bytes, length) < 0 && errno == EINTR) {
    }
}

static void keep(int to, const char *bytes, size_t length, int64_t due)
{
    Frame *frame = waiting < LIMIT ? malloc(sizeof *frame + length) : NULL;
    if (!frame) return;
    *frame = (Frame){.due = due, .to = to, .length = length};
    memcpy(frame->bytes, bytes, length);
    *end = frame;
    end = &frame->next;
    waiting++;
}

static void pass_due(void)
{
    while (first && first->due <= now()) {
        Frame *frame = first;
        pass(frame->to, frame->bytes, frame->length);
        first = frame->next;
        if (!first) end = &first;
        free(frame);
        waiting--;
    }
}

/* Take frames of one end of a cable; return -1 if the device is gone. */
static int take(int from, int to, int delays, int64_t delay, double loss, uint64_t *state)
{
    static char bytes[FRAME];
    for (int i = 0; i < BATCH; i++) {
        const ssize_t length = read(from, bytes, sizeof bytes);
        if (length < 0) return errno == EAGAIN || errno == EINTR || errno == EIO ? 0 : -1; /* EIO: it is down */
        if (delays && loss > 0 && uniform(state) < loss) continue;
        if (delays && delay > 0)
            keep(to, bytes, (size_t)length, now() + delay);
        else
            pass(to, bytes, (size_t)length);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const int ends = argc - 3;
    if (ends < 2 || ends % 2 || ends > 2 * CABLES) {
        fprintf(stderr, "delayed_link DELAY_NS LOSS HOST SWITCH [HOST SWITCH ...]: 1 to %d cables\n", CABLES);
        return 2;
    }
    const int64_t delay = atoll(argv[1]);
    const double loss = atof(argv[2]);
    struct pollfd files[2 * CABLES];
    for (int i = 0; i < ends; i++) files[i] = (struct pollfd){.fd = atoi(argv[3 + i]), .events = POLLIN};
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}); /* as softirqs; not for every user */
    uint64_t state = (uint64_t)now() ^ ((uint64_t)getpid() << 32);
    for (;;) {
        const int64_t left = first ? first->due - now() : 0;
        const struct timespec wait = {.tv_sec = left > 0 ? left / 1000000000 : 0,
                                      .tv_nsec = left > 0 ? left % 1000000000 : 0};
        if (ppoll(files, (nfds_t)ends, first ? &wait : NULL, NULL) < 0 && errno != EINTR) return 1;
        pass_due();
        for (int i = 0; i < ends; i++)
            if (files[i].revents && take(files[i].fd, files[i ^ 1].fd, !(i & 1), delay, loss, &state)) return 1;
    }
}
