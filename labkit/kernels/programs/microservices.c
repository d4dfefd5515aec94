/* Small services that answer one another, and the client that puts a load on them in an open loop.
 *
 *   microservices serve service=hdsearch role=leaf number=1 leaf=0 listen=tcp:127.0.0.1:0 records=10000 size=512
 *   microservices serve service=hdsearch role=front number=0 listen=tcp:127.0.0.1:7000 children=1=tcp:127.0.0.1:7001 …
 *   microservices load service=hdsearch address=tcp:127.0.0.1:7000 rate=500 clients=4 seconds=2 out=samples …
 *
 * A service builds its data from the seed, says `listening PORT`, and answers frames (wire.h). The client makes the
 * same data, so it knows what each answer must be: it compares every query once before anything is timed, and every
 * answer of the timed run. Requests are due at moments of a Poisson process and are sent then, whether or not earlier
 * ones were answered; a sample counts from the moment when a request was due.
 */
#define _GNU_SOURCE
#define PROGRAM "microservices"
#include "call_graph.h"
#include "hdsearch.h"
#include "recommend.h"
#include "router.h"
#include "set_algebra.h"
#include <poll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>

static const Service SERVICES[] = {
    {"hdsearch", hd_make, hd_next, hd_finish, hd_query, hd_expected, NULL, NULL, NULL},
    {"router", rt_make, rt_next, rt_finish, rt_query, NULL, rt_right, rt_fill, rt_ask_memcached},
    {"set_algebra", sa_make, sa_next, sa_finish, sa_query, sa_expected, NULL, NULL, NULL},
    {"recommend", rc_make, rc_next, rc_finish, rc_query, rc_expected, NULL, NULL, NULL},
    {"call_graph", cg_make, cg_next, cg_finish, cg_query, cg_expected, NULL, NULL, NULL},
};

enum { QUERIES = 256 };

typedef struct {
    int64_t due, start, end, operation, trace; /* ns from the start of the run */
} Sample;

static struct {
    Text queries[QUERIES], answers[QUERIES];
    int64_t operations[QUERIES], queries_count, origin, stop, limit, begun, ended, sent_B, received_B;
    double rate, seconds;
    int clients, poisson, epoll, timer;
    Link **links;
    Sample *samples; /* by number of the request */
} run;

/* Fail unless an answer is what the service must answer. */
static void compare(int64_t query, const char *answer, size_t length)
{
    const Service *s = job.service;
    int right = s->right ? s->right(run.queries + query, run.operations[query], answer, length)
                         : length == run.answers[query].length && !memcmp(answer, run.answers[query].at, length);
    if (!right) fail("an answer is not what the service must answer", s->name);
}

static Frame wait_for(Link *link, const char **payload)
{
    Frame frame;
    struct pollfd wait = {.fd = link->fd, .events = POLLIN};
    while (!link_next(link, &frame, payload)) {
        if (poll(&wait, 1, 20000) <= 0) fail("the service does not answer", NULL);
        if (!link_read(link)) fail("the service closed the connection", NULL);
    }
    return frame;
}

static void verify(void)
{
    const char *payload;
    for (int64_t k = 0; k < run.queries_count; k++) {
        Link *link = run.links[k % run.clients];
        Frame frame = {.kind = REQUEST, .operation = run.operations[k], .id = (uint64_t)k};
        link_send(run.epoll, link, frame, run.queries[k].at, run.queries[k].length);
        frame = wait_for(link, &payload);
        compare(k, payload, frame.length);
    }
}

/* All services begin to note (0), or write what they noted (1). */
static void flush(int64_t what)
{
    const char *payload;
    link_send(run.epoll, run.links[0], (Frame){.kind = FLUSH, .operation = what}, NULL, 0);
    while (wait_for(run.links[0], &payload).kind != FLUSHED) /* answers that came too late */
        ;
}

static void arrived(Link *link)
{
    Frame frame;
    const char *payload;
    int open = link_read(link);
    int64_t time = now_ns();
    while (link_next(link, &frame, &payload)) {
        if (frame.id >= (uint64_t)run.begun || run.samples[frame.id].end) fail("an answer to no request", NULL);
        compare((int64_t)frame.id % run.queries_count, payload, frame.length);
        run.samples[frame.id].end = time - run.origin;
        run.ended++, run.received_B += (int64_t)(frame.length + sizeof frame);
    }
    if (!open) fail("the service closed the connection", NULL);
}

static void timed(uint64_t seed)
{
    struct epoll_event events[EVENTS];
    uint64_t state = seed, times;
    double due = 0;
    run.origin = now_ns() + 1000000;
    run.stop = run.origin + (int64_t)(run.seconds * 1e9);
    int64_t last = run.stop + (int64_t)(run.seconds * 1e9) + 1000000000, next = run.origin, set = 0;
    for (;;) {
        int64_t time = now_ns();
        while (next <= time && next < run.stop && run.begun < run.limit) {
            int64_t id = run.begun, query = id % run.queries_count;
            Sample *one = run.samples + id;
            Frame frame = {.kind = REQUEST, .operation = run.operations[query]};
            frame.id = (uint64_t)id, frame.trace = frame.id + 1, frame.parent = 1;
            *one = (Sample){next - run.origin, 0, 0, frame.operation, id + 1};
            run.begun++, run.sent_B += (int64_t)(run.queries[query].length + sizeof frame);
            time = now_ns(), one->start = time - run.origin;
            link_send(run.epoll, run.links[id % run.clients], frame, run.queries[query].at, run.queries[query].length);
            due += run.poisson ? -log(1 - unit(90, ++state)) * 1e9 / run.rate : 1e9 / run.rate;
            next = run.origin + (int64_t)due;
        }
        int over = next >= run.stop || run.begun >= run.limit;
        if ((over && run.ended == run.begun) || time > last) break;
        if (!over && set != next) {
            struct itimerspec when = {.it_value = {next / 1000000000, next % 1000000000}};
            timerfd_settime(run.timer, TFD_TIMER_ABSTIME, &when, NULL);
            set = next;
        }
        int n = epoll_wait(run.epoll, events, EVENTS, 100);
        for (int k = 0; k < n; k++) {
            Link *link = events[k].data.ptr;
            if (!link) {
                set = read(run.timer, &times, sizeof times) < 0 ? set : 0;
                continue;
            }
            if (events[k].events & EPOLLOUT) link_flush(run.epoll, link);
            if (events[k].events & ~(uint32_t)EPOLLOUT) arrived(link);
        }
    }
}

