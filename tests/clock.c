/* Clocks for tests, by LD_PRELOAD. The wall clock jumps: it adds the seconds that the file named by LABKIT_TEST_CLOCK
   holds. The monotonic clock counts steps of LABKIT_TEST_STEP ns.
   libfaketime does the same, but its clock_nanosleep fails with EINVAL when Python 3.11 and later sleep. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long offset(void)
{
    const char *path = getenv("LABKIT_TEST_CLOCK");
    FILE *file = path ? fopen(path, "r") : NULL;
    long seconds = 0;
    if (!file || fscanf(file, "%ld", &seconds) != 1)
        seconds = 0;
    if (file)
        fclose(file);
    return seconds;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*genuine)(clockid_t, struct timespec *);
    if (!genuine)
        genuine = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = genuine(id, now);
    if (!status && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += offset();
    static long step = -1;
    if (step < 0)
        step = getenv("LABKIT_TEST_STEP") ? atol(getenv("LABKIT_TEST_STEP")) : 0;
    if (!status && step > 0 && id == CLOCK_MONOTONIC)
        now->tv_nsec -= now->tv_nsec % step;
    return status;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec at;
    (void)zone;
    int status = clock_gettime(CLOCK_REALTIME, &at);
    now->tv_sec = at.tv_sec, now->tv_usec = at.tv_nsec / 1000;
    return status;
}

time_t time(time_t *now)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (now)
        *now = at.tv_sec;
    return at.tv_sec;
}
