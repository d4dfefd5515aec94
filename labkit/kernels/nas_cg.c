/* NAS CG: the smallest eigenvalue of a sparse random matrix by inverse iteration, each step 25 iterations of conjugate
 * gradients. Ranks form a grid; a row of it adds up its parts of the product, then transposes them. */
#include "nas.h"

#include <math.h>

enum { INNER = 25, MOST_STEPS = 16 };
enum { MEMORY, ORDER, NONZERO, STEPS, SHIFT, CAPACITY }; /* places */

typedef struct {
    int32_t n, first_row, rows, first_column, columns;
    int32_t steps, partner[MOST_STEPS]; /* of a sum over this row of ranks */
    int32_t at[MOST_STEPS], sent[MOST_STEPS], got[MOST_STEPS], keep;
    int32_t transposed; /* partner of the transposition, which gets `length` values from `keep` */
    int32_t length;
    int32_t *column;
    int64_t *row;
    double *a, *x, *z, *p, *q, *r, *w;
} Cg;

/* First of n elements of part k of `parts`, and their number. */
static void part_of(int32_t n, int32_t parts, int32_t k, int32_t *first, int32_t *count)
{
    const int32_t each = n / parts, more = n % parts;
    *first = k * each + (k < more ? k : more);
    *count = each + (k < more);
}

/* Which rows and columns this rank has, and with whom it exchanges which part of a vector. */
static void arrange(const Arguments *args, Cg *cg)
{
    int32_t down = 1, me = args->rank;
    while (4 * down * down <= args->ranks) down *= 2;
    const int32_t across = args->ranks / down, line = me / across, place = me % across, square = across == down;
    part_of(cg->n, down, line, &cg->first_row, &cg->rows);
    if (square || cg->n % across == 0) {
        part_of(cg->n, across, place, &cg->first_column, &cg->columns);
    } else {
        int32_t first, both;
        part_of(cg->n, across / 2, place / 2, &first, &both);
        cg->columns = place % 2 ? both / 2 : both - both / 2;
        cg->first_column = place % 2 ? first + both - both / 2 : first;
    }
    const int32_t half = (cg->rows + 1) / 2;
    cg->keep = !square && me % 2 ? half : 0;
    cg->length = square ? cg->rows : me % 2 ? cg->rows - half : half;
    cg->transposed = square ? me % down * down + me / down : 2 * (me / 2 % down * down + me / 2 / down) + me % 2;
    cg->steps = 0;
    for (int32_t width = across; width > 1; width /= 2) {
        const int32_t k = cg->steps++, last = width == 2;
        cg->partner[k] = line * across + (place + width / 2) % width + place / width * width;
        cg->got[k] = cg->length;
        if (!square && last) {
            cg->sent[k] = cg->rows - cg->length;
            cg->at[k] = me % 2 ? 0 : cg->keep + cg->length;
        } else {
            cg->sent[k] = cg->length;
            cg->at[k] = cg->keep;
        }
    }
}

static int32_t largest(const Cg *cg) { return cg->rows > cg->columns ? cg->rows : cg->columns; }

/* A sparse random vector: distinct places and values, and 0.5 in its own place. */
static int32_t vector(const Cg *cg, int32_t own, int32_t nonzero, uint64_t *state, int32_t *place, double *value,
                      char *used)
{
    int32_t power = 1, have = 0, found = 0;
    while (power < cg->n) power *= 2;
    while (have < nonzero) {
        const double drawn = nas_random(state);
        const int32_t at = (int32_t)(power * nas_random(state));
        if (at >= cg->n || used[at]) continue;
        used[at] = 1;
        value[have] = drawn;
        place[have++] = at;
    }
    for (int32_t k = 0; k < have; k++) {
        used[place[k]] = 0;
        if (place[k] == own) value[k] = 0.5, found = 1;
    }
    if (!found) value[have] = 0.5, place[have++] = own;
    return have;
}

/* The matrix is the sum over i of the outer products of vector i with itself, weighted, and a diagonal: first the
 * elements of each row are counted, then put there, then those of one place are added up. */
