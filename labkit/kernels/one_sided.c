/* One-sided calls under each synchronisation. An active rank accesses the windows of its peers, with `window` calls to
 * each of them in one epoch. A sample is one epoch; with pscw or fence IN_TURN it is one epoch each way. */
#include "collective.h"

enum { LOCK, FLUSH, FLUSH_LOCAL, LOCK_ALL, PSCW, FENCE };
enum { ONE_WAY, IN_TURN, AT_ONCE };

#define WIN(call, ...) TRY(args->mpi->Win_##call(__VA_ARGS__));
#define FLUSHED(all)   (n == 1 ? args->mpi->Win_flush##all(args->peers[0], win) : args->mpi->Win_flush##all##_all(win))

#define EXPOSE WIN(post, args->group, 0, win)
#define ACCESS WIN(start, args->group, 0, win)
#define MEET   WIN(fence, 0, win)

/* CALL uses `to`, `at` and `here`: the target, the message's displacement there, and its address here. One target is
 * the common case, and a call may take only 20 ns, so it has its own loop. */
#define CALLS(CALL)                                                                             \
    if (n == 1) {                                                                               \
        const int to = args->peers[0];                                                          \
        int64_t at = args->far_bytes[0];                                                        \
        char *here = local;                                                                     \
        for (int j = args->window; j; j--, at += args->stride, here += args->stride) TRY(CALL); \
    } else                                                                                      \
        for (int j = 0; j < args->window; j++)                                                  \
            for (int k = 0; k < n; k++) {                                                       \
                const int to = args->peers[k];                                                  \
                const int64_t at = args->far_bytes[k] + j * args->stride;                       \
                char *const here = local + j * args->stride;                                    \
                (void)here;                                                                     \
                TRY(CALL);                                                                      \
            }

#define EPOCHS(name, buffer, CALL)                                                                      \
    KERNEL(name)                                                                                        \
    {                                                                                                   \
        const Handle win = args->win;                                                                   \
        const int n = args->npeers, active = args->active, turns = args->turns;                         \
        char *const local = buffer;                                                                     \
        if (args->mode < PSCW && !active) return 0;                                                     \
        switch (args->mode) {                                                                           \
        case LOCK:                                                                                      \
            TIMED(WIN(lock, args->lock, args->peers[0], 0, win) CALLS(CALL) WIN(unlock, args->peers[0], win), ); \
            break;                                                                                      \
        case LOCK_ALL:                                                                                  \
            TIMED(WIN(lock_all, 0, win) CALLS(CALL) WIN(unlock_all, win), );                                  \
            break;                                                                                      \
        case FLUSH:                                                                                     \
            WIN(lock_all, 0, win)                                                                       \
            TIMED(CALLS(CALL) TRY(FLUSHED());, );                                                         \
            WIN(unlock_all, win)                                                                        \
            break;                                                                                      \
        case FLUSH_LOCAL:                                                                               \
            WIN(lock_all, 0, win)                                                                       \
            TIMED(CALLS(CALL) TRY(FLUSHED(_local));, );                                                   \
            WIN(unlock_all, win)                                                                        \
            break;                                                                                      \
        case PSCW:                                                                                      \
            if (turns == AT_ONCE)                                                                       \
                TIMED(EXPOSE ACCESS CALLS(CALL) WIN(complete, win) WIN(wait, win), );                          \
            else if (turns == IN_TURN && active)                                                        \
                TIMED(ACCESS CALLS(CALL) WIN(complete, win) EXPOSE WIN(wait, win), );                          \
            else if (turns == IN_TURN)                                                                  \
                UNTIMED(EXPOSE WIN(wait, win) ACCESS CALLS(CALL) WIN(complete, win));                         \
            else if (active)                                                                            \
                TIMED(ACCESS CALLS(CALL) WIN(complete, win), );                                             \
            else                                                                                        \
                UNTIMED(EXPOSE WIN(wait, win));                                                           \
            break;                                                                                      \
        default:                                                                                        \
            if (turns == IN_TURN && active)                                                             \
                TIMED(MEET CALLS(CALL) MEET MEET, );                                                        \
            else if (turns == IN_TURN)                                                                  \
                UNTIMED(MEET MEET CALLS(CALL) MEET);                                                       \
            else if (active)                                                                            \
                TIMED(MEET CALLS(CALL) MEET, );                                                            \
            else                                                                                        \
                UNTIMED(MEET MEET);                                                                      \
        }                                                                                               \
        return 0;                                                                                       \
    }

#define MESSAGE here, args->count, args->datatype
#define THERE   to, at, args->count, args->datatype

EPOCHS(put, args->send, args->mpi->Put(MESSAGE, THERE, win))
EPOCHS(get, args->recv, args->mpi->Get(MESSAGE, THERE, win))
EPOCHS(accumulate, args->send, args->mpi->Accumulate(MESSAGE, THERE, args->op, win))
EPOCHS(get_accumulate, args->send, args->mpi->Get_accumulate(MESSAGE, args->recv, args->count, args->datatype, THERE,
                                                              args->op, win))
EPOCHS(fetch_and_op, args->send, args->mpi->Fetch_and_op(here, args->recv, args->datatype, to, at, args->op, win))
EPOCHS(compare_and_swap, args->send, args->mpi->Compare_and_swap(here, args->extra, args->recv, args->datatype, to,
                                                                  at, win))

/* Whether a put needs the target's help: phase 0 while the target computes outside MPI, phase 1 while it waits in
 * MPI. */
KERNEL(passive_put)
{
    const Handle win = args->win;
    const int n = args->npeers;
    char *const local = args->send;
    const int64_t steps = args->active ? 0 : steps_for(args->clock);
    if (args->active) WIN(lock_all, 0, win)
    for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) {
        int64_t elapsed[2] = {0, 0};
        for (int helped = 0; helped < 2; helped++) {
            TRY(args->mpi->Barrier(args->comm));
            if (args->active) {
                const int64_t start = now_ns();
                CALLS(args->mpi->Put(MESSAGE, THERE, win))
                TRY(FLUSHED());
                elapsed[helped] = now_ns() - start;
            } else if (!helped)
                compute(steps);
        }
        if (i_ >= 0 && args->active) args->time_ns[i_] = elapsed[0], PHASE(1) = elapsed[1];
    }
    if (args->active) WIN(unlock_all, win)
    return args->mpi->Barrier(args->comm);
}

/* MPI_Win_create, one fence, MPI_Win_free. */
KERNEL(window_create)
{
    Handle win;
    TIMED(WIN(create, args->recv, (int64_t)args->count, 1, args->info, args->comm, &win)
          WIN(fence, 0, win) WIN(free, &win), BARRIER_IF_ISOLATED);
    return 0;
}
