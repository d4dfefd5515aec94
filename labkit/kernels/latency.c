/* Ping-pong: rank 0 sends and waits for the answer of the same size. A sample is one round trip. */
#include "kernel.h"

KERNEL(latency)
{
    if (job->rank == 0)
        TIMED(SEND(job->send, 1) RECV(job->recv, 1), );
    else if (job->rank == 1)
        UNTIMED(RECV(job->recv, 1) SEND(job->send, 1));
    return 0;
}
