/* A client of redis and memcached that runs YCSB's core workloads, in closed or open loop, and keeps every time.
 *
 *   kv_client store=redis address=tcp:127.0.0.1:6379 reads=0.5 updates=0.5 clients=4 seconds=2 out=samples
 *   kv_client draw distribution=latest records=1000 operations=100000      prints keys as YCSB would draw them
 *
 * It loads the records, reads every one back and compares every byte, also after updates and a scan; then it times, and
 * then reads every record again. One thread serves all clients, a connection to each server each, with one request
 * under way (no pipelining). Closed loop: a client begins its next operation when one has ended. Open loop: each client
 * has a schedule, and an operation is due whether or not the one before has ended, as with YCSB's -target: what waits
 * is late, and its times from the moment it was due show that.
 */
#define _GNU_SOURCE
#define PROGRAM "kv_client"
#include "connection.h"
#include "kv_protocol.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { SERVERS = 16, SCANNED = 1024, EVENTS = 64, BATCH = 64, BATCH_B = 32768, CHECKED = 100 };

typedef struct {
    int64_t due, start, end, operation, client; /* ns from the start of the run */
} Sample;

typedef struct {
    int fds[SERVERS], server, operation, step, field, found, next, busy;
    char *out, *in;
    size_t out_length, sent, in_length;
    int64_t key, due, start;
    char name[KEY_B], (*names)[KEY_B]; /* of its key, and of those that a scan found */
} Client;

typedef struct {
    Store store;
    Workload work;
    char addresses[SERVERS][128];
    int servers, clients, poisson, epoll, timer;
    double rate, seconds;
    int64_t limit, begun, ended, missing, sent_B, received_B, origin, stop;
    size_t room;
    Client *all;
    Sample *samples;
    char *scratch;
} Run;

static int server_of(const Run *run, int64_t number)
{
    return run->servers > 1 ? (int)(fnvhash64(number) % run->servers) : 0;
}

/* ---- loading and verification, untimed and therefore in batches */

enum { LOAD, INDEX, COMPARE, CHANGE, COMPARE_CHANGED, RESTORE };

static size_t batch_request(const Run *run, int what, char *text, const char *key)
{
    const Store *store = &run->store;
    switch (what) {
    case LOAD:
        return request_insert(store, text, key);
    case INDEX:
        return request_index(text, key);
    case CHANGE:
        return request_update(store, text, key, 0, store->fields);
    case RESTORE:
        return request_update(store, text, key, 0, 0);
    default:
        return request_read(store, text, key);
    }
}

static void batch_check(Run *run, int what, char *answer, const char *key)
{
    if (answer_kind(&run->store, answer) != DONE) fail("the store answered before timing", answer);
    if (what == COMPARE || what == COMPARE_CHANGED)
        if (!record_right(&run->store, answer, key, what == COMPARE ? -1 : 0, run->store.fields, run->scratch))
            fail("a record that was read is not the one that was written", key);
}

/* Send requests to one server and take the answers to all. */
static void batch(Run *run, int fd, int what, int count, const int64_t *numbers)
{
    static char *out, *in;
    size_t most = run->room * BATCH, length = 0, sent = 0, have = 0;
    char key[KEY_B];
    if (!out) out = room(most), in = room(most + 1);
    for (int k = 0; k < count; k++) {
        key_name(key, numbers[k]);
        length += batch_request(run, what, out + length, key);
    }
    for (int done = 0; done < count;) {
        struct pollfd wait = {.fd = fd, .events = (short)(POLLIN | (sent < length ? POLLOUT : 0))};
        if (poll(&wait, 1, 20000) <= 0) fail("the store does not answer", NULL);
        ssize_t n = sent < length ? send(fd, out + sent, length - sent, MSG_NOSIGNAL) : 0;
        if (n > 0) sent += (size_t)n;
        n = recv(fd, in + have, most - have, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) fail("the store closed the connection", strerror(errno));
        if (n > 0) have += (size_t)n;
        in[have] = 0;
        for (long one; done < count && (one = answer_length(&run->store, in, have)); done++) {
            if (one < 0) fail("no answer of this protocol", in);
            key_name(key, numbers[done]);
            batch_check(run, what, in, key);
            memmove(in, in + one, have - (size_t)one + 1);
            have -= (size_t)one;
        }
    }
}