static int make(Nas *nas, Cg *cg)
{
    const int64_t *places = nas->args->places;
    const int32_t n = cg->n, nonzero = (int32_t)places[NONZERO], longest = nonzero + 1;
    const double ratio = pow(0.1, 1.0 / n), diagonal = 0.1 - (double)places[SHIFT];
    int32_t *place, *length, *touched;
    double *value, *sum;
    char *used;
    TAKE(cg->row, (int64_t)cg->rows + 2);
    TAKE(cg->column, places[CAPACITY]);
    TAKE(cg->a, places[CAPACITY]);
    double **vectors[] = {&cg->x, &cg->z, &cg->p, &cg->q, &cg->r, &cg->w};
    for (int k = 0; k < 6; k++) TAKE(*vectors[k], largest(cg) + 2);
    const Nas before = *nas; /* what follows is needed here only */
    TAKE(place, (int64_t)n * longest);
    TAKE(value, (int64_t)n * longest);
    TAKE(length, n);
    TAKE(touched, n);
    TAKE(sum, n);
    TAKE(used, n);
    memset(used, 0, (size_t)n);
    memset(sum, 0, (size_t)n * sizeof *sum);
    memset(cg->row, 0, ((size_t)cg->rows + 2) * sizeof *cg->row);

    uint64_t state = nas_skip(314159265, 1);
    for (int32_t i = 0; i < n; i++)
        length[i] = vector(cg, i, nonzero, &state, place + (int64_t)i * longest, value + (int64_t)i * longest, used);
#define INSIDE_ROWS(k)    ((uint32_t)(at[k] - cg->first_row) < (uint32_t)cg->rows)
#define INSIDE_COLUMNS(k) ((uint32_t)(at[k] - cg->first_column) < (uint32_t)cg->columns)
    for (int32_t i = 0; i < n; i++) {
        const int32_t *at = place + (int64_t)i * longest;
        int32_t columns = 0;
        for (int32_t k = 0; k < length[i]; k++) columns += INSIDE_COLUMNS(k);
        for (int32_t k = 0; k < length[i]; k++)
            if (INSIDE_ROWS(k)) cg->row[at[k] - cg->first_row + 2] += columns;
    }
    for (int32_t j = 0; j < cg->rows; j++) {
        const int32_t at[] = {cg->first_row + j};
        cg->row[j + 2] += INSIDE_COLUMNS(0) + cg->row[j + 1];
    }
    if (cg->row[cg->rows + 1] > places[CAPACITY]) return -ENOMEM;
    double weight = 1;
    for (int32_t i = 0; i < n; i++, weight *= ratio) {
        const int32_t *at = place + (int64_t)i * longest;
        const double *v = value + (int64_t)i * longest;
        for (int32_t c = 0; c < length[i]; c++) {
            if (!INSIDE_COLUMNS(c)) continue;
            const double scale = weight * v[c];
            for (int32_t k = 0; k < length[i]; k++) {
                if (!INSIDE_ROWS(k)) continue;
                const int64_t to = cg->row[at[k] - cg->first_row + 1]++;
                cg->column[to] = at[c] - cg->first_column;
                cg->a[to] = v[k] * scale;
            }
        }
    }
    for (int32_t j = 0; j < cg->rows; j++) {
        const int32_t at[] = {cg->first_row + j};
        if (!INSIDE_COLUMNS(0)) continue;
        const int64_t to = cg->row[j + 1]++;
        cg->column[to] = at[0] - cg->first_column;
        cg->a[to] = diagonal;
    }
    int64_t begin = 0, to = 0; /* now row j ends at row[j + 1] */
    for (int32_t j = 0; j < cg->rows; j++) {
        int32_t different = 0;
        for (int64_t k = begin; k < cg->row[j + 1]; k++) {
            const int32_t at = cg->column[k];
            sum[at] += cg->a[k];
            if (!used[at]) used[at] = 1, touched[different++] = at;
        }
        begin = cg->row[j + 1];
        for (int32_t k = 0; k < different; k++) {
            const int32_t at = touched[k];
            cg->column[to] = at;
            cg->a[to++] = sum[at];
            sum[at] = 0, used[at] = 0;
        }
        cg->row[j + 1] = to;
    }
    nas->memory = before.memory, nas->left = before.left;
    return 0;
}

