/* NAS EP: pairs of normal deviates by the polar method, counted in square annuli; three reductions in the end. */
#include "nas.h"

#include <math.h>

enum { BATCH = 1 << 16, ANNULI = 10 };

typedef struct {
    double x, y, count[ANNULI];
} Sums;

/* One batch of pairs, from its place in the sequence of all random numbers. */
static void batch(int64_t number, Sums *sums)
{
    uint64_t state = nas_skip(271828183, (uint64_t)number * 2 * BATCH);
    for (int i = 0; i < BATCH; i++) {
        const double x = 2 * nas_random(&state) - 1, y = 2 * nas_random(&state) - 1, square = x * x + y * y;
        if (square > 1) continue;
        const double factor = sqrt(-2 * log(square) / square), a = x * factor, b = y * factor;
        sums->count[(int)fmax(fabs(a), fabs(b))]++;
        sums->x += a;
        sums->y += b;
    }
}

static int run(Nas *nas, int64_t batches)
{
    const int64_t ranks = nas->args->ranks, rank = nas->args->rank, each = batches / ranks, more = batches % ranks;
    const int64_t first = rank * each + (rank < more ? rank : more);
    Sums sums = {0, 0, {0}};
    for (int64_t k = first; k < first + each + (rank < more); k++) batch(k, &sums);
    TRY(nas_allreduce(nas, &sums.x, nas->results, 1));
    TRY(nas_allreduce(nas, &sums.y, nas->results + 1, 1));
    return nas_allreduce(nas, sums.count, nas->results + 2, ANNULI);
}

/* places: memory, number of batches. Results: sums of both deviates, and the counts. */
KERNEL(nas_ep)
{
    Nas all = nas_begin(args, sizeof(double)), *nas = &all;
    NAS_RUNS(, TRY(run(nas, args->places[1])), );
    return 0;
}
