/* NAS MG: a Poisson equation on a cube with periodic sides by V-cycles. Ranks form a grid of boxes, each with a layer of
 * its neighbours' cells. On coarse grids some ranks have no cells. */
#include "nas.h"

#include <math.h>

enum { LEVELS = 12, CHARGES = 10, AXES = 3 };
enum { MEMORY, SIDE, CYCLES, SMOOTHER }; /* places; SMOOTHER: 0 for the small classes, 1 for the others */

/* Index 0 is the fastest. Cells 0 and n-1 of each axis are those of neighbours. */
typedef struct {
    int32_t n[AXES];
    int32_t neighbour[AXES][2]; /* rank below and above */
    int idle, gives[AXES], takes[AXES];
    double *u, *r;
} Level;

typedef struct {
    int top; /* levels are 1 to top */
    int32_t first[AXES];
    Level level[LEVELS + 1];
    double *v, *row[2], *out[2], *in[2];
    int32_t capacity; /* values of a message */
} Mg;

static int64_t cells(const Level *level) { return (int64_t)level->n[0] * level->n[1] * level->n[2]; }

#define AT(level, i, j, k) ((int64_t)(i) + (int64_t)(level)->n[0] * ((j) + (int64_t)(level)->n[1] * (k)))

/* Cells of place `at` of `parts` on a side of so many cells. */
static int32_t share(int64_t at, int64_t parts, int64_t side)
{
    return (int32_t)((at + 1) * side / parts - at * side / parts);
}

static int make(Nas *nas, Mg *mg)
{
    const Arguments *args = nas->args;
    const int64_t side = args->places[SIDE];
    int log = 0, bits[AXES];
    for (int64_t n = side; n > 1; n /= 2) mg->top++;
    while (1 << (log + 1) <= args->ranks) log++;
    bits[0] = log / 3, bits[1] = (log - bits[0]) / 2, bits[2] = log - bits[0] - bits[1];
    int32_t parts[AXES], at[AXES], step[AXES] = {1, 1, 1}, stride[AXES];
    for (int axis = 0, rest = args->rank, product = 1; axis < AXES; axis++) {
        parts[axis] = 1 << bits[axis];
        at[axis] = rest % parts[axis], rest /= parts[axis];
        stride[axis] = product, product *= parts[axis];
        mg->first[axis] = (int32_t)(at[axis] * side / parts[axis]);
    }
    for (int k = mg->top; k > 0; k--) {
        Level *level = mg->level + k;
        const int64_t wide = side >> (mg->top - k);
        for (int axis = 0; axis < AXES; axis++) {
            const int32_t mine = share(at[axis], parts[axis], wide);
            const int32_t next = share(at[axis] + step[axis], parts[axis], wide);
            level->n[axis] = mine + 2;
            if (!mine) level->idle = 1;
            if (!mine || !next) step[axis] *= 2;
            if (k < mg->top) {
                if (mine && !next) level[1].gives[axis] = 1;
                if (!mine && next) level[1].takes[axis] = 1;
            }
            for (int up = 0; up < 2; up++) {
                const int32_t to = (at[axis] + (up ? step[axis] : -step[axis]) + parts[axis]) % parts[axis];
                level->neighbour[axis][up] = args->rank + (to - at[axis]) * stride[axis];
            }
        }
        TAKE(level->u, cells(level));
        TAKE(level->r, cells(level));
    }
    const Level *top = mg->level + mg->top;
    int32_t face = 0;
    for (int axis = 0; axis < AXES; axis++) {
        const int32_t size = (int32_t)(cells(top) / top->n[axis]);
        if (size > face) face = size;
    }
    mg->capacity = 2 * face;
    TAKE(mg->v, cells(top));
    for (int k = 0; k < 2; k++) {
        TAKE(mg->row[k], top->n[0]);
        TAKE(mg->out[k], mg->capacity);
        TAKE(mg->in[k], mg->capacity);
    }
    return 0;
}

/* A box of cells, from each axis' first to its end. */
typedef struct {
    int32_t from[AXES], to[AXES];
} Box;

static int32_t pack(const Level *level, const double *u, Box box, double *to)
{
    int32_t count = 0;
    const int32_t wide = box.to[0] - box.from[0];
    for (int32_t k = box.from[2]; k < box.to[2]; k++)
        for (int32_t j = box.from[1]; j < box.to[1]; j++, count += wide)
            for (int32_t i = 0; i < wide; i++) to[count + i] = u[AT(level, box.from[0] + i, j, k)];
    return count;
}

static void unpack(const Level *level, double *u, Box box, const double *from)
{
    int32_t count = 0;
    const int32_t wide = box.to[0] - box.from[0];
    for (int32_t k = box.from[2]; k < box.to[2]; k++)
        for (int32_t j = box.from[1]; j < box.to[1]; j++, count += wide)
            for (int32_t i = 0; i < wide; i++) u[AT(level, box.from[0] + i, j, k)] = from[count + i];
}

