/* Cables between hosts and switches, for kernels without sch_netem and sch_red.
 *
 *   delayed_link FROM:TO:DELAY_NS:LOSS[:BIT_PER_S:LIMIT_B:THRESHOLD_B:ACTION] ...
 *
 * Each word is one direction of a cable; FROM and TO number two open TAP devices. A frame leaves DELAY_NS after it came,
 * or, with probability LOSS, not at all: netem's constant delay and its independent loss. With a rate, frames wait in a
 * queue of LIMIT_B before the delay, and leave it one after the other. A frame that finds THRESHOLD_B or more in the
 * queue is marked (ECN's CE), or dropped, as ACTION is mark or drop: RED of the queue's present length, as DCTCP wants
 * it. A frame that cannot be marked waits like any other (nodrop of sch_red). Without a rate, HTB shapes the ends.
 *
 * Frames of one direction keep their order. TAP devices take no segmentation offload, so each frame is one packet of
 * the wire, and one loss loses one packet. The program ends when a device is gone, or by a signal.
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

enum { WAYS = 256, FRAME = 65536, LIMIT = 100000, BATCH = 64 }; /* LIMIT: frames that wait, as netem's limit */

typedef struct frame {
    struct frame *next;
    int64_t due;
    size_t length;
    char bytes[];
} Frame;

typedef struct way { /* one direction of a cable */
    int from, to, marks;
    int64_t delay, free; /* ns; free: when the link has sent all that waits for it */
    double loss, bit_per_s, limit, threshold;
    Frame *first, **end;
} Way;

static Way ways[WAYS];
static int count, waiting;

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

/* Mark a frame of IP as RFC 3168 has it: congestion experienced, if its sender understands that. */
static void mark(unsigned char *bytes, size_t length)
{
    if (length >= 34 && bytes[12] == 0x08 && bytes[13] == 0x00 && bytes[15] & 3) {
        const uint32_t before = (uint32_t)bytes[14] << 8 | bytes[15];
        bytes[15] |= 3;
        uint32_t sum = (uint16_t)~(bytes[24] << 8 | bytes[25]); /* RFC 1624: HC' = ~(~HC + ~m + m') */
        sum += (uint16_t)~before + ((uint32_t)bytes[14] << 8 | bytes[15]);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = ~((sum & 0xffff) + (sum >> 16));
        bytes[24] = (unsigned char)(sum >> 8);
        bytes[25] = (unsigned char)sum;
    } else if (length >= 54 && bytes[12] == 0x86 && bytes[13] == 0xdd && bytes[15] & 0x30) {
        bytes[15] |= 0x30;
    }
}

/* A full receiver drops the frame, as a switch does. */
static void pass(int to, const char *bytes, size_t length)
{
    while (write(to, bytes, length) < 0 && errno == EINTR) {
    }
}

static void keep(Way *way, const char *bytes, size_t length, int64_t due)
{
    Frame *frame = waiting < LIMIT ? malloc(sizeof *frame + length) : NULL;
    if (!frame) return;
    *frame = (Frame){.due = due, .length = length};
    memcpy(frame->bytes, bytes, length);
    *way->end = frame;
    way->end = &frame->next;
    waiting++;
}

/* Pass frames whose time has come; return when the next one is due, or INT64_MAX. */
static int64_t pass_due(void)
{
    int64_t next = INT64_MAX;
    for (Way *way = ways; way < ways + count; way++) {
        while (way->first && way->first->due <= now()) {
            Frame *frame = way->first;
            pass(way->to, frame->bytes, frame->length);
            way->first = frame->next;
            if (!way->first) way->end = &way->first;
            free(frame);
            waiting--;
        }
        if (way->first && way->first->due < next) next = way->first->due;
    }
    return next;
}

/* Take frames of one direction; return -1 if the device is gone. */
static int take(Way *way, uint64_t *state)
{
    static char bytes[FRAME];
    for (int i = 0; i < BATCH; i++) {
        const ssize_t length = read(way->from, bytes, sizeof bytes);
        if (length < 0) return errno == EAGAIN || errno == EINTR || errno == EIO ? 0 : -1; /* EIO: it is down */
        if (way->loss > 0 && uniform(state) < way->loss) continue;
        if (way->bit_per_s <= 0 && way->delay <= 0) {
            pass(way->to, bytes, (size_t)length);
            continue;
        }
        int64_t due = now();
        if (way->bit_per_s > 0) {
            const double queued = way->free > due ? (double)(way->free - due) * way->bit_per_s / 8e9 : 0;
            if (queued + (double)length > way->limit || (queued >= way->threshold && !way->marks)) continue;
            if (queued >= way->threshold) mark((unsigned char *)bytes, (size_t)length);
            way->free = due = (way->free > due ? way->free : due) + (int64_t)((double)length * 8e9 / way->bit_per_s);
        }
        keep(way, bytes, (size_t)length, due + way->delay);
    }
    return 0;
}

/* Read a direction from a word; return whether it is one. */
static int parse(const char *word, Way *way)
{
    char action[5] = "";
    *way = (Way){0};
    const int read = sscanf(word, "%d:%d:%ld:%lf:%lf:%lf:%lf:%4s", &way->from, &way->to, &way->delay, &way->loss,
                            &way->bit_per_s, &way->limit, &way->threshold, action);
    way->marks = !strcmp(action, "mark");
    way->end = &way->first;
    return read == 4 || (read == 8 && way->bit_per_s > 0 && (way->marks || !strcmp(action, "drop")));
}

int main(int argc, char **argv)
{
    int sound = argc > 1 && argc - 1 <= WAYS;
    for (count = 0; sound && count < argc - 1; count++) sound = parse(argv[1 + count], &ways[count]);
    if (!sound) {
        fprintf(stderr, "delayed_link FROM:TO:DELAY_NS:LOSS[:BIT_PER_S:LIMIT_B:THRESHOLD_B:mark|drop] ...: 1 to %d\n",
                WAYS);
        return 2;
    }
    struct pollfd files[WAYS];
    for (int i = 0; i < count; i++) files[i] = (struct pollfd){.fd = ways[i].from, .events = POLLIN};
    prctl(PR_SET_TIMERSLACK, 1);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}); /* as softirqs; not for every user */
    uint64_t state = (uint64_t)now() ^ ((uint64_t)getpid() << 32);
    for (int64_t next = INT64_MAX;;) {
        const int64_t left = next == INT64_MAX ? 0 : next - now();
        const struct timespec wait = {.tv_sec = left > 0 ? left / 1000000000 : 0,
                                      .tv_nsec = left > 0 ? left % 1000000000 : 0};
        if (ppoll(files, (nfds_t)count, next == INT64_MAX ? NULL : &wait, NULL) < 0 && errno != EINTR) return 1;
        pass_due();
        for (int i = 0; i < count; i++)
            if (files[i].revents && take(&ways[i], &state)) return 1;
        next = pass_due();
    }
}
