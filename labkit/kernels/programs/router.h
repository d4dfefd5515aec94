/* Router: a key goes to the leaves that its hash names; writes go to all replicas, reads to one of them.
 *
 * After uSuite's Router, whose leaves are memcached and whose hash is SpookyHash: replica i of a key is leaf
 * (hash + i) mod leaves. A leaf is memcached, or a hash table of its own. Keys are drawn as YCSB draws them (scrambled
 * Zipfian). A value is its key's number, a version, and bytes that follow from both, so that any value can be checked.
 */
#ifndef LABKIT_ROUTER_H
#define LABKIT_ROUTER_H

#include "service.h"
#include "ycsb.h"
#include <poll.h>

enum { GET, SET };

typedef struct {
    int64_t key; /* -1: empty */
    char *value;
} Entry;

static struct {
    Entry *entries;
    size_t mask;
    Zipfian zipfian;
    Chance chance;
    uint64_t turn;
} rt;

/* The bytes of a value: key, version, and numbers that follow from them. */
static void rt_value(int64_t key, int64_t version, char *out)
{
    int64_t head[2] = {key, version};
    for (int64_t k = 0; k < job.size; k += 8) {
        uint64_t word = k < 16 ? (uint64_t)head[k / 8] : drawn(21, (uint64_t)(key * 1000003 + version * 65537 + k));
        memcpy(out + k, &word, 8);
    }
}

static Entry *rt_entry(int64_t key)
{
    size_t place = (size_t)fnvhash64(key * 31 + 7) & rt.mask; /* another hash than that which chose the leaf */
    while (rt.entries[place].key >= 0 && rt.entries[place].key != key) place = (place + 1) & rt.mask;
    return rt.entries + place;
}

static int rt_has(int64_t key, int64_t leaf)
{
    return (leaf - fnvhash64(key) % job.leaves + job.leaves) % job.leaves < job.replicas;
}

static void rt_make(int role, int leaf)
{
    if (role == CLIENT) {
        chance_seed(&rt.chance, job.seed);
        zipfian_make(&rt.zipfian, 10000000001, 0.99, 26.46902820178302); /* ITEM_COUNT + 1, ZETAN of YCSB */
    }
    if (role != LEAF) return;
    for (rt.mask = 16; rt.mask < (size_t)job.records * 2; rt.mask *= 2);
    rt.entries = room(rt.mask-- * sizeof *rt.entries);
    for (size_t k = 0; k <= rt.mask; k++) rt.entries[k].key = -1;
    for (int64_t key = 0; key < job.records; key++) {
        if (!rt_has(key, leaf)) continue;
        Entry *entry = rt_entry(key);
        entry->key = key, entry->value = room((size_t)job.size);
        rt_value(key, 0, entry->value);
    }
}

static int64_t rt_key(const Text *request)
{
    int64_t key;
    if (request->length < sizeof key) fail("a request without a key", NULL);
    memcpy(&key, request->at, sizeof key);
    return key;
}

/* Wait until memcached leaves have answered all that they were asked. */
static void rt_settle(void)
{
    Frame frame;
    const char *payload;
    for (int k = 0; k < at.children; k++)
        for (Link *leaf = at.child[k]; leaf->asked.length;) {
            struct pollfd wait = {.fd = leaf->fd, .events = (short)(POLLIN | (leaf->waits ? POLLOUT : 0))};
            if (poll(&wait, 1, 20000) <= 0) fail("memcached does not answer", NULL);
            link_flush(at.epoll, leaf);
            if (wait.revents & ~POLLOUT && !link_read(leaf)) fail("memcached closed the connection", NULL);
            while (memcached_next(leaf, &frame, &payload));
        }
}

/* Write all keys to memcached leaves, each to its replicas. */
static void rt_fill(void)
{
    char *value = room((size_t)job.size);
    for (int64_t key = 0; key < job.records; key++) {
        rt_value(key, 0, value);
        for (int k = 0; k < job.replicas; k++) {
            int64_t leaf = (fnvhash64(key) % job.leaves + k) % job.leaves;
            memcached_ask(at.epoll, at.child[leaf], 0, key, value, (size_t)job.size);
        }
        if (key % 256 == 255) rt_settle();
    }
    rt_settle();
    free(value);
}

static void rt_ask_memcached(Link *leaf, uint64_t id, int64_t operation, const char *payload, size_t length)
{
    int64_t key;
    memcpy(&key, payload, sizeof key);
    memcached_ask(at.epoll, leaf, id, key, operation == SET ? payload + sizeof key : NULL, length - sizeof key);
}

static int rt_next(Pending *p)
{
    if (job.role == LEAF || p->stage) return 0;
    int64_t first = fnvhash64(rt_key(&p->request)) % job.leaves;
    if (p->frame.operation == GET)
        ask(p, (int)((first + (int64_t)(rt.turn++ % (uint64_t)job.replicas)) % job.leaves), p->request.at,
            p->request.length);
    else
        for (int k = 0; k < job.replicas; k++)
            ask(p, (int)((first + k) % job.leaves), p->request.at, p->request.length);
    return 1;
}

static void rt_finish(Pending *p, Text *out)
{
    int64_t key = rt_key(&p->request);
    if (job.role != LEAF) {
        int stored = at.child[0]->foreign && p->frame.operation == SET; /* memcached does not repeat the key */
        text_add(out, stored ? (const void *)&key : p->answers[0].at, stored ? sizeof key : p->answers[0].length);
        return;
    }
    Entry *entry = rt_entry(key);
    if (entry->key != key) return; /* an empty answer: not there */
    if (p->frame.operation == GET) {
        text_add(out, entry->value, (size_t)job.size);
        return;
    }
    if (p->request.length != sizeof key + (size_t)job.size) fail("a value of another length", NULL);
    memcpy(entry->value, p->request.at + sizeof key, (size_t)job.size);
    text_add(out, &key, sizeof key);
}

static int64_t rt_query(int64_t number, Text *out)
{
    int64_t key = fnvhash64(zipfian_next(&rt.zipfian, &rt.chance, rt.zipfian.items)) % job.records;
    int64_t operation = chance_unit(&rt.chance) < job.reads ? GET : SET;
    text_add(out, &key, sizeof key);
    if (operation == SET) {
        rt_value(key, number + 1, text_room(out, (size_t)job.size));
        out->length += (size_t)job.size;
    }
    return operation;
}

/* A value that was read must be one that was written to its key, whole; a write is answered with its key. */
static int rt_right(const Text *query, int64_t operation, const char *answer, size_t length)
{
    static char *whole;
    int64_t key = rt_key(query), version;
    if (operation == SET) return length == sizeof key && !memcmp(answer, &key, sizeof key);
    if (length != (size_t)job.size) return 0;
    if (!whole) whole = room((size_t)job.size);
    memcpy(&version, answer + 8, sizeof version);
    if (version < 0 || version > CALLS * 1000) return 0;
    rt_value(key, version, whole);
    return !memcmp(whole, answer, length);
}

#endif
