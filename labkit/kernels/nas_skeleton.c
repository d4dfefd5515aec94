/* Messages of a NAS program without its computation: each rank goes through a list of calls in every time step. The list
 * is in `peers`, five numbers for each call. */
#include "nas.h"

enum { MEMORY, STEPS, STRIDE }; /* places; the stride is that of the slots, in elements */
enum { IRECV, ISEND, RECV, SEND, WAIT, WAITALL_OF, REDUCE_LAST }; /* as in benchmarks/compute/_skeletons.py */
enum { TAGS = 16, SLOTS = 12 };

typedef struct {
    int32_t kind, peer, count, tag, slot;
} Call;

typedef struct {
    double *slots;            /* a buffer for each handle */
    int64_t *sent, *received; /* messages so far with each rank and tag */
    const Call *pending[SLOTS];
    int64_t wrong, checked;
} Skeleton;

/* The first and the last element of a message name sender, receiver, tag and number. */
static int64_t stamp(int64_t from, int64_t to, int64_t tag, int64_t number)
{
    return (from << 44) + (to << 28) + (tag << 24) + (number & 0xffffff);
}

static void write_stamps(const Nas *nas, Skeleton *s, const Call *call)
{
    double *buffer = s->slots + call->slot * nas->args->places[STRIDE];
    const int64_t value =
        stamp(nas->args->rank, call->peer, call->tag, s->sent[(int64_t)call->peer * TAGS + call->tag]++);
    memcpy(buffer, &value, sizeof value);
    memcpy(buffer + call->count - 1, &value, sizeof value);
}

static void check_stamps(const Nas *nas, Skeleton *s, const Call *call)
{
    double *buffer = s->slots + call->slot * nas->args->places[STRIDE];
    const int64_t value =
        stamp(call->peer, nas->args->rank, call->tag, s->received[(int64_t)call->peer * TAGS + call->tag]++);
    s->checked++;
    s->wrong += memcmp(buffer, &value, sizeof value) || memcmp(buffer + call->count - 1, &value, sizeof value);
    memset(buffer, 0, sizeof value);
    memset(buffer + call->count - 1, 0, sizeof value);
}

/* A handle is done: what came in is checked. */
static void done(const Nas *nas, Skeleton *s, int slot)
{
    const Call *call = s->pending[slot];
    if (call->kind == IRECV) check_stamps(nas, s, call);
}

static int perform(Nas *nas, Skeleton *s, const Call *call, int last)
{
    const Arguments *args = nas->args;
    double *buffer = s->slots + call->slot * args->places[STRIDE];
    Handle *request = (Handle *)args->requests + call->slot;
    switch (call->kind) {
    case IRECV:
        s->pending[call->slot] = call;
        return nas_irecv(nas, buffer, call->count, call->peer, call->tag, call->slot);
    case ISEND:
        s->pending[call->slot] = call;
        write_stamps(nas, s, call);
        INSIDE(args->mpi->Isend(buffer, call->count, args->datatype, call->peer, call->tag, args->comm, request));
        nas_count(nas, call->peer, call->count);
        return 0;
    case RECV:
        INSIDE(args->mpi->Recv(buffer, call->count, args->datatype, call->peer, call->tag, args->comm, args->statuses));
        check_stamps(nas, s, call);
        return 0;
    case SEND:
        write_stamps(nas, s, call);
        return nas_send(nas, buffer, call->count, call->peer, call->tag);
    case WAIT:
        TRY(nas_wait(nas, call->slot));
        done(nas, s, call->slot);
        return 0;
    case WAITALL_OF:
        INSIDE(args->mpi->Waitall(call->count, (Handle *)args->requests, args->statuses));
        for (int slot = 0; slot < call->count; slot++) done(nas, s, slot);
        return 0;
    default:
        return last ? nas_allreduce(nas, buffer, buffer + call->count, call->count) : 0;
    }
}

static int run(Nas *nas, Skeleton *s, int64_t steps)
{
    const Call *calls = (const Call *)(const void *)nas->args->peers;
    const int64_t count = nas->args->npeers / (int64_t)(sizeof *calls / sizeof calls->kind);
    s->wrong = s->checked = 0;
    for (int64_t step = 0; step < steps; step++)
        for (int64_t k = 0; k < count; k++) TRY(perform(nas, s, calls + k, step == steps - 1));
    return 0;
}

/* Messages of all ranks with wrong stamps, and all that were checked; not counted. */
static int results(const Nas *nas, const Skeleton *s)
{
    const Arguments *args = nas->args;
    const double own[2] = {(double)s->wrong, (double)s->checked};
    return args->mpi->Allreduce(own, nas->results, 2, args->datatype, args->op, args->comm);
}

KERNEL(nas_skeleton)
{
    Nas all = nas_begin(args, sizeof(double)), *nas = &all;
    Skeleton skeleton = {0}, *s = &skeleton;
    TAKE(s->slots, SLOTS * args->places[STRIDE]);
    TAKE(s->sent, (int64_t)args->ranks * TAGS);
    TAKE(s->received, (int64_t)args->ranks * TAGS);
    memset(s->sent, 0, sizeof *s->sent * TAGS * (size_t)args->ranks);
    memset(s->received, 0, sizeof *s->received * TAGS * (size_t)args->ranks);
    NAS_RUNS(TRY(run(nas, s, 1)), TRY(run(nas, s, args->places[STEPS])), TRY(results(nas, s)));
    return 0;
}
