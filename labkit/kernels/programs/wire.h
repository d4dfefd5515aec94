/* Frames between services: a header of 40 B and a payload, over a connection that carries many requests at once.
 *
 * Numbers are in the byte order of the machine. An answer repeats the id of its request, so answers may come in any
 * order. trace and parent are those of OpenTelemetry's context (trace 0: not recorded).
 */
#ifndef LABKIT_WIRE_H
#define LABKIT_WIRE_H

#include "connection.h"
#include <sys/epoll.h>
#include <unistd.h>

enum { REQUEST, ANSWER, FLUSH, FLUSHED };
enum { READ_B = 65536, LARGEST_B = 64 << 20 };

typedef struct {
    uint32_t length, kind; /* of the payload, B */
    int64_t operation;
    uint64_t id, trace, parent;
} Frame;

typedef struct {
    char *at;
    size_t length, room;
} Text;

typedef struct Link {
    int fd, number, waits, foreign; /* waits: for room to send; foreign: another protocol than this one */
    Text in, out, asked;            /* asked: ids of requests in a protocol without ids, in their order */
    size_t sent, taken, answered;
} Link;

static char *text_room(Text *text, size_t more)
{
    if (text->length + more > text->room) {
        text->room = (text->length + more) * 2;
        text->at = realloc(text->at, text->room);
        if (!text->at) fail("no memory", NULL);
    }
    return text->at + text->length;
}

static void text_add(Text *text, const void *from, size_t length)
{
    memcpy(text_room(text, length), from, length);
    text->length += length;
}

static Link *link_new(int epoll, int fd, int number)
{
    Link *link = room(sizeof *link);
    link->fd = fd, link->number = number;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll", strerror(errno));
    return link;
}

/* Send what waits, as far as it goes. */
static void link_flush(int epoll, Link *link)
{
    while (link->sent < link->out.length) {
        ssize_t n = send(link->fd, link->out.at + link->sent, link->out.length - link->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) link->out.length = link->sent = 0; /* the other end has gone: recv tells */
        if (n < 0) break;
        link->sent += (size_t)n;
    }
    int waits = link->sent < link->out.length;
    if (!waits) link->out.length = link->sent = 0;
    if (waits != link->waits) {
        struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = link};
        epoll_ctl(epoll, EPOLL_CTL_MOD, link->fd, &event);
        link->waits = waits;
    }
}

static void link_send(int epoll, Link *link, Frame frame, const void *payload, size_t length)
{
    frame.length = (uint32_t)length;
    text_add(&link->out, &frame, sizeof frame);
    if (length) text_add(&link->out, payload, length);
    link_flush(epoll, link);
}

/* Read what has come. Returns 0 once the other end has closed. */
static int link_read(Link *link)
{
    if (link->taken) {
        memmove(link->in.at, link->in.at + link->taken, link->in.length - link->taken);
        link->in.length -= link->taken, link->taken = 0;
    }
    for (;;) {
        ssize_t n = recv(link->fd, text_room(&link->in, READ_B), READ_B, 0);
        if (n > 0) link->in.length += (size_t)n;
        if (n == READ_B || (n < 0 && errno == EINTR)) continue;
        return n > 0 || (n < 0 && errno == EAGAIN);
    }
}

/* The next whole frame of what was read; its payload follows it. */
static int link_next(Link *link, Frame *frame, const char **payload)
{
    size_t have = link->in.length - link->taken;
    if (have < sizeof *frame) return 0;
    memcpy(frame, link->in.at + link->taken, sizeof *frame);
    if (frame->length > LARGEST_B || frame->kind > FLUSHED) fail("not a frame of this protocol", NULL);
    if (have < sizeof *frame + frame->length) return 0;
    *payload = link->in.at + link->taken + sizeof *frame;
    link->taken += sizeof *frame + frame->length;
    return 1;
}

/* ---- arguments, each as name=value */

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

#endif
