/* The same kernel in several threads of a rank at once, each with its own arguments, communicator and buffers. */
#include <pthread.h>

#include "kernel.h"

typedef struct {
    int (*kernel)(const Arguments *);
    const Arguments *args;
    pthread_barrier_t *start;
    int code;
} Thread;

static void *run(void *argument)
{
    Thread *thread = argument;
    pthread_barrier_wait(thread->start);
    thread->code = thread->kernel(thread->args);
    return NULL;
}

enum { MOST_THREADS = 64 };

__attribute__((visibility("default"))) int labkit_run_threads(int (*kernel)(const Arguments *), const Arguments *args,
                                                              int n)
{
    Thread threads[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int t = 0; t < n; t++) {
        threads[t] = (Thread){kernel, args + t, &start, 0};
        const int failed = t ? pthread_create(ids + t, NULL, run, threads + t) : 0;
        if (failed) return -failed; /* fatal: others wait at the barrier */
    }
    run(threads);
    int code = threads[0].code;
    for (int t = 1; t < n; t++) {
        pthread_join(ids[t], NULL);
        if (!code) code = threads[t].code;
    }
    pthread_barrier_destroy(&start);
    return code;
}