static void load(int argc, char **argv)
{
    run.rate = number(argc, argv, "rate", 100), run.seconds = number(argc, argv, "seconds", 1);
    run.limit = (int64_t)number(argc, argv, "limit", 20000), run.clients = (int)number(argc, argv, "clients", 1);
    run.poisson = strcmp(given(argc, argv, "arrivals", "poisson"), "constant") != 0;
    run.queries_count = (int64_t)number(argc, argv, "queries", 64);
    if (run.rate <= 0 || run.limit < 1 || run.clients < 1 || run.queries_count < 1 || run.queries_count > QUERIES)
        fail("an argument is out of range", NULL);
    job.service->make(CLIENT, 0);
    for (int64_t k = 0; k < run.queries_count; k++) {
        run.operations[k] = job.service->query(k, run.queries + k);
        if (job.service->expected) job.service->expected(run.queries + k, run.operations[k], run.answers + k);
    }
    run.epoll = epoll_create1(EPOLL_CLOEXEC);
    run.links = room((size_t)run.clients * sizeof *run.links);
    run.samples = room((size_t)run.limit * sizeof *run.samples);
    run.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(run.epoll, EPOLL_CTL_ADD, run.timer, &event);
    for (int k = 0; k < run.clients; k++)
        run.links[k] = link_new(run.epoll, connected(given(argc, argv, "address", "")), k);
    verify();
    flush(0);
    prctl(PR_SET_TIMERSLACK, 1UL);
    int64_t cpu = cpu_ns(), began = now_ns();
    timed((uint64_t)number(argc, argv, "arrival_seed", 1));
    int64_t elapsed = now_ns() - began, unfinished = 0;
    cpu = cpu_ns() - cpu;
    if (run.ended == run.begun) flush(1);
    FILE *out = fopen(given(argc, argv, "out", "samples"), "wb");
    for (int64_t k = 0; k < run.begun; k++) {
        unfinished += run.samples[k].end == 0;
        if (out && run.samples[k].end && fwrite(run.samples + k, sizeof *run.samples, 1, out) != 1)
            fail("writing samples", strerror(errno));
    }
    if (!out || fclose(out)) fail("writing samples", strerror(errno));
    printf("{\"requests\": %lld, \"unfinished\": %lld, \"origin_ns\": %lld, \"elapsed_ns\": %lld, \"cpu_ns\": %lld, "
           "\"sent_B\": %lld, \"received_B\": %lld, \"queries\": %lld, \"recall\": %.6g, \"candidates\": %.6g}\n",
           (long long)run.ended, (long long)unfinished, (long long)run.origin, (long long)elapsed, (long long)cpu,
           (long long)run.sent_B, (long long)run.received_B, (long long)run.queries_count,
           job.recallable > 0 ? job.recalled / job.recallable : 1.0,
           job.recallable > 0 ? job.candidates / (double)run.queries_count : 1.0);
}

int main(int argc, char **argv)
{
    const char *name = given(argc, argv, "service", "hdsearch");
    for (size_t k = 0; k < sizeof SERVICES / sizeof *SERVICES; k++)
        if (!strcmp(name, SERVICES[k].name)) job.service = SERVICES + k;
    if (argc < 2 || !job.service) fail("use: microservices serve|load service=hdsearch NAME=VALUE…", NULL);
    job.records = (int64_t)number(argc, argv, "records", 1000), job.size = (int64_t)number(argc, argv, "size", 512);
    job.leaves = (int)number(argc, argv, "leaves", 1), job.seed = (uint64_t)number(argc, argv, "seed", 1);
    job.exact = !strcmp(given(argc, argv, "search", "lsh"), "exact");
    job.number = (int)number(argc, argv, "number", 0);
    job.replicas = (int)number(argc, argv, "replicas", 1), job.words = (int64_t)number(argc, argv, "words", 1000);
    job.reads = number(argc, argv, "reads", 0.9), job.graph = given(argc, argv, "graph", "");
    if (job.replicas < 1 || job.replicas > job.leaves || job.words < 8 || job.records < 1 || job.size < 8 ||
        job.size % 8 || job.leaves < 1 || job.leaves > CALLS)
        fail("an argument is out of range", NULL);
    alarm((unsigned)number(argc, argv, "lifetime", 600)); /* ends, whatever became of the one who started it */
    if (!strcmp(argv[1], "load")) {
        load(argc, argv);
        return 0;
    }
    job.role = strcmp(given(argc, argv, "role", "leaf"), "leaf") ? FRONT : LEAF;
    job.service->make(job.role, (int)number(argc, argv, "leaf", 0));
    serve(given(argc, argv, "listen", ""), given(argc, argv, "children", ""));
    return 0;
}
