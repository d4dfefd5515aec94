/* BT-IO: time steps on the cells of a diagonal multi-partition, and the solution written every few steps (NPB's bt.f,
 * full_mpiio.f and simple_mpiio.f). NPB's solver is replaced: see `advance`. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

enum { SIMPLE, FULL };
enum { M = 5, GHOSTS = 2 }; /* values of a point; layers around a cell that are not written */

/* What `places` holds: numbers of the problem, and the cells of this rank. */
typedef struct {
    int64_t size[3], low[3];
} Cell;
typedef struct {
    int64_t points, room, steps, interval, cells; /* of a side of the grid; of a side of a cell, with its ghosts */
    Cell cell[];
} Problem;

/* First value of a point of a cell. */
static inline double *at(const Arguments *args, const Problem *p, int64_t c, int64_t i, int64_t j, int64_t k)
{
    const int64_t row = (c * p->room + k + GHOSTS) * p->room + j + GHOSTS;
    return (double *)(void *)args->send + (row * p->room + i + GHOSTS) * M;
}

#define EACH_PENCIL(p)                                   \
    for (int64_t c = 0; c < p->cells; c++)               \
        for (int64_t k = 0; k < p->cell[c].size[2]; k++) \
            for (int64_t j = 0; j < p->cell[c].size[1]; j++)

/* NPB's exact solution, a polynomial in each coordinate: `recv` has its coefficients. */
static void initialise(const Arguments *args, const Problem *p)
{
    const double *ce = (const double *)(const void *)args->recv, width = 1.0 / (double)(p->points - 1);
    EACH_PENCIL(p)
    for (int64_t i = 0; i < p->cell[c].size[0]; i++) {
        const double x[3] = {(double)(p->cell[c].low[0] + i) * width, (double)(p->cell[c].low[1] + j) * width,
                             (double)(p->cell[c].low[2] + k) * width};
        for (int m = 0; m < M; m++) {
            const double *e = ce + 13 * m;
            double value = e[0];
            for (int d = 0; d < 3; d++)
                value += x[d] * (e[1 + d] + x[d] * (e[4 + d] + x[d] * (e[7 + d] + x[d] * e[10 + d])));
            at(args, p, c, i, j, k)[m] = value;
        }
    }
}

/* y += s * a x */
static inline void add_product(double *y, double s, const double *a, const double *x)
{
    for (int m = 0; m < M; m++) {
        double sum = 0;
        for (int n = 0; n < M; n++) sum += a[M * m + n] * x[n];
        y[m] += s * sum;
    }
}

/* Solve b [c r] = [c r] in place: elimination without pivoting, b is dominated by its diagonal. */
static inline void solve_block(double *b, double *c, double *r)
{
    for (int p = 0; p < M; p++) {
        const double inverse = 1.0 / b[M * p + p];
        for (int n = p + 1; n < M; n++) b[M * p + n] *= inverse;
        for (int n = 0; n < M; n++) c[M * p + n] *= inverse;
        r[p] *= inverse;
        for (int q = 0; q < M; q++) {
            if (q == p) continue;
            const double factor = b[M * q + p];
            for (int n = p + 1; n < M; n++) b[M * q + n] -= factor * b[M * p + n];
            for (int n = 0; n < M; n++) c[M * q + n] -= factor * c[M * p + n];
            r[q] -= factor * r[p];
        }
    }
}

/* One line of n points, `stride` values apart: a block-tridiagonal system with blocks of 5 x 5 that depend on the values,
 * whose solution are the values plus `delta`. The forward sweep keeps 30 values of each point in `kept`. */
static void line(double *u, int64_t n, int64_t stride, const double *delta, double *kept)
{
    double next[M], here[M], before[M] = {0};
    for (int m = 0; m < M; m++) here[m] = u[m] + delta[m];
    for (int64_t i = 0; i < n; i++, kept += M * (M + 1)) {
        double *v = u + i * stride, a[M * M], b[M * M], norm = 0, *c = kept, *r = kept + M * M;
        for (int m = 0; m < M; m++) next[m] = i + 1 < n ? v[stride + m] + delta[m] : 0;
        for (int m = 0; m < M; m++) norm += v[m] * v[m];
        const double scale = -0.25 / norm;
        for (int m = 0; m < M; m++)
            for (int k = 0; k < M; k++) {
                a[M * m + k] = c[M * m + k] = scale * v[m] * v[k];
                b[M * m + k] = (m == k ? 2.0 : 0.0) - 2.0 * a[M * m + k];
            }
        memset(r, 0, M * sizeof *r);
        add_product(r, 1, a, before);
        add_product(r, 1, b, here);
        add_product(r, 1, c, next);
        if (i) {
            const double *c_before = kept - M * (M + 1), *r_before = c_before + M * M;
            for (int m = 0; m < M; m++)
                for (int k = 0; k < M; k++)
                    for (int q = 0; q < M; q++) b[M * m + k] -= a[M * m + q] * c_before[M * q + k];
            add_product(r, -1, a, r_before);
        }
        solve_block(b, c, r);
        memcpy(before, here, sizeof here);
        memcpy(here, next, sizeof next);
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        kept -= M * (M + 1);
        if (i + 1 < n) add_product(kept + M * M, -1, kept, u + (i + 1) * stride);
        memcpy(u + i * stride, kept + M * M, M * sizeof *u);
    }
}

