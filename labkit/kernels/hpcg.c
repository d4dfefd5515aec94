/* Conjugate gradients on a grid of three dimensions, as in HPCG 3.1 without its multigrid: the matrix has 26 on its
 * diagonal and -1 for each of up to 26 neighbours, the preconditioner is a symmetric Gauss-Seidel sweep inside a rank.
 * The stencil is applied without a stored matrix. A field has a layer of ghosts, which is 0 outside of the grid. */
#include "nas.h"

enum { WAYS = 27, CENTRE = 13 };
enum { MEMORY, SIDES, RANKS = SIDES + 3, STEPS = RANKS + 3 };                                /* places */
enum { FIRST, LAST, TRUE_LAST, ERROR, PRODUCTS, SWEEPS = PRODUCTS + 2, NORMS = SWEEPS + 2 }; /* results */

typedef struct {
    int64_t side[3], row, plane, cells;
    int64_t from[2][WAYS][3], count[WAYS][3]; /* the layer next to each neighbour, and the ghosts there */
    int32_t peer[WAYS];                       /* -1: none */
    double *x, *b, *r, *z, *p, *q, *message[2][WAYS];
    int64_t *spare; /* counts of what is not part of a run */
} Grid;

static int64_t size_of(const Grid *g, int way) { return g->count[way][0] * g->count[way][1] * g->count[way][2]; }

/* Neighbours, layers, memory. A direction is a digit 0, 1 or 2 in each dimension; its opposite is WAYS - 1 - way. */
static int make(Nas *nas, Grid *g)
{
    const Arguments *args = nas->args;
    const int64_t *ranks = args->places + RANKS;
    const int64_t at[3] = {args->rank % ranks[0], args->rank / ranks[0] % ranks[1], args->rank / (ranks[0] * ranks[1])};
    memcpy(g->side, args->places + SIDES, sizeof g->side);
    g->row = g->side[0] + 2;
    g->plane = g->row * (g->side[1] + 2);
    g->cells = g->plane * (g->side[2] + 2);
    for (int way = 0; way < WAYS; way++) {
        int64_t place[3], there = way != CENTRE;
        for (int d = 0, digits = way; d < 3; d++, digits /= 3) {
            const int64_t step = digits % 3 - 1;
            place[d] = at[d] + step;
            there = there && place[d] >= 0 && place[d] < ranks[d];
            g->count[way][d] = step ? 1 : g->side[d];
            g->from[0][way][d] = step > 0 ? g->side[d] : 1;
            g->from[1][way][d] = step > 0 ? g->side[d] + 1 : step < 0 ? 0 : 1;
        }
        g->peer[way] = there ? (int32_t)(place[0] + ranks[0] * (place[1] + ranks[1] * place[2])) : -1;
        for (int side = 0; side < 2; side++)
            if (there) TAKE(g->message[side][way], size_of(g, way));
    }
    double **fields[] = {&g->x, &g->b, &g->r, &g->z, &g->p, &g->q};
    for (int k = 0; k < 6; k++) {
        TAKE(*fields[k], g->cells);
        memset(*fields[k], 0, (size_t)g->cells * sizeof(double));
    }
    TAKE(g->spare, 2 * args->ranks + 2 * NAS_COLLECTIVES + NAS_SIZES);
    return 0;
}

/* Every cell inside: `c` is its offset. */
#define EACH(...)                                                                                 \
    for (int64_t k_ = 1; k_ <= g->side[2]; k_++)                                                  \
        for (int64_t j_ = 1; j_ <= g->side[1]; j_++)                                              \
            for (int64_t c = k_ * g->plane + j_ * g->row + 1, e_ = c + g->side[0]; c < e_; c++) { \
                __VA_ARGS__                                                                       \
            }

/* A layer to its message, or from its message to the ghosts. */
static void copy(const Grid *g, int way, int ghosts, double *field)
{
    const int64_t *from = g->from[ghosts][way], *count = g->count[way];
    double *message = g->message[ghosts][way];
    for (int64_t k = 0; k < count[2]; k++)
        for (int64_t j = 0; j < count[1]; j++) {
            double *line = field + (from[2] + k) * g->plane + (from[1] + j) * g->row + from[0];
            if (ghosts)
                memcpy(line, message, (size_t)count[0] * sizeof *line);
            else
                memcpy(message, line, (size_t)count[0] * sizeof *line);
            message += count[0];
        }
}

/* Fill the ghosts: a message to and one from each neighbour. */
static int exchange(Nas *nas, const Grid *g, double *field)
{
    int slot = 0;
    for (int way = 0; way < WAYS; way++)
        if (g->peer[way] >= 0)
            TRY(nas_irecv(nas, g->message[1][way], (int)size_of(g, way), g->peer[way], WAYS - 1 - way, slot++));
    for (int way = 0; way < WAYS; way++)
        if (g->peer[way] >= 0) {
            copy(g, way, 0, field);
            TRY(nas_send(nas, g->message[0][way], (int)size_of(g, way), g->peer[way], way));
        }
    slot = 0;
    for (int way = 0; way < WAYS; way++)
        if (g->peer[way] >= 0) {
            TRY(nas_wait(nas, slot++));
            copy(g, way, 1, field);
        }
    return 0;
}

