/* NAS FT: a diffusion equation by FFT in three dimensions. Each rank has layers along z; for transforms along z all
 * ranks transpose (MPI_Alltoall), so that each has layers along y. */
#include "nas.h"

#include <math.h>

enum { COLUMNS = 16 };              /* transforms at once */
enum { MEMORY, NX, NY, NZ, STEPS }; /* places */

typedef struct {
    double re, im;
} Complex;

typedef struct {
    int64_t nx, ny, nz, count; /* count: cells of this rank */
    Complex *initial, *field, *other;
    double *decay;
    double *root;    /* of unity, cosine and sine: of length l at 2 l */
    double *work[2]; /* COLUMNS transforms, all real parts of a column's element before its imaginary ones */
} Ft;

static int make(Nas *nas, Ft *ft)
{
    const int64_t *places = nas->args->places;
    ft->nx = places[NX], ft->ny = places[NY], ft->nz = places[NZ];
    ft->count = ft->nx * ft->ny * ft->nz / nas->args->ranks;
    int64_t longest = ft->nx > ft->ny ? ft->nx : ft->ny;
    if (ft->nz > longest) longest = ft->nz;
    TAKE(ft->initial, ft->count);
    TAKE(ft->field, ft->count);
    TAKE(ft->other, ft->count);
    TAKE(ft->decay, ft->count);
    TAKE(ft->root, 2 * longest);
    for (int k = 0; k < 2; k++) TAKE(ft->work[k], 2 * COLUMNS * longest);
    return 0;
}

static void roots(Ft *ft)
{
    int64_t longest = ft->nx > ft->ny ? ft->nx : ft->ny;
    if (ft->nz > longest) longest = ft->nz;
    for (int64_t length = 1; length < longest; length *= 2)
        for (int64_t i = 0; i < length; i++) {
            ft->root[2 * (length + i)] = cos(M_PI * (double)i / (double)length);
            ft->root[2 * (length + i) + 1] = sin(M_PI * (double)i / (double)length);
        }
}

/* Transform the columns in work[0] (Stockham's algorithm, radix 2); the result is in the buffer that is returned. */
static const double *transform(const Ft *ft, int64_t n, int sign)
{
    double *from = ft->work[0], *to = ft->work[1];
    for (int64_t run = 1, groups = n / 2; groups; run *= 2, groups /= 2) {
        for (int64_t i = 0; i < groups; i++) {
            const double re = ft->root[2 * (groups + i)], im = sign * ft->root[2 * (groups + i) + 1];
            for (int64_t k = 0; k < run; k++) {
                const double *restrict a = from + 2 * COLUMNS * (i * run + k);
                const double *restrict b = a + COLUMNS * n;
                double *restrict sum = to + 2 * COLUMNS * (2 * i * run + k);
                double *restrict rest = sum + 2 * COLUMNS * run;
                for (int c = 0; c < COLUMNS; c++) {
                    const double x = a[c] - b[c], y = a[COLUMNS + c] - b[COLUMNS + c];
                    sum[c] = a[c] + b[c];
                    sum[COLUMNS + c] = a[COLUMNS + c] + b[COLUMNS + c];
                    rest[c] = re * x - im * y;
                    rest[COLUMNS + c] = re * y + im * x;
                }
            }
        }
        double *kept = from;
        from = to, to = kept;
    }
    return from;
}

/* Transform `many` columns of n elements: element i of column c is at i * step + c * next. */
static void columns(const Ft *ft, Complex *x, int64_t n, int64_t step, int64_t many, int64_t next, int sign)
{
    double *work = ft->work[0];
    for (int64_t first = 0; first < many; first += COLUMNS) {
        Complex *at = x + first * next;
        if (step == 1) {
            for (int64_t c = 0; c < COLUMNS; c++)
                for (int64_t i = 0; i < n; i++) {
                    work[2 * COLUMNS * i + c] = at[i + c * next].re;
                    work[2 * COLUMNS * i + COLUMNS + c] = at[i + c * next].im;
                }
        } else {
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < COLUMNS; c++) {
                    work[2 * COLUMNS * i + c] = at[i * step + c].re;
                    work[2 * COLUMNS * i + COLUMNS + c] = at[i * step + c].im;
                }
        }
        const double *done = transform(ft, n, sign);
        if (step == 1) {
            for (int64_t c = 0; c < COLUMNS; c++)
                for (int64_t i = 0; i < n; i++) {
                    at[i + c * next].re = done[2 * COLUMNS * i + c];
                    at[i + c * next].im = done[2 * COLUMNS * i + COLUMNS + c];
                }
        } else {
            for (int64_t i = 0; i < n; i++)
                for (int64_t c = 0; c < COLUMNS; c++) {
                    at[i * step + c].re = done[2 * COLUMNS * i + c];
                    at[i * step + c].im = done[2 * COLUMNS * i + COLUMNS + c];
                }
        }
    }
}

/* Along x and y in the layers along z. */
static void planes(const Nas *nas, const Ft *ft, Complex *x, int sign)
{
    const int64_t layers = ft->nz / nas->args->ranks;
    if (sign > 0) columns(ft, x, ft->nx, 1, ft->ny * layers, ft->nx, sign);
    for (int64_t k = 0; k < layers; k++) columns(ft, x + k * ft->nx * ft->ny, ft->ny, ft->nx, ft->nx, 1, sign);
    if (sign < 0) columns(ft, x, ft->nx, 1, ft->ny * layers, ft->nx, sign);
}

