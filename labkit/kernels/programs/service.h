/* What every service does: takes requests, asks the services behind it, answers, and notes when.
 *
 * A service is one thread over epoll. It may have any number of requests under way, and the answers that a request
 * waits for come in any order.
 */
#ifndef LABKIT_SERVICE_H
#define LABKIT_SERVICE_H

#include "memcached.h"
#include <sys/resource.h>

enum { CLIENT, FRONT, LEAF };
enum { EVENTS = 64, CALLS = 64, SPANS = 1 << 20, BACKLOG = 256 };

typedef struct {
    int stage, waiting, asked, flush, slot;
    Link *from; /* none if the caller has gone */
    Frame frame;
    int64_t start, starts[CALLS];
    uint64_t span, spans[CALLS];
    int peers[CALLS];
    Text request, answers[CALLS];
} Pending;

typedef struct {
    const char *name;
    void (*make)(int role, int leaf);
    int (*next)(Pending *p); /* ask what it needs next; whether it asked */
    void (*finish)(Pending *p, Text *out);
    int64_t (*query)(int64_t number, Text *out); /* the operation */
    void (*expected)(const Text *query, int64_t operation, Text *out);
    int (*right)(const Text *query, int64_t operation, const char *answer, size_t length); /* without `expected` */
    void (*fill)(void); /* memcached leaves, before anyone asks */
    void (*ask_memcached)(Link *leaf, uint64_t id, int64_t operation, const char *payload, size_t length);
} Service;

typedef struct {
    int64_t trace, span, parent, start, end, peer; /* peer: service that was asked; -1: the service's own time */
} Span;

static struct {
    const Service *service;
    int role, leaves, exact, number, replicas;
    int64_t records, size, words;
    double reads;
    uint64_t seed;
    const char *graph;
    double candidates, recalled, recallable; /* of hdsearch: share of the vectors, true neighbours found and there */
} job;

static struct {
    int epoll, children;
    Link **child;
    Pending **all;
    int slots, free_count, *free_slots;
    Span *spans;
    int64_t noted, dropped, cpu;
    uint64_t counter;
} at;

