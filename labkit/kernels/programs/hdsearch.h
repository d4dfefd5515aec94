/* HDSearch: the k vectors nearest to a query. The mid-tier has an index by locality-sensitive hashing that names
 * candidates; each leaf has a shard of the vectors and computes distances; the mid-tier merges.
 *
 * After uSuite's HDSearch (Sriraman and Wenisch, IISWC 2018): index in the mid-tier, contiguous shards, the candidates'
 * numbers sent to the leaves, L2 distance. Its index is FLANN's over bytes; here a bit of a key is the side of a random
 * hyperplane, and keys that differ in one bit are probed too. A query is sent as a vector, not as its number.
 */
#ifndef LABKIT_HDSEARCH_H
#define LABKIT_HDSEARCH_H

#include "service.h"

enum { CENTRES = 64, TABLES = 8, NEAREST = 10 };

typedef struct {
    float distance;
    uint32_t number;
} Near;

static struct {
    int64_t first, last; /* vectors that this service has */
    int dimensions, bits;
    float *vectors, *planes;
    uint32_t *order[TABLES], *begin[TABLES]; /* numbers by key, and where those of a key begin */
    uint32_t *seen, round;
} hd;

/* Element of a vector: one of the centres, and noise. Vector numbers from `records` on are queries. */
static void hd_vector(int64_t number, float *out)
{
    uint64_t centre = drawn(1, (uint64_t)(number < job.records ? number : number * 31)) % CENTRES;
    for (int d = 0; d < hd.dimensions; d++)
        out[d] = (float)unit(2, centre * 65536 + (uint64_t)d) +
                 0.5f * ((float)unit(3, (uint64_t)number * 65536 + (uint64_t)d) - 0.5f);
}

__attribute__((noinline)) static uint32_t hd_key(const float *vector, int table)
{
    uint32_t key = 0;
    for (int b = 0; b < hd.bits; b++) {
        const float *plane = hd.planes + ((size_t)table * (size_t)hd.bits + (size_t)b) * (size_t)hd.dimensions;
        float side = 0;
        for (int d = 0; d < hd.dimensions; d++) side += plane[d] * (vector[d] - 0.5f);
        key |= (uint32_t)(side > 0) << b;
    }
    return key;
}

__attribute__((noinline)) static float hd_distance(const float *a, const float *b)
{
    float sums[8] = {0}, sum = 0;
    int d = 0;
    for (; d + 8 <= hd.dimensions; d += 8)
        for (int k = 0; k < 8; k++) sums[k] += (a[d + k] - b[d + k]) * (a[d + k] - b[d + k]);
    for (; d < hd.dimensions; d++) sum += (a[d] - b[d]) * (a[d] - b[d]);
    for (int k = 0; k < 8; k++) sum += sums[k];
    return sum;
}

static int64_t hd_shard(int64_t leaf) { return leaf * job.records / job.leaves; }