/* (a, b / ranks) of every rank becomes (b, a / ranks); the first index is the faster one. The result is in `to`. */
static int transpose(Nas *nas, Complex *from, Complex *to, int64_t a, int64_t b)
{
    enum { TILE = 32 };
    const Arguments *args = nas->args;
    const int64_t ranks = args->ranks, own = b / ranks, part = a / ranks;
    for (int64_t row = 0; row < a; row += TILE)
        for (int64_t k = 0; k < own; k++)
            for (int64_t i = row; i < row + TILE && i < a; i++) to[i * own + k] = from[i + k * a];
    const int count = (int)(2 * own * part);
    INSIDE(args->mpi->Alltoall(to, count, args->datatype, from, count, args->datatype, args->comm));
    for (int k = 0; k < ranks; k++) nas_count(nas, k, count);
    for (int64_t k = 0; k < ranks; k++)
        for (int64_t i = 0; i < part; i++)
            memcpy(to + i * b + k * own, from + (k * part + i) * own, (size_t)own * sizeof *to);
    return 0;
}

/* All three directions; one rank transforms along z where it is, several transpose. The result is in `to`. */
static int forward(Nas *nas, const Ft *ft, Complex *from, Complex *to)
{
    const int64_t plane = ft->nx * ft->ny;
    planes(nas, ft, from, 1);
    if (nas->args->ranks == 1) {
        columns(ft, from, ft->nz, plane, plane, 1, 1);
        memcpy(to, from, (size_t)ft->count * sizeof *to);
        return 0;
    }
    TRY(transpose(nas, from, to, plane, ft->nz));
    columns(ft, to, ft->nz, 1, plane / nas->args->ranks, ft->nz, 1);
    return 0;
}

static int back(Nas *nas, const Ft *ft, Complex *from, Complex *to, Complex **result)
{
    const int64_t plane = ft->nx * ft->ny;
    if (nas->args->ranks == 1) {
        columns(ft, from, ft->nz, plane, plane, 1, -1);
        *result = from;
    } else {
        columns(ft, from, ft->nz, 1, plane / nas->args->ranks, ft->nz, -1);
        TRY(transpose(nas, from, to, ft->nz, plane));
        *result = to;
    }
    planes(nas, ft, *result, -1);
    return 0;
}

/* Distance from frequency 0, of n frequencies. */
static int64_t frequency(int64_t i, int64_t n) { return (i + n / 2) % n - n / 2; }

/* Decay of each frequency in a step: along z first for several ranks, else along x first. */
static void decay(const Nas *nas, Ft *ft)
{
    const double factor = -4e-6 * M_PI * M_PI;
    const int64_t ranks = nas->args->ranks, layers = ranks == 1 ? ft->nz : ft->ny / ranks;
    const int64_t fast = ranks == 1 ? ft->nx : ft->nz, middle = ranks == 1 ? ft->ny : ft->nx;
    const int64_t slow = ranks == 1 ? ft->nz : ft->ny, first = nas->args->rank * layers;
    double *to = ft->decay;
    for (int64_t k = 0; k < layers; k++)
        for (int64_t j = 0; j < middle; j++)
            for (int64_t i = 0; i < fast; i++) {
                const int64_t x = frequency(i, fast), y = frequency(j, middle), z = frequency(first + k, slow);
                *to++ = exp(factor * (double)(x * x + y * y + z * z));
            }
}

static void fill(const Nas *nas, Ft *ft)
{
    uint64_t state = nas_skip(314159265, (uint64_t)(2 * ft->count * nas->args->rank));
    for (int64_t i = 0; i < ft->count; i++) {
        ft->field[i].re = nas_random(&state);
        ft->field[i].im = nas_random(&state);
    }
}

/* Sum of 1024 cells of all ranks, on rank 0. */
static int checksum(Nas *nas, const Ft *ft, const Complex *x, double *result)
{
    const Arguments *args = nas->args;
    const int64_t layers = ft->nz / args->ranks, first = args->rank * layers;
    double sum[2] = {0, 0};
    for (int64_t j = 1; j <= 1024; j++) {
        const int64_t k = 5 * j % ft->nz - first;
        if (k < 0 || k >= layers) continue;
        const Complex *cell = x + j % ft->nx + ft->nx * (3 * j % ft->ny + ft->ny * k);
        sum[0] += cell->re;
        sum[1] += cell->im;
    }
    const double cells = (double)(ft->nx * ft->ny * ft->nz);
    sum[0] /= cells, sum[1] /= cells;
    INSIDE(args->mpi->Reduce(sum, result, 2, args->datatype, args->op, 0, args->comm));
    nas_collective(nas, NAS_REDUCE, 2);
    return 0;
}

static int run(Nas *nas, Ft *ft, int64_t steps)
{
    decay(nas, ft);
    fill(nas, ft);
    roots(ft);
    TRY(forward(nas, ft, ft->field, ft->initial));
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t i = 0; i < ft->count; i++) {
            ft->initial[i].re *= ft->decay[i];
            ft->initial[i].im *= ft->decay[i];
            ft->field[i] = ft->initial[i];
        }
        Complex *result;
        TRY(back(nas, ft, ft->field, ft->other, &result));
        TRY(checksum(nas, ft, result, nas->results + 2 * step));
    }
    return 0;
}

/* Results: real and imaginary part of the checksum of each step. */
KERNEL(nas_ft)
{
    Nas all = nas_begin(args, sizeof(double)), *nas = &all;
    Ft ft;
    TRY(make(nas, &ft));
    NAS_RUNS(TRY(run(nas, &ft, 0)), TRY(run(nas, &ft, args->places[STEPS])),
             TRY(args->mpi->Bcast(nas->results, NAS_RESULTS, args->datatype, 0, args->comm)));
    return 0;
}