/* A number of its own for each place of each stream; splitmix64. */
static uint64_t drawn(uint64_t stream, uint64_t place)
{
    uint64_t z = job.seed * 0xD1342543DE82EF95u + stream * 0x9E3779B97F4A7C15u + place * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double unit(uint64_t stream, uint64_t place) { return (double)(drawn(stream, place) >> 11) * 0x1p-53; }

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void note(Span span)
{
    if (!at.spans) at.spans = room(SPANS * sizeof *at.spans);
    if (at.noted < SPANS)
        at.spans[at.noted++] = span;
    else
        at.dropped++;
}

static uint64_t span_id(void) { return ((uint64_t)(job.number + 1) << 40) | ++at.counter; }

static void ask(Pending *p, int child, const void *payload, size_t length)
{
    if (p->asked == CALLS || child >= at.children) fail("more calls than a request may have", NULL);
    int k = p->asked++;
    p->waiting++, p->spans[k] = span_id(), p->peers[k] = child, p->starts[k] = now_ns();
    Frame frame = {.kind = p->flush ? FLUSH : REQUEST,
                   .operation = p->frame.operation,
                   .id = ((uint64_t)p->slot << 16) | (uint64_t)k,
                   .trace = p->frame.trace,
                   .parent = p->spans[k]};
    if (at.child[child]->foreign)
        job.service->ask_memcached(at.child[child], frame.id, frame.operation, payload, length);
    else
        link_send(at.epoll, at.child[child], frame, payload, length);
}

static Pending *pending_new(Link *from, Frame frame, const char *payload)
{
    if (!at.free_count) {
        at.all = realloc(at.all, (size_t)(at.slots + 1) * sizeof *at.all);
        at.free_slots = realloc(at.free_slots, (size_t)(at.slots + 1) * sizeof *at.free_slots);
        if (!at.all || !at.free_slots) fail("no memory", NULL);
        at.all[at.slots] = room(sizeof **at.all);
        at.all[at.slots]->slot = at.slots;
        at.free_slots[at.free_count++] = at.slots++;
    }
    Pending *p = at.all[at.free_slots[--at.free_count]];
    p->stage = p->waiting = p->asked = 0, p->flush = frame.kind == FLUSH;
    p->from = from, p->frame = frame, p->start = now_ns(), p->span = span_id(), p->request.length = 0;
    text_add(&p->request, payload, frame.length);
    return p;
}

/* Spans and processor time since the mark, for the one who asked for the run. */
static void write_spans(void)
{
    char name[64];
    snprintf(name, sizeof name, "spans.%d", job.number);
    FILE *out = fopen(name, "wb");
    int64_t head[3] = {cpu_ns() - at.cpu, at.noted, at.dropped};
    if (!out || fwrite(head, sizeof head, 1, out) != 1 ||
        fwrite(at.spans, sizeof *at.spans, (size_t)at.noted, out) != (size_t)at.noted || fclose(out))
        fail("writing spans", strerror(errno));
}

static void pending_run(Pending *p)
{
    static Text out;
    out.length = 0;
    while (!p->flush && !p->waiting && job.service->next(p)) {
        if (p->waiting) return;
        p->stage++;
    }
    if (p->waiting) return;
    if (!p->flush)
        job.service->finish(p, &out);
    else if (p->frame.operation)
        write_spans();
    else
        at.noted = at.dropped = 0, at.cpu = cpu_ns();
    Frame frame = {.kind = p->flush ? FLUSHED : ANSWER, .operation = p->frame.operation, .id = p->frame.id};
    int64_t end = now_ns();
    if (p->from) link_send(at.epoll, p->from, frame, out.at, out.length);
    if (p->frame.trace)
        note((Span){(int64_t)p->frame.trace, (int64_t)p->span, (int64_t)p->frame.parent, p->start, end, -1});
    at.free_slots[at.free_count++] = p->slot;
}

static void requested(Link *from, Frame frame, const char *payload)
{
    if (frame.kind != REQUEST && frame.kind != FLUSH) fail("an answer that nobody waits for", NULL);
    Pending *p = pending_new(from, frame, payload);
    for (int k = 0; p->flush && k < at.children; k++)
        if (!at.child[k]->foreign) ask(p, k, NULL, 0);
    pending_run(p);
}

static void answered(Link *from, Frame frame, const char *payload)
{
    int64_t time = now_ns();
    uint64_t slot = frame.id >> 16, k = frame.id & 0xffff;
    if (slot >= (uint64_t)at.slots || k >= (uint64_t)at.all[slot]->asked || !at.all[slot]->waiting)
        fail("an answer that nobody waits for", NULL);
    Pending *p = at.all[slot];
    p->answers[k].length = 0;
    text_add(&p->answers[k], payload, frame.length);
    if (p->frame.trace)
        note((Span){(int64_t)p->frame.trace, (int64_t)p->spans[k], (int64_t)p->span, p->starts[k], time, from->number});
    if (--p->waiting) return;
    p->stage++;
    pending_run(p);
}

static void gone(Link *link)
{
    if (link->number >= 0) fail("a service behind this one has closed its connection", NULL);
    for (int k = 0; k < at.slots; k++)
        if (at.all[k]->from == link) at.all[k]->from = NULL;
    epoll_ctl(at.epoll, EPOLL_CTL_DEL, link->fd, NULL);
    close(link->fd), free(link->in.at), free(link->out.at), free(link);
}

/* Returns the socket, and writes the port to standard output for the one who started this. */
static int listening(const char *address)
{
    int fd, on = 1;
    char host[128];
    if (!strncmp(address, "unix:", 5)) {
        struct sockaddr_un path = {.sun_family = AF_UNIX};
        snprintf(path.sun_path, sizeof path.sun_path, "%s", address + 5);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&path, sizeof path)) fail(address, strerror(errno));
    } else {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_PASSIVE}, *found;
        snprintf(host, sizeof host, "%s", address + 4);
        char *port = strrchr(host, ':');
        if (strncmp(address, "tcp:", 4) || !port) fail(address, "not tcp:HOST:PORT or unix:PATH");
        *port++ = 0;
        if (getaddrinfo(host, port, &hints, &found)) fail(address, "no numeric address");
        fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen)) fail(address, strerror(errno));
        freeaddrinfo(found);
    }
    if (listen(fd, BACKLOG)) fail(address, strerror(errno));
    struct sockaddr_storage name = {0};
    socklen_t length = sizeof name;
    char port[16] = "0";
    getsockname(fd, (struct sockaddr *)&name, &length);
    if (name.ss_family != AF_UNIX)
        getnameinfo((struct sockaddr *)&name, length, NULL, 0, port, sizeof port, NI_NUMERICSERV);
    printf("listening %s\n", port);
    fflush(stdout);
    return fd;
}

static Link *child_new(char *word) /* NUMBER=ADDRESS, or NUMBER=memcached:ADDRESS */
{
    char *where = strchr(word, '=');
    if (!where) fail(word, "not NUMBER=ADDRESS");
    int foreign = !strncmp(++where, MEMCACHED, sizeof MEMCACHED - 1);
    if (foreign && !job.service->ask_memcached) fail(job.service->name, "does not ask memcached");
    Link *link = link_new(at.epoll, connected(where + (foreign ? sizeof MEMCACHED - 1 : 0)), atoi(word));
    link->foreign = foreign;
    return link;
}

/* Take requests for as long as the process may live. children: of each NUMBER=ADDRESS. */
static void serve(const char *address, const char *children)
{
    struct epoll_event events[EVENTS];
    char *list = strdup(children), *rest = list;
    at.epoll = epoll_create1(EPOLL_CLOEXEC);
    for (char *word; (word = strsep(&rest, ",")) && *word;) {
        at.child = realloc(at.child, (size_t)(at.children + 1) * sizeof *at.child);
        at.child[at.children++] = child_new(word);
    }
    free(list);
    if (at.children && at.child[0]->foreign) job.service->fill();
    int listener = listening(address), on = 1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(at.epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int n = epoll_wait(at.epoll, events, EVENTS, -1);
        for (int k = 0; k < n; k++) {
            Link *link = events[k].data.ptr;
            if (!link) {
                int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0) continue;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a Unix socket refuses, and needs none */
                link_new(at.epoll, fd, -1);
                continue;
            }
            Frame frame;
            const char *payload;
            if (events[k].events & EPOLLOUT) link_flush(at.epoll, link);
            int open = events[k].events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? link_read(link) : 1;
            while ((link->foreign ? memcached_next : link_next)(link, &frame, &payload))
                (link->number < 0 ? requested : answered)(link, frame, payload);
            if (!open) gone(link);
        }
    }
}

#endif
