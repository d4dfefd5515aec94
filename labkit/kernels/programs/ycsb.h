/* What YCSB draws and stores, in C: generators of its package site.ycsb.generator, keys and values of its CoreWorkload.
 *
 * Read from YCSB's source (brianfrankcooper/YCSB, d9faaac8): ZipfianGenerator after Gray et al., "Quickly generating
 * billion-record synthetic databases" (SIGMOD 1994), ScrambledZipfianGenerator with its constants,
 * SkewedLatestGenerator, UniformLongGenerator, HotspotIntegerGenerator, AcknowledgedCounterGenerator, buildKeyName,
 * buildDeterministicValue. Only the source of chance differs: xoshiro256** with a seed.
 */
#ifndef LABKIT_YCSB_H
#define LABKIT_YCSB_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ, UPDATE, INSERT, SCAN, READ_MODIFY_WRITE, OPERATIONS };
enum { ZIPFIAN, UNIFORM, LATEST, HOTSPOT };
enum { KEY_B = 32, SLACK_B = 64 }; /* a key with its end; what a value may be longer than asked before it is cut */

typedef struct {
    uint64_t state[4];
} Chance;

typedef struct {
    int64_t items, counted; /* of the constructor; those that zetan counts */
    double theta, zetan, zeta2, alpha, eta;
} Zipfian;

typedef struct {
    Chance chance;
    double shares[OPERATIONS];
    int distribution;
    int64_t records, space;       /* loaded before; among which a scrambled Zipfian chooses */
    int64_t inserted, known;      /* next key to insert; last one that the store has acknowledged */
    int64_t most, offset, stride; /* inserts at most; of several clients, which keys this one inserts */
    unsigned char *acknowledged;
    int longest; /* scan, in records */
    double hot_data, hot_operations;
    Zipfian zipfian;
} Workload;