/* Cells `from` to `to` of an axis; of the axes before it all cells, of those after it only the rank's own, unless
 * `whole`. */
static Box slab(const Level *level, int axis, int32_t from, int32_t to, int whole)
{
    Box box;
    for (int k = 0; k < AXES; k++) {
        const int all = whole || k < axis;
        box.from[k] = k == axis ? from : all ? 0 : 1;
        box.to[k] = k == axis ? to : all ? level->n[k] : level->n[k] - 1;
    }
    return box;
}

#define TAG(axis, up) (100 * (2 * (axis) + (up) + 1))

static int expect(Nas *nas, Mg *mg, const Level *level, int axis)
{
    for (int up = 0; up < 2; up++)
        TRY(nas_irecv(nas, mg->in[up], mg->capacity, level->neighbour[axis][!up], TAG(axis, up), up));
    return 0;
}

static int give(Nas *nas, Mg *mg, const Level *level, const double *u, int axis, int up, Box box)
{
    const int32_t count = pack(level, u, box, mg->out[up]);
    return nas_send(nas, mg->out[up], count, level->neighbour[axis][up], TAG(axis, up));
}

/* Fill the outer layers with the cells of the neighbours, axis by axis. */
static int border(Nas *nas, Mg *mg, const Level *level, double *u)
{
    if (level->idle) {
        memset(u, 0, (size_t)cells(level) * sizeof *u);
        return 0;
    }
    for (int axis = 0; axis < AXES; axis++) {
        const int32_t n = level->n[axis];
        const Box high = slab(level, axis, n - 2, n - 1, 0), low = slab(level, axis, 1, 2, 0);
        if (nas->args->ranks == 1) {
            pack(level, u, high, mg->in[1]);
            pack(level, u, low, mg->in[0]);
        } else {
            TRY(expect(nas, mg, level, axis));
            TRY(give(nas, mg, level, u, axis, 1, high));
            TRY(give(nas, mg, level, u, axis, 0, low));
            TRY(nas_wait(nas, 0));
            TRY(nas_wait(nas, 1));
        }
        unpack(level, u, slab(level, axis, n - 1, n, 0), mg->in[0]);
        unpack(level, u, slab(level, axis, 0, 1, 0), mg->in[1]);
    }
    return 0;
}

/* After an interpolation from a grid on which some ranks had no cells: these get what they lack from the others. */
static int hand_over(Nas *nas, Mg *mg, const Level *level, double *u)
{
    for (int axis = 0; axis < AXES && nas->args->ranks > 1; axis++) {
        const int32_t n = level->n[axis];
        if (level->takes[axis]) {
            TRY(expect(nas, mg, level, axis));
            TRY(nas_wait(nas, 0));
            unpack(level, u, slab(level, axis, n - 1, n, 1), mg->in[0]);
            TRY(nas_wait(nas, 1));
            unpack(level, u, slab(level, axis, 0, 2, 1), mg->in[1]);
        }
        if (level->gives[axis]) {
            TRY(give(nas, mg, level, u, axis, 1, slab(level, axis, n - 2, n, 1)));
            TRY(give(nas, mg, level, u, axis, 0, slab(level, axis, 1, 2, 1)));
        }
    }
    return 0;
}

/* Rows beside row (j, k): sums of the four nearest and of the four at the edges. */
static void beside(const Level *level, const double *restrict x, int32_t j, int32_t k, double *restrict near,
                   double *restrict edge)
{
    const double *a = x + AT(level, 0, j - 1, k), *b = x + AT(level, 0, j + 1, k), *c = x + AT(level, 0, j, k - 1),
                 *d = x + AT(level, 0, j, k + 1), *e = x + AT(level, 0, j - 1, k - 1),
                 *f = x + AT(level, 0, j + 1, k - 1), *g = x + AT(level, 0, j - 1, k + 1),
                 *h = x + AT(level, 0, j + 1, k + 1);
    for (int32_t i = 0; i < level->n[0]; i++) {
        near[i] = a[i] + b[i] + c[i] + d[i];
        edge[i] = e[i] + f[i] + g[i] + h[i];
    }
}

