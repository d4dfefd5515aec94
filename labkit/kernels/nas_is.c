/* NAS IS: ranks of integer keys by counting, after buckets of keys were sent to the ranks that they belong to. */
#include "nas.h"

#include <stdlib.h>

enum { ROUNDS = 10, TESTS = 5 };
enum { MEMORY, KEYS, KEY_BITS, BUCKET_BITS, CAPACITY, TEST_AT }; /* places */

typedef struct {
    int32_t *keys, *sorted, *received, *held, *total, *cursor, *counts;
    int32_t *sent, *got, *sent_at, *got_at; /* keys to and from each rank, and their places */
    int32_t *ranks;                         /* of the test keys: TESTS of each round */
    int32_t least, most;                    /* keys of this rank: least, and one behind the greatest possible */
    int32_t have;                           /* number of keys received */
} Sort;

static int make(Nas *nas, Sort *sort)
{
    const int64_t *places = nas->args->places;
    const int64_t buckets = (INT64_C(1) << places[BUCKET_BITS]) + TESTS, ranks = nas->args->ranks;
    TAKE(sort->keys, places[CAPACITY]);
    TAKE(sort->sorted, places[CAPACITY]);
    TAKE(sort->received, places[CAPACITY]);
    TAKE(sort->held, buckets);
    TAKE(sort->total, buckets);
    TAKE(sort->cursor, buckets);
    TAKE(sort->sent, ranks);
    TAKE(sort->got, ranks);
    TAKE(sort->sent_at, ranks);
    TAKE(sort->got_at, ranks);
    TAKE(sort->ranks, ROUNDS * TESTS);
    return 0;
}

/* Keys are means of four random numbers; each rank makes its part of one sequence. */
static void fill(const Nas *nas, Sort *sort)
{
    const int64_t mine = nas->args->places[KEYS] / nas->args->ranks;
    const double scale = (double)(INT64_C(1) << nas->args->places[KEY_BITS] >> 2);
    uint64_t state = nas_skip(314159265, (uint64_t)(4 * mine * nas->args->rank));
    for (int64_t i = 0; i < mine; i++) {
        double sum = nas_random(&state);
        for (int k = 1; k < 4; k++) sum += nas_random(&state);
        sort->keys[i] = (int32_t)(scale * sum);
    }
}

/* Which buckets belong to which rank: each takes buckets until the ranks so far have their share of all keys. */
static void share(const Nas *nas, Sort *sort, int64_t mine, int buckets, int shift)
{
    const int ranks = nas->args->ranks, rank = nas->args->rank;
    int64_t sum = 0;
    int32_t local = 0, to = 0, begin = 0;
    sort->least = sort->most = 0;
    memset(sort->sent, 0, (size_t)ranks * sizeof *sort->sent);
    for (int i = 0; i < buckets; i++) {
        sum += sort->total[i];
        local += sort->held[i];
        if (sum < (to + 1) * mine) continue;
        sort->sent[to] = local;
        if (to == rank) sort->least = begin << shift, sort->most = (i + 1) << shift;
        to++, local = 0, begin = i + 1;
    }
    sort->sent_at[0] = 0;
    for (int k = 1; k < ranks; k++) sort->sent_at[k] = sort->sent_at[k - 1] + sort->sent[k - 1];
}