static void batches(Run *run, int what, int64_t most)
{
    int64_t numbers[BATCH];
    int each = (int)(BATCH_B / run->store.field_size / (size_t)run->store.fields);
    each = each < 1 ? 1 : each > BATCH ? BATCH : each;
    for (int server = 0; server < run->servers; server++) {
        int count = 0;
        for (int64_t number = 0; number < most; number++) {
            if (server_of(run, number) == server) numbers[count++] = number;
            if (count == each || (count && number == most - 1)) {
                batch(run, run->all->fds[server], what, count, numbers);
                count = 0;
            }
        }
    }
}

static void load(Run *run)
{
    int64_t records = run->work.records, some = records < CHECKED ? records : CHECKED;
    batches(run, LOAD, records);
    if (run->store.kind == REDIS) batches(run, INDEX, records);
    batches(run, COMPARE, records);
    batches(run, CHANGE, some);
    batches(run, COMPARE_CHANGED, some);
    batches(run, RESTORE, some);
    batches(run, COMPARE, some);
}

/* ---- operations */

/* Write the next request of a client's operation. Returns whether there is one. */
static int prepared(Run *run, Client *c)
{
    const Store *store = &run->store;
    c->out_length = c->sent = c->in_length = 0;
    switch (c->operation) {
    case READ:
        if (c->step == 0) c->out_length = request_read(store, c->out, c->name);
        break;
    case UPDATE:
        if (c->step == 0) c->out_length = request_update(store, c->out, c->name, c->field, c->field);
        break;
    case INSERT:
        if (c->step == 0) c->out_length = request_insert(store, c->out, c->name);
        if (c->step == 1 && store->kind == REDIS) c->out_length = request_index(c->out, c->name);
        break;
    case SCAN:
        if (c->step == 0) c->out_length = request_range(c->out, c->name, c->field);
        if (c->step > 0 && c->next < c->found) c->out_length = request_read(store, c->out, c->names[c->next++]);
        break;
    default:
        if (c->step == 0) c->out_length = request_read(store, c->out, c->name);
        if (c->step == 1) c->out_length = request_update(store, c->out, c->name, c->field, c->field);
    }
    return c->out_length > 0;
}

static void transmit(Run *run, Client *c)
{
    int fd = c->fds[c->server], waited = c->sent > 0;
    ssize_t n = send(fd, c->out + c->sent, c->out_length - c->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) fail("sending", strerror(errno));
    if (n > 0) c->sent += (size_t)n, run->sent_B += n;
    if (c->sent < c->out_length || waited) {
        struct epoll_event event = {.events = EPOLLIN | (c->sent < c->out_length ? EPOLLOUT : 0), .data.ptr = c};
        epoll_ctl(run->epoll, EPOLL_CTL_MOD, fd, &event);
    }
}

/* Draw the next operation and send its first request; drawing is not timed. */
static void begin(Run *run, Client *c)
{
    Workload *w = &run->work;
    c->operation = workload_operation(w);
    c->key = c->operation == INSERT ? w->inserted++ : workload_key(w);
    int64_t number = workload_number(w, c->key);
    c->server = server_of(run, number), c->step = c->found = c->next = 0;
    c->field = (int)chance_below(&w->chance, c->operation == SCAN ? w->longest : run->store.fields);
    if (c->operation == SCAN) c->field++;
    key_name(c->name, number);
    prepared(run, c);
    c->busy = 1, run->begun++;
    c->start = now_ns();
    transmit(run, c);
}

/* Take the keys that a scan found. */
static void found(Client *c)
{
    const char *at = strstr(c->in, "\r\n") + 2, *name;
    size_t length;
    long count = strtol(c->in + 1, NULL, 10);
    for (c->found = 0; c->found < count && (name = next_bulk(&at, &length)) && length < KEY_B; c->found++)
        memcpy(c->names[c->found], name, length), c->names[c->found][length] = 0;
}

/* Read what has come. Returns whether the operation has ended. */
static int received(Run *run, Client *c)
{
    ssize_t n = recv(c->fds[c->server], c->in + c->in_length, run->room - c->in_length, 0);
    int64_t time = now_ns();
    if (n == 0) fail("the store closed the connection", NULL);
    if (n < 0 && errno != EAGAIN) fail("receiving", strerror(errno));
    if (n <= 0) return 0;
    c->in_length += (size_t)n, run->received_B += n;
    long whole = answer_length(&run->store, c->in, c->in_length);
    if (whole < 0 || (whole > 0 && (size_t)whole < c->in_length)) fail("no answer of this protocol", c->in);
    if (!whole) return 0;
    c->in[c->in_length] = 0;
    int kind = answer_kind(&run->store, c->in);
    if (kind == REFUSED) fail("the store answered", c->in);
    if (kind == MISSING) run->missing++;
    if (c->operation == SCAN && c->step == 0) found(c);
    c->step++;
    if (prepared(run, c)) {
        transmit(run, c);
        return 0;
    }
    if (c->operation == INSERT) workload_acknowledge(&run->work, c->key);
    Sample one = {c->due - run->origin, c->start - run->origin, time - run->origin, c->operation, c - run->all};
    run->samples[run->ended++] = one;
    c->busy = 0;
    return 1;
}