/* r = v - A u; v may be r. */
static int residual(Nas *nas, Mg *mg, const Level *level, const double *u, const double *v, double *r)
{
    const double a0 = -8.0 / 3, a2 = 1.0 / 6, a3 = 1.0 / 12;
    const double *near = mg->row[0], *edge = mg->row[1];
    for (int32_t k = 1; k < level->n[2] - 1; k++)
        for (int32_t j = 1; j < level->n[1] - 1; j++) {
            beside(level, u, j, k, mg->row[0], mg->row[1]);
            const int64_t at = AT(level, 0, j, k);
            const double *own = u + at, *right = v + at;
            double *to = r + at;
#pragma GCC ivdep
            for (int32_t i = 1; i < level->n[0] - 1; i++)
                to[i] = right[i] - a0 * own[i] - a2 * (edge[i] + near[i - 1] + near[i + 1]) -
                        a3 * (edge[i - 1] + edge[i + 1]);
        }
    return border(nas, mg, level, r);
}

/* u = u + C r. */
static int smooth(Nas *nas, Mg *mg, const Level *level, const double *r, double *u)
{
    const int kind = nas->args->places[SMOOTHER] != 0;
    const double c0 = kind ? -3.0 / 17 : -3.0 / 8, c1 = kind ? 1.0 / 33 : 1.0 / 32, c2 = kind ? -1.0 / 61 : -1.0 / 64;
    const double *near = mg->row[0], *edge = mg->row[1];
    for (int32_t k = 1; k < level->n[2] - 1; k++)
        for (int32_t j = 1; j < level->n[1] - 1; j++) {
            beside(level, r, j, k, mg->row[0], mg->row[1]);
            const int64_t at = AT(level, 0, j, k);
            const double *own = r + at;
            double *to = u + at;
#pragma GCC ivdep
            for (int32_t i = 1; i < level->n[0] - 1; i++)
                to[i] = to[i] + c0 * own[i] + c1 * (own[i - 1] + own[i + 1] + near[i]) +
                        c2 * (edge[i] + near[i - 1] + near[i + 1]);
        }
    return border(nas, mg, level, u);
}

/* The residual on the next coarser grid: mean of the cells around. An axis with one cell begins one cell earlier. */
static int coarsen(Nas *nas, Mg *mg, const Level *fine)
{
    const Level *coarse = fine - 1;
    const double *near = mg->row[0], *edge = mg->row[1];
    int32_t back[AXES];
    for (int axis = 0; axis < AXES; axis++) back[axis] = fine->n[axis] == 3;
    for (int32_t k = 1; k < coarse->n[2] - 1; k++)
        for (int32_t j = 1; j < coarse->n[1] - 1; j++) {
            const int32_t fine_j = 2 * j - back[1], fine_k = 2 * k - back[2];
            beside(fine, fine->r, fine_j, fine_k, mg->row[0], mg->row[1]);
            const double *from = fine->r + AT(fine, 0, fine_j, fine_k);
            double *to = coarse->r + AT(coarse, 0, j, k);
            for (int32_t i = 1; i < coarse->n[0] - 1; i++) {
                const int32_t at = 2 * i - back[0];
                to[i] = 0.5 * from[at] + 0.25 * (from[at - 1] + from[at + 1] + near[at]) +
                        0.125 * (near[at - 1] + near[at + 1] + edge[at]) + 0.0625 * (edge[at - 1] + edge[at + 1]);
            }
        }
    return border(nas, mg, coarse, coarse->r);
}

/* Add the coarser grid's u: to cells at the same place, and means to those between. */
static int refine(Nas *nas, Mg *mg, const Level *fine)
{
    const Level *coarse = fine - 1;
    const double *z = coarse->u;
    double *sum = mg->row[0];
    int32_t same[AXES], between[AXES], begin[AXES];
    const int thin = fine->n[0] == 3 || fine->n[1] == 3 || fine->n[2] == 3;
    for (int axis = 0; axis < AXES; axis++) {
        const int one = thin && fine->n[axis] == 3;
        same[axis] = one ? -1 : 0, between[axis] = one ? 0 : 1, begin[axis] = one;
    }
    for (int up = 0; up < 2; up++)
        for (int32_t k = up ? 0 : begin[2]; k < coarse->n[2] - 1; k++)
            for (int across = 0; across < 2; across++)
                for (int32_t j = across ? 0 : begin[1]; j < coarse->n[1] - 1; j++) {
                    const double *a = z + AT(coarse, 0, j, k), *b = z + AT(coarse, 0, j + 1, k),
                                 *c = z + AT(coarse, 0, j, k + 1), *d = z + AT(coarse, 0, j + 1, k + 1);
                    const double weight = (up ? 0.5 : 1) * (across ? 0.5 : 1);
                    double *to = fine->u + AT(fine, 0, 2 * j + (across ? between[1] : same[1]),
                                              2 * k + (up ? between[2] : same[2]));
                    const int32_t n = coarse->n[0];
                    if (up && across)
                        for (int32_t i = 0; i < n; i++) sum[i] = weight * (a[i] + b[i] + c[i] + d[i]);
                    else
                        for (int32_t i = 0; i < n; i++)
                            sum[i] = weight * (up ? a[i] + c[i] : across ? a[i] + b[i] : a[i]);
                    if (begin[0]) {
                        for (int32_t i = 1; i < n - 1; i++) to[2 * i - 1] += sum[i];
                        for (int32_t i = 0; i < n - 1; i++) to[2 * i] += 0.5 * (sum[i] + sum[i + 1]);
                    } else /* one pass over the row of the finer grid, as interp of NPB makes */
                        for (int32_t i = 0; i < n - 1; i++) {
                            to[2 * i] += sum[i];
                            to[2 * i + 1] += 0.5 * (sum[i] + sum[i + 1]);
                        }
                }
    return hand_over(nas, mg, fine, fine->u);
}