/* A stand-in for NPB's `adi`: a block-tridiagonal solve along x, y and z of each cell. Its lines end at the cell, so ranks
 * exchange nothing. Every value grows by the fixed `delta`, a third along each direction. */
static void advance(const Arguments *args, const Problem *p)
{
    const double *delta = (const double *)(const void *)args->recv + 13 * M;
    double *kept = (double *)(void *)args->send + p->cells * p->room * p->room * p->room * M;
    const int64_t strides[3] = {M, M * p->room, M * p->room * p->room};
    for (int64_t c = 0; c < p->cells; c++)
        for (int d = 0; d < 3; d++) {
            const int e = (d + 1) % 3, f = (d + 2) % 3;
            for (int64_t j = 0; j < p->cell[c].size[e]; j++)
                for (int64_t k = 0; k < p->cell[c].size[f]; k++)
                    line(at(args, p, c, 0, 0, 0) + j * strides[e] + k * strides[f], p->cell[c].size[d], strides[d],
                         delta, kept);
        }
}

/* Write the solution as data set number `dump` of the file. */
static int output(const Arguments *args, const Problem *p, File file, int64_t dump)
{
    const int64_t n = p->points;
    if (args->mode == FULL) {
        int64_t mine = 0;
        int done = 0;
        for (int64_t c = 0; c < p->cells; c++) mine += p->cell[c].size[0] * p->cell[c].size[1] * p->cell[c].size[2];
        TRY(args->mpi->File_write_at_all(file, dump * mine, args->send, 1, args->types[1], args->statuses));
        TRY(args->mpi->Get_count(args->statuses, args->types[0], &done));
        return done == mine ? 0 : -ENOSPC;
    }
    EACH_PENCIL(p)
    {
        const Cell *cell = &p->cell[c];
        const int count = (int)(M * cell->size[0]);
        const int64_t place = M * (cell->low[0] + n * (cell->low[1] + j + n * (cell->low[2] + k + n * dump)));
        int done = 0;
        TRY(args->mpi->File_write_at(file, place, at(args, p, c, 0, j, k), count, args->datatype, args->statuses));
        TRY(args->mpi->Get_count(args->statuses, args->datatype, &done));
        if (done != count) return -ENOSPC;
    }
    return 0;
}

/* NPB's I/O time of all ranks: the reciprocal of the mean of the reciprocals. */
static int mean_io(const Arguments *args, int64_t own, int64_t *mean)
{
    const int64_t *all = (const int64_t *)(const void *)args->extra;
    TRY(args->mpi->Allgather(&own, sizeof own, args->byte, args->extra, sizeof own, args->byte, args->comm));
    double sum = 0;
    for (int r = 0; r < args->ranks; r++) sum += 1.0 / (double)(all[r] > 0 ? all[r] : 1);
    *mean = (int64_t)(args->ranks / sum);
    return 0;
}

/* A whole run: phase 0 is its time, with closing and without opening the file; phase 1 the part of it in MPI-IO. */
KERNEL(bt_io)
{
    const Problem *p = (const Problem *)(const void *)args->places;
    for (int64_t i_ = -args->warmup; i_ < args->iterations; i_++) {
        File file;
        int64_t io = 0, dumps = 0, from;
        initialise(args, p);
        if (args->active && unlink(args->path) && errno != ENOENT) return -errno;
        TRY(args->mpi->Barrier(args->comm));
        TRY(args->mpi->File_open(args->comm, args->path, args->amode, args->info, &file));
        const Handle element = args->mode == FULL ? args->types[0] : args->datatype;
        TRY(args->mpi->File_set_view(file, 0, element, args->mode == FULL ? args->types[2] : element, "native",
                                     args->info));
        TRY(args->mpi->Barrier(args->comm));
        const int64_t start = now_ns();
        for (int64_t step = 1; step <= p->steps; step++) {
            advance(args, p);
            if (step % p->interval && step != p->steps) continue;
            from = now_ns();
            TRY(output(args, p, file, dumps++));
            io += now_ns() - from;
        }
        from = now_ns();
        TRY(args->mpi->File_close(&file));
        const int64_t stop = now_ns();
        TRY(mean_io(args, io + stop - from, &io));
        const int64_t set = p->points * p->points * p->points * M * (int64_t)sizeof(double);
        if (args->active) TRY(file_reaches(args->path, dumps * set));
        if (i_ < 0) continue;
        args->time_ns[i_] = stop - start;
        PHASE(1) = io;
    }
    return 0;
}