/* Add up numbers over the row of ranks. */
static int add_up(Nas *nas, const Cg *cg, double *values, int count)
{
    double other[2];
    for (int k = 0; k < cg->steps; k++) {
        TRY(nas_exchange(nas, other, count, values, count, cg->partner[k], k + 1));
        for (int i = 0; i < count; i++) values[i] += other[i];
    }
    return 0;
}

/* to = A from, distributed like `from`. */
static int product(Nas *nas, Cg *cg, const double *from, double *to)
{
    double *w = cg->w;
    const double *a = cg->a;
    const int32_t *column = cg->column;
    for (int32_t j = 0; j < cg->rows; j++) {
        double sum = 0;
        const int64_t end = cg->row[j + 1];
        for (int64_t k = cg->row[j]; k < end; k++) sum += a[k] * from[column[k]];
        w[j] = sum;
    }
    for (int k = cg->steps - 1; k >= 0; k--) {
        TRY(nas_exchange(nas, to + cg->keep, cg->got[k], w + cg->at[k], cg->sent[k], cg->partner[k], k + 1));
        for (int32_t j = cg->keep; j < cg->keep + cg->got[k]; j++) w[j] += to[j];
    }
    if (cg->steps) return nas_exchange(nas, to, cg->columns, w + cg->keep, cg->length, cg->transposed, 1);
    memcpy(to, w, (size_t)cg->columns * sizeof *to);
    return 0;
}

/* One solution z of A z = x by conjugate gradients, and the norm of its residual. */
static int solve(Nas *nas, Cg *cg, double *norm)
{
    const int32_t n = cg->columns;
    double *x = cg->x, *z = cg->z, *p = cg->p, *q = cg->q, *r = cg->r, rho = 0;
    for (int32_t j = 0; j < n; j++) {
        z[j] = 0;
        p[j] = r[j] = x[j];
        rho += x[j] * x[j];
    }
    TRY(add_up(nas, cg, &rho, 1));
    for (int i = 0; i < INNER; i++) {
        double d = 0, next = 0;
        TRY(product(nas, cg, p, q));
        for (int32_t j = 0; j < n; j++) d += p[j] * q[j];
        TRY(add_up(nas, cg, &d, 1));
        const double alpha = rho / d;
        for (int32_t j = 0; j < n; j++) {
            z[j] += alpha * p[j];
            r[j] -= alpha * q[j];
        }
        for (int32_t j = 0; j < n; j++) next += r[j] * r[j];
        TRY(add_up(nas, cg, &next, 1));
        const double beta = next / rho;
        rho = next;
        for (int32_t j = 0; j < n; j++) p[j] = r[j] + beta * p[j];
    }
    TRY(product(nas, cg, z, r));
    double sum = 0;
    for (int32_t j = 0; j < n; j++) sum += (x[j] - r[j]) * (x[j] - r[j]);
    TRY(add_up(nas, cg, &sum, 1));
    *norm = sqrt(sum);
    return 0;
}

/* So many steps of inverse iteration from a vector of ones. */
static int run(Nas *nas, Cg *cg, int64_t steps)
{
    for (int32_t j = 0; j < cg->columns; j++) cg->x[j] = 1;
    for (int64_t i = 0; i < steps; i++) {
        double sums[2] = {0, 0};
        TRY(solve(nas, cg, nas->results + 1));
        for (int32_t j = 0; j < cg->columns; j++) {
            sums[0] += cg->x[j] * cg->z[j];
            sums[1] += cg->z[j] * cg->z[j];
        }
        TRY(add_up(nas, cg, sums, 2));
        nas->results[0] = (double)nas->args->places[SHIFT] + 1 / sums[0];
        const double scale = 1 / sqrt(sums[1]);
        for (int32_t j = 0; j < cg->columns; j++) cg->x[j] = scale * cg->z[j];
    }
    return 0;
}

/* Results: zeta and the norm of the last residual. */
KERNEL(nas_cg)
{
    Nas all = nas_begin(args, sizeof(double)), *nas = &all;
    Cg cg = {.n = (int32_t)args->places[ORDER]};
    arrange(args, &cg);
    TRY(make(nas, &cg));
    NAS_RUNS(TRY(run(nas, &cg, 1)), TRY(run(nas, &cg, args->places[STEPS])), );
    return 0;
}
