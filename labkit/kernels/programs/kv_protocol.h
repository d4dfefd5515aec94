/* Requests and answers of the stores: RESP 2 (redis) and the text protocol of memcached, as YCSB's bindings use them.
 *
 * redis (YCSB's RedisClient): a record is a hash, HMSET and HGETALL; an insert also enters the key into the sorted set
 * _indices by the hash code of its name; a scan takes keys from there by ZRANGEBYSCORE and reads each record.
 * memcached (YCSB's MemcachedClient): a record is a JSON object, get, add and replace. YCSB replaces the object by the
 * one field that it updates; here an update writes all fields (writeallfields=true), so that records keep their size.
 */
#ifndef LABKIT_KV_PROTOCOL_H
#define LABKIT_KV_PROTOCOL_H

#include "ycsb.h"

enum { REDIS, MEMCACHED };
enum { DONE = 1, MISSING = 2, REFUSED = 3 }; /* what an answer says */

typedef struct {
    int kind, fields;
    size_t field_size;
    char *value; /* scratch: one value */
} Store;

static size_t record_room(const Store *store) { return (size_t)store->fields * (store->field_size + 64) + 256; }

/* ---- answers */

/* Bytes of the whole RESP answer that the text begins with; 0 while some are missing, -1 if it is none. */
static long resp_length(const char *text, size_t length)
{
    const char *end = length ? memmem(text, length, "\r\n", 2) : NULL;
    if (!end) return 0;
    long total = end + 2 - text, count = strtol(text + 1, NULL, 10);
    switch (*text) {
    case '+':
    case '-':
    case ':':
        return total;
    case '$':
        if (count < 0) return total;
        return (size_t)(total + count + 2) <= length ? total + count + 2 : 0;
    case '*':
        while (count-- > 0) {
            long one = resp_length(text + total, length - (size_t)total);
            if (one <= 0) return one;
            total += one;
        }
        return total;
    default:
        return -1;
    }
}

/* The same of memcached: a line, or VALUE with its data and END. */
static long text_length(const char *text, size_t length)
{
    const char *end = length ? memmem(text, length, "\r\n", 2) : NULL;
    if (!end) return 0;
    long total = end + 2 - text;
    if (length < 6 || memcmp(text, "VALUE ", 6)) return total;
    const char *number = end;
    while (number[-1] != ' ') number--;
    total += strtol(number, NULL, 10) + 2 + 5;
    return (size_t)total <= length ? total : 0;
}

static long answer_length(const Store *store, const char *text, size_t length)
{
    return store->kind == REDIS ? resp_length(text, length) : text_length(text, length);
}

/* Whether the store did what it was asked. */
static int answer_kind(const Store *store, const char *text)
{
    if (store->kind == REDIS)
        return *text == '-' ? REFUSED : !memcmp(text, "$-1", 3) || !memcmp(text, "*0", 2) ? MISSING : DONE;
    if (!memcmp(text, "VALUE", 5) || !memcmp(text, "STORED", 6)) return DONE;
    return !memcmp(text, "END", 3) || !memcmp(text, "NOT_", 4) ? MISSING : REFUSED;
}

/* ---- requests: each is appended to the text, and its length is returned */

static size_t bulk(char *text, const char *data, size_t length)
{
    size_t at = (size_t)sprintf(text, "$%zu\r\n", length);
    memcpy(text + at, data, length);
    memcpy(text + at + length, "\r\n", 2);
    return at + length + 2;
}

static size_t words(char *text, int count, const char *const *list)
{
    size_t at = (size_t)sprintf(text, "*%d\r\n", count);
    for (int k = 0; k < count; k++) at += bulk(text + at, list[k], strlen(list[k]));
    return at;
}

/* All fields of a record as JSON. The value of a field is that of `origin`, which is its own unless it is changed. */
static size_t json(const Store *store, char *text, const char *key, int changed, int origin)
{
    size_t at = 0;
    for (int field = 0; field < store->fields; field++) {
        at += (size_t)sprintf(text + at, "%s\"field%d\":\"", field ? "," : "{", field);
        value_make(text + at, store->field_size, key, field == changed ? origin : field);
        at += store->field_size;
        text[at++] = '"';
    }
    text[at++] = '}';
    return at;
}

