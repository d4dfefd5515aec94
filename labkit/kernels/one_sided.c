/* One-sided calls under each synchronisation. An active rank reaches into the windows of its peers; `window` calls to
 * each of them lie in one epoch. A sample is one epoch; with pscw or fence IN_TURN it is one epoch each way. */
#include "collective.h"

enum { LOCK, FLUSH, FLUSH_LOCAL, LOCK_ALL, PSCW, FENCE };
enum { ONE_WAY, IN_TURN, AT_ONCE };

#define WIN(call, ...) TRY(job->mpi->Win_##call(__VA_ARGS__));
#define FLUSHED(all)   (n == 1 ? job->mpi->Win_flush##all(job->peers[0], win) : job->mpi->Win_flush##all##_all(win))

#define EXPOSE WIN(post, job->group, 0, win)
#define ACCESS WIN(start, job->group, 0, win)
#define MEET   WIN(fence, 0, win)

/* CALL uses `to`, `at` and `here`: target, where the message lies there, and where it lies at home. One target is the
 * common case, and a call may take no longer than 20 ns, so it has a loop of its own. */
#define CALLS(CALL)                                                                          \
    if (n == 1) {                                                                            \
        const int to = job->peers[0];                                                        \
        int64_t at = job->far_bytes[0];                                                      \
        char *here = local;                                                                  \
        for (int j = job->window; j; j--, at += job->stride, here += job->stride) TRY(CALL); \
    } else                                                                                   \
        for (int j = 0; j < job->window; j++)                                                \
            for (int k = 0; k < n; k++) {                                                    \
                const int to = job->peers[k];                                                \
                const int64_t at = job->far_bytes[k] + j * job->stride;                      \
                char *const here = local + j * job->stride;                                  \
                (void)here;                                                                  \
                TRY(CALL);                                                                   \
            }

#define EPOCHS(name, buffer, CALL)                                                                   \
    KERNEL(name)                                                                                     \
    {                                                                                                \
        const Handle win = job->win;                                                                 \
        const int n = job->npeers, active = job->active, turns = job->turns;                         \
        char *const local = buffer;                                                                  \
        if (job->mode < PSCW && !active) return 0;                                                   \
        switch (job->mode) {                                                                         \
        case LOCK:                                                                                   \
            TIMED(WIN(lock, job->lock, job->peers[0], 0, win) CALLS(CALL) WIN(unlock, job->peers[0], win), ); \
            break;                                                                                   \
        case LOCK_ALL:                                                                               \
            TIMED(WIN(lock_all, 0, win) CALLS(CALL) WIN(unlock_all, win), );                               \
            break;                                                                                   \
        case FLUSH:                                                                                  \
            WIN(lock_all, 0, win)                                                                    \
            TIMED(CALLS(CALL) TRY(FLUSHED());, );                                                      \
            WIN(unlock_all, win)                                                                     \
            break;                                                                                   \
        case FLUSH_LOCAL:                                                                            \
            WIN(lock_all, 0, win)                                                                    \
            TIMED(CALLS(CALL) TRY(FLUSHED(_local));, );                                                \
            WIN(unlock_all, win)                                                                     \
            break;                                                                                   \
        case PSCW:                                                                                   \
            if (turns == AT_ONCE)                                                                    \
                TIMED(EXPOSE ACCESS CALLS(CALL) WIN(complete, win) WIN(wait, win), );                       \
            else if (turns == IN_TURN && active)                                                     \
                TIMED(ACCESS CALLS(CALL) WIN(complete, win) EXPOSE WIN(wait, win), );                       \
            else if (turns == IN_TURN)                                                               \
                UNTIMED(EXPOSE WIN(wait, win) ACCESS CALLS(CALL) WIN(complete, win));                      \
            else if (active)                                                                         \
                TIMED(ACCESS CALLS(CALL) WIN(complete, win), );                                          \
            else                                                                                     \
                UNTIMED(EXPOSE WIN(wait, win));                                                        \
            break;                                                                                   \
        default:                                                                                     \
            if (turns == IN_TURN && active)                                                          \
                TIMED(MEET CALLS(CALL) MEET MEET, );                                                     \
            else if (turns == IN_TURN)                                                               \
                UNTIMED(MEET MEET CALLS(CALL) MEET);                                                    \
            else if (active)                                                                         \
                TIMED(MEET CALLS(CALL) MEET, );                                                         \
            else                                                                                     \
                UNTIMED(MEET MEET);                                                                   \
        }                                                                                            \
        return 0;                                                                                    \
    }

#define MESSAGE here, job->count, job->datatype
#define THERE   to, at, job->count, job->datatype

EPOCHS(put, job->send, job->mpi->Put(MESSAGE, THERE, win))
EPOCHS(get, job->recv, job->mpi->Get(MESSAGE, THERE, win))
EPOCHS(accumulate, job->send, job->mpi->Accumulate(MESSAGE, THERE, job->op, win))
EPOCHS(get_accumulate, job->send, job->mpi->Get_accumulate(MESSAGE, job->recv, job->count, job->datatype, THERE, job->op, win))
EPOCHS(fetch_and_op, job->send, job->mpi->Fetch_and_op(here, job->recv, job->datatype, to, at, job->op, win))
EPOCHS(compare_and_swap, job->send, job->mpi->Compare_and_swap(here, job->extra, job->recv, job->datatype, to, at, win))

/* Whether a put needs the target's help: phase 0 while the target computes outside MPI, phase 1 while it waits inside. */
KERNEL(passive_put)
{
    const Handle win = job->win;
    const int n = job->npeers;
    char *const local = job->send;
    const int64_t steps = job->active ? 0 : steps_for(job->clock);
    if (job->active) WIN(lock_all, 0, win)
    for (int64_t i_ = -job->warmup; i_ < job->iterations; i_++) {
        int64_t took[2] = {0, 0};
        for (int helped = 0; helped < 2; helped++) {
            TRY(job->mpi->Barrier(job->comm));
            if (job->active) {
                const int64_t start = now_ns();
                CALLS(job->mpi->Put(MESSAGE, THERE, win))
                TRY(FLUSHED());
                took[helped] = now_ns() - start;
            } else if (!helped)
                compute(steps);
        }
        if (i_ >= 0 && job->active) job->time_ns[i_] = took[0], PHASE(1) = took[1];
    }
    if (job->active) WIN(unlock_all, win)
    return job->mpi->Barrier(job->comm);
}

/* MPI_Win_create, one fence, MPI_Win_free. */
KERNEL(window_create)
{
    Handle win;
    TIMED(WIN(create, job->recv, (int64_t)job->count, 1, job->info, job->comm, &win) WIN(fence, 0, win) WIN(free, &win),
          BARRIER_IF_ISOLATED);
    return 0;
}