static int hd_nearer(const void *a, const void *b)
{
    const Near *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void hd_make(int role, int leaf)
{
    int whole = role != LEAF;
    hd.dimensions = (int)(job.size / (int64_t)sizeof(float)), hd.bits = 4;
    while (hd.bits < 16 && (job.records >> hd.bits) > 32) hd.bits++;
    hd.first = whole ? 0 : hd_shard(leaf), hd.last = whole ? job.records : hd_shard(leaf + 1);
    size_t each = (size_t)hd.dimensions, count = (size_t)(hd.last - hd.first);
    hd.vectors = role == FRONT ? NULL : room(count * each * sizeof(float));
    float *one = room(each * sizeof(float));
    if (whole && job.exact == 0) {
        size_t planes = (size_t)TABLES * (size_t)hd.bits * each, keys = (size_t)1 << hd.bits;
        hd.planes = room(planes * sizeof(float)), hd.seen = room(count * sizeof(uint32_t));
        for (size_t k = 0; k < planes; k++) hd.planes[k] = (float)unit(4, k) - 0.5f;
        for (int t = 0; t < TABLES; t++)
            hd.order[t] = room(count * sizeof(uint32_t)), hd.begin[t] = room((keys + 2) * sizeof(uint32_t));
        uint32_t *found = room(count * TABLES * sizeof(uint32_t));
        for (size_t k = 0; k < count; k++) {
            hd_vector((int64_t)k, one);
            for (int t = 0; t < TABLES; t++) hd.begin[t][(found[k * TABLES + (size_t)t] = hd_key(one, t)) + 2]++;
        }
        for (int t = 0; t < TABLES; t++) {
            for (size_t k = 2; k < keys + 2; k++) hd.begin[t][k] += hd.begin[t][k - 1];
            for (size_t k = 0; k < count; k++)
                hd.order[t][hd.begin[t][found[k * TABLES + (size_t)t] + 1]++] = (uint32_t)k;
        }
        free(found);
    }
    for (size_t k = 0; k < count && hd.vectors; k++) hd_vector(hd.first + (int64_t)k, hd.vectors + k * each);
    free(one);
}

/* Numbers of the vectors that share a key with the query in a table, or a key that differs in one bit; sorted. */
static void hd_candidates(const float *query, Text *out)
{
    hd.round++;
    for (int t = 0; t < TABLES; t++) {
        uint32_t key = hd_key(query, t);
        for (int b = -1; b < hd.bits; b++) {
            uint32_t probe = b < 0 ? key : key ^ (1u << b);
            for (uint32_t k = hd.begin[t][probe]; k < hd.begin[t][probe + 1]; k++) {
                uint32_t number = hd.order[t][k];
                if (hd.seen[number] == hd.round) continue;
                hd.seen[number] = hd.round;
                text_add(out, &number, sizeof number);
            }
        }
    }
}

/* The nearest of some vectors, or of all that this service has, nearest first. */
static void hd_nearest(const float *query, const uint32_t *numbers, size_t count, int all, Text *out)
{
    Near best[NEAREST + 1];
    size_t have = 0, most = all ? (size_t)(hd.last - hd.first) : count;
    for (size_t k = 0; k < most; k++) {
        uint32_t number = all ? (uint32_t)((size_t)hd.first + k) : numbers[k];
        if (number < hd.first || number >= hd.last) fail("a vector of another leaf was asked for", NULL);
        const float *vector = hd.vectors + (size_t)(number - hd.first) * (size_t)hd.dimensions;
        Near one = {hd_distance(query, vector), number};
        if (have == NEAREST && hd_nearer(&one, best + NEAREST - 1) >= 0) continue;
        size_t at = have < NEAREST ? have++ : NEAREST - 1;
        for (; at > 0 && hd_nearer(&one, best + at - 1) < 0; at--) best[at] = best[at - 1];
        best[at] = one;
    }
    text_add(out, best, have * sizeof *best);
}

/* Mid-tier: ask every leaf, then merge. */
static int hd_next(Pending *p)
{
    if (job.role == LEAF || p->stage) return 0;
    static Text found;
    static Text *parts;
    const float *query = (const float *)(const void *)p->request.at;
    if (!parts) parts = room((size_t)job.leaves * sizeof *parts);
    for (int leaf = 0; leaf < job.leaves; leaf++) {
        parts[leaf].length = 0;
        text_add(parts + leaf, query, p->request.length);
    }
    found.length = 0;
    if (!job.exact) hd_candidates(query, &found);
    for (size_t k = 0; k < found.length; k += sizeof(uint32_t)) {
        uint32_t number;
        memcpy(&number, found.at + k, sizeof number);
        int64_t leaf = (int64_t)number * job.leaves / job.records;
        while (number < hd_shard(leaf)) leaf--;
        while (number >= hd_shard(leaf + 1)) leaf++;
        text_add(parts + leaf, &number, sizeof number);
    }
    for (int leaf = 0; leaf < job.leaves; leaf++) ask(p, leaf, parts[leaf].at, parts[leaf].length);
    return 1;
}

static void hd_finish(Pending *p, Text *out)
{
    size_t query = (size_t)job.size;
    if (p->request.length < query) fail("a query is shorter than a vector", NULL);
    if (job.role == LEAF) {
        const uint32_t *numbers = (const uint32_t *)(const void *)(p->request.at + query);
        hd_nearest((const float *)(const void *)p->request.at, numbers, (p->request.length - query) / sizeof *numbers,
                   job.exact, out);
        return;
    }
    static Text all;
    all.length = 0;
    for (int k = 0; k < p->asked; k++) text_add(&all, p->answers[k].at, p->answers[k].length);
    qsort(all.at, all.length / sizeof(Near), sizeof(Near), hd_nearer);
    text_add(out, all.at, all.length < NEAREST * sizeof(Near) ? all.length : NEAREST * sizeof(Near));
}

static int64_t hd_query(int64_t number, Text *out)
{
    text_room(out, (size_t)job.size);
    hd_vector(job.records + number, (float *)(void *)out->at);
    out->length = (size_t)job.size;
    return 0;
}

/* What the service must answer, in one process and without shards; with the share of the true nearest found. */
static void hd_expected(const Text *query, int64_t operation, Text *out)
{
    static Text found, exact;
    const float *vector = (const float *)(const void *)query->at;
    (void)operation;
    found.length = exact.length = 0;
    hd_nearest(vector, NULL, 0, 1, &exact);
    if (job.exact) {
        text_add(out, exact.at, exact.length);
        return;
    }
    hd_candidates(vector, &found);
    hd_nearest(vector, (const uint32_t *)(const void *)found.at, found.length / sizeof(uint32_t), 0, out);
    job.candidates += (double)(found.length / sizeof(uint32_t)) / (double)job.records;
    for (size_t a = 0; a < exact.length; a += sizeof(Near))
        for (size_t b = 0; b < out->length; b += sizeof(Near))
            job.recalled += !memcmp(exact.at + a, out->at + b, sizeof(Near));
    job.recallable += (double)(exact.length / sizeof(Near));
}

#endif