/* Sum of a cell and its 26 neighbours. */
static inline double around(const double *x, int64_t row, int64_t plane)
{
    double sum = 0;
    for (int64_t k = -plane; k <= plane; k += plane)
        for (int64_t j = k - row; j <= k + row; j += row) sum += x[j - 1] + x[j] + x[j + 1];
    return sum;
}

static int product(Nas *nas, const Grid *g, double *x, double *y)
{
    TRY(exchange(nas, g, x));
    EACH(y[c] = 27 * x[c] - around(x + c, g->row, g->plane);)
    return 0;
}

/* z from r by one sweep forwards and one backwards, from 0. The halo holds zeros then, and HPCG exchanges it too. */
static int sweep(Nas *nas, const Grid *g, const double *r, double *z)
{
    memset(z, 0, (size_t)g->cells * sizeof *z);
    TRY(exchange(nas, g, z));
    EACH(z[c] = (r[c] + around(z + c, g->row, g->plane) - z[c]) / 26;)
    for (int64_t k = g->side[2]; k >= 1; k--)
        for (int64_t j = g->side[1]; j >= 1; j--)
            for (int64_t c = k * g->plane + j * g->row + g->side[0], last = c - g->side[0]; c > last; c--)
                z[c] = (r[c] + around(z + c, g->row, g->plane) - z[c]) / 26;
    return 0;
}

static int dot(Nas *nas, const Grid *g, const double *x, const double *y, double *result)
{
    double sum = 0;
    EACH(sum += x[c] * y[c];)
    return nas_allreduce(nas, &sum, result, 1);
}

/* The right-hand side whose solution is 1 in every cell: 26 less the number of neighbours. */
static int prepare(Nas *nas, Grid *g)
{
    memset(g->p, 0, (size_t)g->cells * sizeof *g->p);
    EACH(g->p[c] = 1;)
    TRY(product(nas, g, g->p, g->b));
    return 0;
}

/* So many steps from x = 0; squares of the norm of the residual before and after. */
static int solve(Nas *nas, Grid *g, int64_t steps)
{
    double old = 0, now = 0, pq = 0;
    memset(g->x, 0, (size_t)g->cells * sizeof *g->x);
    memset(g->p, 0, (size_t)g->cells * sizeof *g->p);
    TRY(product(nas, g, g->x, g->q));
    EACH(g->r[c] = g->b[c] - g->q[c];)
    TRY(dot(nas, g, g->r, g->r, nas->results + FIRST));
    for (int64_t step = 0; step < steps; step++) {
        TRY(sweep(nas, g, g->r, g->z));
        TRY(dot(nas, g, g->r, g->z, &now));
        const double beta = step ? now / old : 0;
        EACH(g->p[c] = g->z[c] + beta * g->p[c];)
        TRY(product(nas, g, g->p, g->q));
        TRY(dot(nas, g, g->p, g->q, &pq));
        const double alpha = now / pq;
        EACH(g->x[c] += alpha * g->p[c]; g->r[c] -= alpha * g->q[c];)
        TRY(dot(nas, g, g->r, g->r, nas->results + LAST));
        old = now;
    }
    return 0;
}

/* What HPCG's tests look at: the residual computed anew, and that matrix and preconditioner are symmetric. */
static int check(const Nas *run, Grid *g)
{
    Nas apart = *run, *nas = &apart;
    nas->messages = g->spare; /* these messages do not count */
    nas->bytes = nas->messages + nas->args->ranks;
    nas->calls = nas->bytes + nas->args->ranks;
    nas->moved = nas->calls + NAS_COLLECTIVES;
    nas->sizes = nas->moved + NAS_COLLECTIVES;
    double *u = g->p, *v = g->r, *results = nas->results;
    TRY(product(nas, g, g->x, g->q));
    EACH(g->q[c] = g->b[c] - g->q[c]; g->x[c] -= 1;)
    TRY(dot(nas, g, g->q, g->q, results + TRUE_LAST));
    TRY(dot(nas, g, g->x, g->x, results + ERROR));
    uint64_t state = nas_skip(314159265, (uint64_t)nas->args->rank * 2 * (uint64_t)g->cells);
    EACH(u[c] = nas_random(&state); v[c] = nas_random(&state);)
    TRY(product(nas, g, u, g->q));
    TRY(dot(nas, g, v, g->q, results + PRODUCTS));
    TRY(product(nas, g, v, g->q));
    TRY(dot(nas, g, u, g->q, results + PRODUCTS + 1));
    TRY(sweep(nas, g, u, g->z));
    TRY(dot(nas, g, v, g->z, results + SWEEPS));
    TRY(sweep(nas, g, v, g->z));
    TRY(dot(nas, g, u, g->z, results + SWEEPS + 1));
    TRY(dot(nas, g, u, u, results + NORMS));
    return dot(nas, g, v, v, results + NORMS + 1);
}

/* Results: squares of the first, the last and the true last residual and of the error; vAu, uAv; vMu, uMv; uu, vv. */
KERNEL(hpcg)
{
    Nas all = nas_begin(args, sizeof(double)), *nas = &all;
    Grid grid, *g = &grid;
    memset(g, 0, sizeof *g);
    TRY(make(nas, g));
    NAS_RUNS(TRY(prepare(nas, g)), TRY(solve(nas, g, args->places[STEPS])), TRY(check(nas, g)));
    return 0;
}