static void clear(const Level *level, double *x) { memset(x, 0, (size_t)cells(level) * sizeof *x); }

/* One V-cycle, and the residual after it. */
static int cycle(Nas *nas, Mg *mg)
{
    Level *top = mg->level + mg->top, *low = mg->level + 1;
    for (Level *level = top; level > low; level--) TRY(coarsen(nas, mg, level));
    clear(low, low->u);
    TRY(smooth(nas, mg, low, low->r, low->u));
    for (Level *level = low + 1; level <= top; level++) {
        if (level < top) clear(level, level->u);
        TRY(refine(nas, mg, level));
        TRY(residual(nas, mg, level, level->u, level < top ? level->r : mg->v, level->r));
        TRY(smooth(nas, mg, level, level->r, level->u));
    }
    return residual(nas, mg, top, top->u, mg->v, top->r);
}

static int norm(Nas *nas, const Mg *mg, double *result)
{
    const Level *top = mg->level + mg->top;
    const double side = (double)nas->args->places[SIDE];
    double sum = 0, total = 0;
    for (int32_t k = 1; k < top->n[2] - 1; k++)
        for (int32_t j = 1; j < top->n[1] - 1; j++)
            for (int32_t i = 1; i < top->n[0] - 1; i++) {
                const double x = top->r[AT(top, i, j, k)];
                sum += x * x;
            }
    TRY(nas_allreduce(nas, &sum, &total, 1));
    *result = sqrt(total / (side * side * side));
    return 0;
}

/* The right side: 1 where the ten largest of all random numbers lie, -1 where the ten smallest do. */
static int charges(Nas *nas, Mg *mg)
{
    const Level *top = mg->level + mg->top;
    const int64_t side = nas->args->places[SIDE];
    double best[2][CHARGES];
    int64_t where[2][CHARGES];
    uint64_t state = 314159265;
    for (int k = 0; k < CHARGES; k++) best[0][k] = best[1][k] = 2;
    for (int64_t at = 0; at < side * side * side; at++) {
        const double drawn = nas_random(&state);
        for (int large = 0; large < 2; large++) {
            const double x = large ? 1 - drawn : drawn;
            if (x >= best[large][CHARGES - 1]) continue;
            int k = CHARGES - 1;
            for (; k && best[large][k - 1] > x; k--) {
                best[large][k] = best[large][k - 1];
                where[large][k] = where[large][k - 1];
            }
            best[large][k] = x;
            where[large][k] = at;
        }
    }
    clear(top, mg->v);
    for (int large = 0; large < 2; large++)
        for (int k = 0; k < CHARGES; k++) {
            const int64_t at = where[large][k], place[] = {at % side, at / side % side, at / side / side};
            int32_t own[AXES];
            int here = 1;
            for (int axis = 0; axis < AXES; axis++) {
                own[axis] = (int32_t)place[axis] - mg->first[axis] + 1;
                here = here && own[axis] >= 1 && own[axis] < top->n[axis] - 1;
            }
            if (here) mg->v[AT(top, own[0], own[1], own[2])] = large ? 1 : -1;
        }
    return border(nas, mg, top, mg->v);
}

/* From u = 0. */
static int run(Nas *nas, Mg *mg, int64_t cycles)
{
    const Level *top = mg->level + mg->top;
    TRY(residual(nas, mg, top, top->u, mg->v, top->r));
    TRY(norm(nas, mg, nas->results + 1));
    for (int64_t i = 0; i < cycles; i++) TRY(cycle(nas, mg));
    return norm(nas, mg, nas->results);
}

/* Results: norm of the residual at the end and at the start. */
KERNEL(nas_mg)
{
    Nas all = nas_begin(args, sizeof(double)), *nas = &all;
    Mg mg;
    memset(&mg, 0, sizeof mg);
    TRY(make(nas, &mg));
    TRY(charges(nas, &mg));
    const Level *top = mg.level + mg.top;
    NAS_RUNS(clear(top, top->u); TRY(run(nas, &mg, 1)); clear(top, top->u), TRY(run(nas, &mg, args->places[CYCLES])), );
    return 0;
}