/* One ranking of all keys. */
static int rank_keys(Nas *nas, Sort *sort, int round)
{
    const Arguments *args = nas->args;
    const int64_t *places = args->places, mine = places[KEYS] / args->ranks;
    const int shift = (int)(places[KEY_BITS] - places[BUCKET_BITS]), buckets = 1 << places[BUCKET_BITS];
    int32_t *keys = sort->keys, *held = sort->held, *cursor = sort->cursor;
    if (args->rank == 0) {
        keys[round] = round;
        keys[round + ROUNDS] = (1 << places[KEY_BITS]) - round;
    }
    memset(held, 0, (size_t)(buckets + TESTS) * sizeof *held);
    for (int k = 0; k < TESTS; k++)
        if (places[TEST_AT + k] / mine == args->rank) held[buckets + k] = keys[places[TEST_AT + k] % mine];
    for (int64_t i = 0; i < mine; i++) held[keys[i] >> shift]++;
    cursor[0] = 0;
    for (int i = 1; i < buckets; i++) cursor[i] = cursor[i - 1] + held[i - 1];
    for (int64_t i = 0; i < mine; i++) sort->sorted[cursor[keys[i] >> shift]++] = keys[i];
    TRY(nas_allreduce(nas, held, sort->total, buckets + TESTS));
    share(nas, sort, mine, buckets, shift);

    INSIDE(args->mpi->Alltoall(sort->sent, 1, args->datatype, sort->got, 1, args->datatype, args->comm));
    sort->got_at[0] = 0;
    for (int k = 1; k < args->ranks; k++) sort->got_at[k] = sort->got_at[k - 1] + sort->got[k - 1];
    sort->have = sort->got_at[args->ranks - 1] + sort->got[args->ranks - 1];
    if (sort->have > places[CAPACITY] || sort->most - sort->least > places[CAPACITY]) return -ENOMEM;
    INSIDE(args->mpi->Alltoallv(sort->sorted, sort->sent, sort->sent_at, args->datatype, sort->received, sort->got,
                                sort->got_at, args->datatype, args->comm));
    nas_collective(nas, NAS_ALLTOALL, args->ranks);
    for (int k = 0; k < args->ranks; k++)
        if (sort->sent[k]) nas_count(nas, k, sort->sent[k]);

    int32_t *counts = sort->counts = sort->sorted; /* sent, so that its memory is free */
    const int32_t least = sort->least, range = sort->most - least;
    memset(counts, 0, (size_t)range * sizeof *counts);
    for (int32_t i = 0; i < sort->have; i++) counts[sort->received[i] - least]++;
    for (int32_t i = 1; i < range; i++) counts[i] += counts[i - 1];
    int64_t below = 0;
    for (int i = 0; i < least >> shift; i++) below += sort->total[i];
    for (int k = 0; k < TESTS; k++) {
        const int32_t key = sort->total[buckets + k];
        if (least <= key && key < sort->most && round > 0)
            sort->ranks[(round - 1) * TESTS + k] = (int32_t)below + (key > least ? counts[key - 1 - least] : 0);
    }
    return 0;
}

/* Put the keys in order and count those that are smaller than the one before, also the one on the rank before; add up
 * the ranks of the test keys, each of which one rank knows. */
static int check(Nas *nas, Sort *sort)
{
    const Arguments *args = nas->args;
    int32_t *ordered = sort->keys, wrong = 0, last = -1, total[ROUNDS * TESTS];
    for (int32_t i = 0; i < sort->have; i++) {
        const int32_t at = --sort->counts[sort->received[i] - sort->least];
        if (at < 0 || at >= sort->have) return -EDOM;
        ordered[at] = sort->received[i];
    }
    const int32_t greatest = sort->have ? ordered[sort->have - 1] : -1;
    if (args->rank + 1 < args->ranks)
        TRY(args->mpi->Send(&greatest, 1, args->datatype, args->rank + 1, 1000, args->comm));
    if (args->rank) TRY(args->mpi->Recv(&last, 1, args->datatype, args->rank - 1, 1000, args->comm, args->statuses));
    for (int32_t i = 0; i < sort->have; last = ordered[i++]) wrong += ordered[i] < last;
    TRY(args->mpi->Allreduce(sort->ranks, total, ROUNDS * TESTS, args->datatype, args->op, args->comm));
    for (int k = 0; k < ROUNDS * TESTS; k++) nas->results[k] = total[k];
    TRY(args->mpi->Allreduce(&wrong, total, 1, args->datatype, args->op, args->comm));
    nas->results[ROUNDS * TESTS] = total[0];
    TRY(args->mpi->Allreduce(&sort->have, total, 1, args->datatype, args->op, args->comm));
    nas->results[ROUNDS * TESTS + 1] = total[0];
    return 0;
}

/* Results: ranks of the test keys in each round, keys out of order, keys in all. */
KERNEL(nas_is)
{
    Nas all = nas_begin(args, sizeof(int32_t)), *nas = &all;
    Sort sort;
    TRY(make(nas, &sort));
    NAS_RUNS(fill(nas, &sort); TRY(rank_keys(nas, &sort, 1));
             memset(sort.ranks, 0, ROUNDS * TESTS * sizeof *sort.ranks),
             for (int round = 1; round <= ROUNDS; round++) TRY(rank_keys(nas, &sort, round)), TRY(check(nas, &sort)));
    return 0;
}