static inline uint64_t chance_next(Chance *chance)
{
    uint64_t *s = chance->state, turned = s[1] * 5, result = ((turned << 7) | (turned >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

static inline void chance_seed(Chance *chance, uint64_t seed)
{
    for (int k = 0; k < 4; k++) { /* splitmix64 */
        uint64_t z = (seed += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        chance->state[k] = z ^ (z >> 31);
    }
}

static inline double chance_unit(Chance *chance) { return (double)(chance_next(chance) >> 11) * 0x1p-53; }

static inline int64_t chance_below(Chance *chance, int64_t limit)
{
    return (int64_t)((chance_next(chance) >> 1) % (uint64_t)limit);
}

/* Utils.fnvhash64 */
static inline int64_t fnvhash64(int64_t value)
{
    uint64_t hash = 0xCBF29CE484222325u, rest = (uint64_t)value;
    for (int k = 0; k < 8; k++, rest >>= 8) hash = (hash ^ (rest & 0xff)) * 1099511628211u;
    return (int64_t)(hash >> 63 ? 0 - hash : hash);
}

static inline double zeta(int64_t from, int64_t to, double theta, double sum)
{
    for (int64_t k = from; k < to; k++) sum += 1 / pow((double)(k + 1), theta);
    return sum;
}

static inline double zipfian_eta(const Zipfian *z)
{
    return (1 - pow(2.0 / (double)z->items, 1 - z->theta)) / (1 - z->zeta2 / z->zetan);
}

static inline void zipfian_make(Zipfian *z, int64_t items, double theta, double zetan)
{
    *z = (Zipfian){.items = items, .counted = items, .theta = theta, .zetan = zetan, .alpha = 1 / (1 - theta)};
    z->zeta2 = zeta(0, 2, theta, 0);
    if (zetan <= 0) z->zetan = zeta(0, items, theta, 0);
    z->eta = zipfian_eta(z);
}

static inline int64_t zipfian_next(Zipfian *z, Chance *chance, int64_t items)
{
    if (items > z->counted) {
        z->zetan = zeta(z->counted, items, z->theta, z->zetan);
        z->counted = items;
        z->eta = zipfian_eta(z);
    }
    double u = chance_unit(chance), uz = u * z->zetan;
    if (uz < 1.0) return 0;
    if (uz < 1.0 + pow(0.5, z->theta)) return 1;
    return (int64_t)((double)items * pow(z->eta * u - z->eta + 1, z->alpha));
}

/* CoreWorkload.init: operations is YCSB's operationcount, from which it expects new keys. */
static inline void workload_make(Workload *w, int64_t operations, uint64_t seed)
{
    chance_seed(&w->chance, seed);
    w->space = w->records + (int64_t)((double)operations * w->shares[INSERT] * 2.0) + 1;
    w->inserted = w->records, w->known = w->records - 1;
    w->acknowledged = calloc((size_t)w->most + 1, 1);
    if (w->distribution == LATEST)
        zipfian_make(&w->zipfian, w->known, 0.99, 0);
    else
        zipfian_make(&w->zipfian, 10000000001, 0.99, 26.46902820178302); /* ITEM_COUNT + 1, ZETAN */
}

static inline int64_t key_drawn(Workload *w)
{
    int64_t hot, total = w->records;
    switch (w->distribution) {
    case ZIPFIAN:
        return fnvhash64(zipfian_next(&w->zipfian, &w->chance, w->zipfian.items)) % w->space;
    case LATEST:
        return w->known - zipfian_next(&w->zipfian, &w->chance, w->known);
    case HOTSPOT:
        hot = (int64_t)((double)total * w->hot_data);
        if (hot == total || (hot && chance_unit(&w->chance) < w->hot_operations)) return chance_below(&w->chance, hot);
        return hot + chance_below(&w->chance, total - hot);
    default:
        return chance_below(&w->chance, total);
    }
}

/* CoreWorkload.nextKeynum: a key that the store has. */
static inline int64_t workload_key(Workload *w)
{
    int64_t key;
    do key = key_drawn(w);
    while (key > w->known);
    return key;
}

/* DiscreteGenerator, in the order of createOperationGenerator. */
static inline int workload_operation(Workload *w)
{
    double value = chance_unit(&w->chance);
    int last = READ;
    for (int k = 0; k < OPERATIONS; k++) {
        if (w->shares[k] <= 0) continue;
        if (value < w->shares[k]) return k;
        value -= w->shares[k], last = k;
    }
    return last;
}

/* AcknowledgedCounterGenerator.acknowledge */
static inline void workload_acknowledge(Workload *w, int64_t key)
{
    w->acknowledged[key - w->records] = 1;
    while (w->known + 1 < w->inserted && w->acknowledged[w->known + 1 - w->records]) w->known++;
}

/* The number of a key among all clients: beyond the loaded ones each client inserts its own. */
static inline int64_t workload_number(const Workload *w, int64_t key)
{
    return key < w->records ? key : w->records + (key - w->records) * w->stride + w->offset;
}

/* CoreWorkload.buildKeyName, insertorder=hashed. */
static inline int key_name(char *text, int64_t number)
{
    return snprintf(text, KEY_B, "user%lld", (long long)fnvhash64(number));
}

/* String.hashCode */
static inline int32_t java_hash(uint32_t hash, const char *text, size_t length)
{
    for (size_t k = 0; k < length; k++) hash = hash * 31 + (unsigned char)text[k];
    return (int32_t)hash;
}

/* CoreWorkload.buildDeterministicValue (dataintegrity=true); the text needs SLACK_B more than the size. */
static inline void value_make(char *text, size_t size, const char *key, int field)
{
    size_t length = (size_t)snprintf(text, SLACK_B, "%s:field%d", key, field), done = 0;
    uint32_t hash = 0;
    while (length < size) {
        text[length++] = ':';
        hash = (uint32_t)java_hash(hash, text + done, length - done);
        done = length;
        length += (size_t)snprintf(text + length, 16, "%d", (int32_t)hash);
    }
}

#endif
