/* Connections over TCP or a Unix socket, the clock, and what ends the program, whose name is PROGRAM. */
#ifndef LABKIT_CONNECTION_H
#define LABKIT_CONNECTION_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, PROGRAM ": %s%s%.200s\n", what, detail ? ": " : "", detail ? detail : "");
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) fail("no memory", NULL);
    memset(memory, 0, bytes);
    return memory;
}

static int connected(const char *address)
{
    char host[128];
    int fd, on = 1;
    if (!strncmp(address, "unix:", 5)) {
        struct sockaddr_un path = {.sun_family = AF_UNIX};
        snprintf(path.sun_path, sizeof path.sun_path, "%s", address + 5);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&path, sizeof path)) fail(address, strerror(errno));
    } else {
        snprintf(host, sizeof host, "%s", address + 4);
        char *port = strrchr(host, ':');
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
        if (strncmp(address, "tcp:", 4) || !port) fail(address, "not tcp:HOST:PORT or unix:PATH");
        *port++ = 0;
        if (getaddrinfo(host, port, &hints, &found)) fail(address, "no numeric address");
        fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen)) fail(address, strerror(errno));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        freeaddrinfo(found);
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

#endif