/* ---- schedules */

static int64_t gap(Run *run)
{
    double mean = 1e9 * run->clients / run->rate;
    return (int64_t)(run->poisson ? -log(1 - chance_unit(&run->work.chance)) * mean : mean);
}

/* Begin what is due on a client that is free. Returns when that will be, if it is later; else 0. */
static int64_t started(Run *run, Client *c, int64_t time)
{
    if (c->busy || run->begun >= run->limit) return 0;
    if (run->rate <= 0) {
        if (time >= run->stop) return 0;
        c->due = time;
        begin(run, c);
        c->due = c->start;
        return 0;
    }
    if (c->due >= run->stop) return 0;
    if (c->due > time) return c->due;
    begin(run, c);
    return 0;
}

static void wait_until(const Run *run, int64_t time)
{
    struct itimerspec when = {.it_value = {time / 1000000000, time % 1000000000}};
    timerfd_settime(run->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void timed(Run *run)
{
    struct epoll_event events[EVENTS];
    int64_t wake = 0, set = 0;
    run->origin = now_ns();
    run->stop = run->origin + (int64_t)(run->seconds * 1e9);
    int64_t last = run->stop + (int64_t)(run->seconds * 1e9) + 1000000000; /* for what is still under way, or waits */
    for (int k = 0; k < run->clients && run->rate > 0; k++)                /* clients begin at moments of their own */
        run->all[k].due = run->origin + (int64_t)(chance_unit(&run->work.chance) * 1e9 * run->clients / run->rate);
    for (int busy = 1; busy;) {
        int64_t time = now_ns();
        wake = 0, busy = 0;
        for (int k = 0; k < run->clients; k++) {
            int64_t later = started(run, run->all + k, time);
            if (later && (!wake || later < wake)) wake = later;
            busy |= run->all[k].busy;
        }
        busy |= wake > 0;
        if (!busy || time > last) break;
        if (wake && wake != set) wait_until(run, set = wake);
        int n = epoll_wait(run->epoll, events, EVENTS, 1000);
        for (int k = 0; k < n; k++) {
            Client *c = events[k].data.ptr;
            uint64_t times;
            if (!c) {
                set = read(run->timer, &times, sizeof times) < 0 ? set : 0;
                continue;
            }
            if (events[k].events & EPOLLOUT) transmit(run, c);
            if (!c->busy || !received(run, c)) continue;
            if (run->rate > 0) c->due += gap(run);
            started(run, c, now_ns());
        }
    }
}

/* ---- arguments and results */

static const char *const NAMES[] = {"reads", "updates", "inserts", "scans", "read_modify_writes"};
static const char *const DISTRIBUTIONS[] = {"zipfian", "uniform", "latest", "hotspot"};

static int place(const char *word, int count, const char *const *list)
{
    for (int k = 0; k < count; k++)
        if (!strcmp(word, list[k])) return k;
    return -1;
}

static const char *given(int argc, char **argv, const char *name, const char *otherwise)
{
    size_t length = strlen(name);
    for (int k = 1; k < argc; k++)
        if (!strncmp(argv[k], name, length) && argv[k][length] == '=') return argv[k] + length + 1;
    return otherwise;
}

static double number(int argc, char **argv, const char *name, double otherwise)
{
    const char *text = given(argc, argv, name, NULL);
    return text ? strtod(text, NULL) : otherwise;
}

static void configure(Run *run, int argc, char **argv)
{
    Workload *w = &run->work;
    run->store.kind = strcmp(given(argc, argv, "store", "redis"), "redis") ? MEMCACHED : REDIS;
    run->store.fields = (int)number(argc, argv, "fields", 10);
    run->store.field_size = (size_t)number(argc, argv, "field_size", 100);
    run->clients = (int)number(argc, argv, "clients", 1);
    run->rate = number(argc, argv, "rate", 0);
    run->poisson = !strcmp(given(argc, argv, "arrivals", "constant"), "poisson");
    run->seconds = number(argc, argv, "seconds", 1);
    run->limit = (int64_t)number(argc, argv, "limit", 1000000);
    w->distribution = place(given(argc, argv, "distribution", "zipfian"), 4, DISTRIBUTIONS);
    w->records = (int64_t)number(argc, argv, "records", 1000);
    w->longest = (int)number(argc, argv, "scan", 100);
    w->hot_data = number(argc, argv, "hot_data", 0.2);
    w->hot_operations = number(argc, argv, "hot_operations", 0.8);
    w->most = run->limit, w->stride = 1;
    for (int k = 0; k < OPERATIONS; k++) w->shares[k] = number(argc, argv, NAMES[k], 0);
    if (w->distribution < 0 || w->records < 2 || run->store.fields < 1 || run->store.fields > 63 || run->limit < 1 ||
        !run->store.field_size || run->clients < 1 || w->longest < 1 || w->longest > SCANNED)
        fail("an argument is out of range", NULL);
    workload_make(w, (int64_t)number(argc, argv, "operations", (double)w->records),
                  (uint64_t)number(argc, argv, "seed", 1));
    run->room = record_room(&run->store) + (w->shares[SCAN] > 0 ? SCANNED * (KEY_B + 16) : 0);
    run->store.value = room(run->store.field_size + SLACK_B), run->scratch = room(run->room * 2);
}

static void open_all(Run *run, int argc, char **argv)
{
    char list[SERVERS * 128];
    const char *where = given(argc, argv, "address", "");
    FILE *file = *where == '@' ? fopen(where + 1, "r") : NULL; /* @FILE holds the list */
    if (*where == '@' && (!file || !fgets(list, sizeof list, file))) fail(where, "cannot be read");
    if (*where != '@') snprintf(list, sizeof list, "%s", where);
    if (file) fclose(file);
    for (char *word = strtok(list, ","); word && run->servers < SERVERS; word = strtok(NULL, ","))
        snprintf(run->addresses[run->servers++], sizeof *run->addresses, "%s", word);
    if (!run->servers) fail("address is missing", NULL);
    run->epoll = epoll_create1(EPOLL_CLOEXEC);
    run->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(run->epoll, EPOLL_CTL_ADD, run->timer, &event);
    run->all = room((size_t)run->clients * sizeof *run->all);
    run->samples = room((size_t)(run->limit + run->clients) * sizeof *run->samples);
    for (Client *c = run->all; c < run->all + run->clients; c++) {
        c->out = room(run->room), c->in = room(run->room + 1);
        if (run->work.shares[SCAN] > 0) c->names = room(SCANNED * KEY_B);
        for (int k = 0; k < run->servers; k++) c->fds[k] = connected(run->addresses[k]);
    }
}

static void watch(Run *run)
{
    for (Client *c = run->all; c < run->all + run->clients; c++)
        for (int k = 0; k < run->servers; k++) {
            struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
            epoll_ctl(run->epoll, EPOLL_CTL_ADD, c->fds[k], &event);
        }
}

int main(int argc, char **argv)
{
    static Run run;
    configure(&run, argc, argv);
    if (argc > 1 && !strcmp(argv[1], "draw")) {
        int64_t every = (int64_t)number(argc, argv, "every", 0); /* after so many a key is inserted */
        for (int64_t k = 1; k <= run.limit; k++) {
            printf("%lld\n", (long long)workload_key(&run.work));
            if (every && k % every == 0) workload_acknowledge(&run.work, run.work.inserted++);
        }
        return 0;
    }
    open_all(&run, argc, argv);
    load(&run);
    watch(&run);
    timed(&run);
    int64_t unfinished = 0;
    for (Client *c = run.all; c < run.all + run.clients; c++)
        for (unfinished += run.rate <= 0 && c->busy; run.rate > 0 && c->due < run.stop; c->due += gap(&run))
            unfinished++;
    FILE *out = fopen(given(argc, argv, "out", "samples"), "wb");
    if (!out || fwrite(run.samples, sizeof *run.samples, (size_t)run.ended, out) != (size_t)run.ended || fclose(out))
        fail("writing samples", strerror(errno));
    if (!unfinished) batches(&run, COMPARE, run.work.known + 1);
    printf("{\"operations\": %lld, \"missing\": %lld, \"unfinished\": %lld, \"sent_B\": %lld, \"received_B\": %lld}\n",
           (long long)run.ended, (long long)run.missing, (long long)unfinished, (long long)run.sent_B,
           (long long)run.received_B);
    return 0;
}
