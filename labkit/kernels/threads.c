/* The same kernel in several threads of a rank at once, each with a job, a communicator and buffers of its own. */
#include <pthread.h>

#include "kernel.h"

typedef struct {
    int (*kernel)(const Job *);
    const Job *job;
    pthread_barrier_t *together;
    int code;
} Thread;

static void *run(void *argument)
{
    Thread *thread = argument;
    pthread_barrier_wait(thread->together);
    thread->code = thread->kernel(thread->job);
    return NULL;
}

enum { MOST_THREADS = 64 };

__attribute__((visibility("default"))) int labkit_run_threads(int (*kernel)(const Job *), const Job *jobs, int n)
{
    Thread threads[MOST_THREADS];
    pthread_t ids[MOST_THREADS];
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, (unsigned)n);
    for (int t = 0; t < n; t++) {
        threads[t] = (Thread){kernel, jobs + t, &together, 0};
        if (t && pthread_create(ids + t, NULL, run, threads + t)) return -1; /* the others wait at the barrier: fatal */
    }
    run(threads);
    int code = threads[0].code;
    for (int t = 1; t < n; t++) {
        pthread_join(ids[t], NULL);
        if (!code) code = threads[t].code;
    }
    pthread_barrier_destroy(&together);
    return code;
}