static size_t request_read(const Store *store, char *text, const char *key)
{
    if (store->kind == REDIS) return words(text, 2, (const char *const[]){"HGETALL", key});
    return (size_t)sprintf(text, "get usertable-%s\r\n", key);
}

/* HMSET of the fields from first on. */
static size_t hmset(const Store *store, char *text, const char *key, int first, int count, int origin)
{
    char name[16];
    size_t at = (size_t)sprintf(text, "*%d\r\n$5\r\nHMSET\r\n", 2 + 2 * count);
    at += bulk(text + at, key, strlen(key));
    for (int field = first; field < first + count; field++) {
        at += bulk(text + at, name, (size_t)sprintf(name, "field%d", field));
        value_make(store->value, store->field_size, key, origin < 0 ? field : origin);
        at += bulk(text + at, store->value, store->field_size);
    }
    return at;
}

static size_t text_store(const Store *store, char *text, const char *verb, const char *key, int changed, int origin)
{
    char head[128], *body = text + sizeof head;
    size_t length = json(store, body, key, changed, origin);
    size_t at = (size_t)sprintf(head, "%s usertable-%s 0 0 %zu\r\n", verb, key, length);
    memcpy(text, head, at);
    memmove(text + at, body, length);
    memcpy(text + at + length, "\r\n", 2);
    return at + length + 2;
}

static size_t request_insert(const Store *store, char *text, const char *key)
{
    if (store->kind == REDIS) return hmset(store, text, key, 0, store->fields, -1);
    return text_store(store, text, "add", key, -1, -1);
}

/* Write one field, with the value of the field `origin`. */
static size_t request_update(const Store *store, char *text, const char *key, int field, int origin)
{
    if (store->kind == REDIS) return hmset(store, text, key, field, 1, origin);
    return text_store(store, text, "replace", key, field, origin);
}

/* Enter a key into YCSB's index of all keys. */
static size_t request_index(char *text, const char *key)
{
    char score[16];
    sprintf(score, "%d", java_hash(0, key, strlen(key)));
    return words(text, 4, (const char *const[]){"ZADD", "_indices", score, key});
}

static size_t request_range(char *text, const char *key, int count)
{
    char score[16], number[16];
    sprintf(score, "%d", java_hash(0, key, strlen(key)));
    sprintf(number, "%d", count);
    return words(text, 7, (const char *const[]){"ZRANGEBYSCORE", "_indices", score, "+inf", "LIMIT", "0", number});
}

/* ---- verification, untimed */

/* The next bulk of a RESP array; NULL if it is none. */
static const char *next_bulk(const char **text, size_t *length)
{
    if (**text != '$') return NULL;
    *length = (size_t)strtol(*text + 1, NULL, 10);
    const char *data = strstr(*text, "\r\n") + 2;
    *text = data + *length + 2;
    return data;
}

/* Whether an answer holds every byte of a record, one field of which may have the value of another. */
static int record_right(const Store *store, const char *answer, const char *key, int changed, int origin, char *scratch)
{
    if (store->kind == MEMCACHED) {
        const char *data = strstr(answer, "\r\n");
        size_t wanted = json(store, scratch, key, changed, origin);
        size_t head = (size_t)sprintf(scratch + wanted + 1, "VALUE usertable-%s 0 %zu\r\n", key, wanted);
        return data && !memcmp(answer, scratch + wanted + 1, head) && !memcmp(data + 2, scratch, wanted);
    }
    const char *at = strstr(answer, "\r\n") + 2;
    unsigned long long seen = 0;
    if (*answer != '*' || strtol(answer + 1, NULL, 10) != 2 * store->fields) return 0;
    for (int k = 0; k < store->fields; k++) {
        size_t name_length, length;
        const char *name = next_bulk(&at, &name_length), *data = name ? next_bulk(&at, &length) : NULL;
        if (!data || name_length < 6 || memcmp(name, "field", 5) || length != store->field_size) return 0;
        int field = (int)strtol(name + 5, NULL, 10);
        value_make(scratch, length, key, field == changed ? origin : field);
        if (field < 0 || field >= store->fields || memcmp(data, scratch, length)) return 0;
        seen |= 1ull << field;
    }
    return seen == (1ull << store->fields) - 1;
}

#endif
