/* Requests to memcached over a Link, and its answers, which come in the order of the requests (text protocol). */
#ifndef LABKIT_MEMCACHED_H
#define LABKIT_MEMCACHED_H

#include "wire.h"

static const char MEMCACHED[] = "memcached:"; /* before the address of one */

/* Read a key (value NULL) or write it. The answer's frame has the id. */
static void memcached_ask(int epoll, Link *link, uint64_t id, int64_t key, const void *value, size_t length)
{
    char line[96];
    int n = value ? snprintf(line, sizeof line, "set %lld 0 0 %zu\r\n", (long long)key, length)
                  : snprintf(line, sizeof line, "get %lld\r\n", (long long)key);
    text_add(&link->out, line, (size_t)n);
    if (value) text_add(&link->out, value, length), text_add(&link->out, "\r\n", 2);
    text_add(&link->asked, &id, sizeof id);
    link_flush(epoll, link);
}

/* The next whole answer of what was read: the value, or nothing where a key is not there or was written. */
static int memcached_next(Link *link, Frame *frame, const char **payload)
{
    const char *text = link->in.at + link->taken;
    size_t have = link->in.length - link->taken;
    const char *end = have ? memmem(text, have, "\r\n", 2) : NULL;
    if (!end) return 0;
    size_t total = (size_t)(end + 2 - text), length = 0;
    if (total > 6 && !memcmp(text, "VALUE ", 6)) {
        const char *count = end;
        while (count[-1] != ' ') count--;
        length = strtoul(count, NULL, 10);
        if (length > LARGEST_B) fail("memcached answered with a value that nobody wrote", NULL);
        *payload = end + 2, total += length + sizeof "\r\nEND\r\n" - 1;
        if (total > have) return 0;
    } else if (memcmp(text, "END", 3) && memcmp(text, "STORED", 6)) {
        fail("memcached refused a request", strndup(text, (size_t)(end - text)));
    }
    if (link->answered + sizeof frame->id > link->asked.length) fail("an answer that nobody waits for", NULL);
    *frame = (Frame){.kind = ANSWER, .length = (uint32_t)length};
    memcpy(&frame->id, link->asked.at + link->answered, sizeof frame->id);
    link->answered += sizeof frame->id, link->taken += total;
    if (link->answered == link->asked.length) link->answered = link->asked.length = 0;
    return 1;
}

#endif
