/* Recommend: the rating that a user would give an item. Each leaf has a part of the ratings, which it factorises when
 * it starts; it predicts from the users most alike in the factors, and the mid-tier averages the leaves' ratings.
 *
 * After uSuite's Recommend, which calls mlpack: CF with NMFALSFactorizer of rank 5 and 5 neighbours. Here too V is
 * approached by W H in alternation, each by least squares and without negative numbers, where V has 0 for what is not
 * rated. The neighbours are the users nearest in W.
 */
#ifndef LABKIT_RECOMMEND_H
#define LABKIT_RECOMMEND_H

#include "service.h"

enum { RANK = 5, ALIKE = 5, ROUNDS = 8, ITEMS = 200 };

typedef struct {
    double *users, *items; /* (users, RANK) and (items, RANK) */
} Factors;

static Factors *rc; /* of one leaf, or for the client of each */

/* 1 to 5 in a fifth of the places, near the product of hidden factors; else 0. */
static double rc_rating(int64_t user, int64_t item)
{
    uint64_t place = (uint64_t)(user * ITEMS + item);
    double taste = 0;
    if (unit(41, place) >= 0.2) return 0;
    for (uint64_t k = 0; k < RANK; k++)
        taste += unit(42, (uint64_t)user * RANK + k) * unit(43, (uint64_t)item * RANK + k);
    double rating = 1 + (double)(int)(taste * 3.2 + 0.5 * unit(44, place));
    return rating > 5 ? 5 : rating;
}

static int rc_leaf(int64_t user, int64_t item)
{
    return (int)(drawn(45, (uint64_t)(user * ITEMS + item)) % (uint64_t)job.leaves);
}

/* Solve a symmetric positive system of RANK equations by Cholesky's decomposition, in place. */
static void rc_solve(double a[RANK][RANK], double *b)
{
    for (int k = 0; k < RANK; k++) {
        for (int j = 0; j < k; j++) a[k][k] -= a[k][j] * a[k][j];
        a[k][k] = __builtin_sqrt(a[k][k] > 1e-12 ? a[k][k] : 1e-12);
        for (int i = k + 1; i < RANK; i++) {
            for (int j = 0; j < k; j++) a[i][k] -= a[i][j] * a[k][j];
            a[i][k] /= a[k][k];
        }
    }
    for (int k = 0; k < RANK; k++) {
        for (int j = 0; j < k; j++) b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
    for (int k = RANK - 1; k >= 0; k--) {
        for (int j = k + 1; j < RANK; j++) b[k] -= a[j][k] * b[j];
        b[k] /= a[k][k];
    }
}

/* Least squares of one side, the other fixed: rows of `out` from V (as rows of length `others`) and `fixed`. */
static void rc_half(const float *v, int64_t rows, int64_t others, int64_t down, int64_t across, const double *fixed,
                    double *out)
{
    double gram[RANK][RANK] = {{0}}, copy[RANK][RANK];
    for (int64_t o = 0; o < others; o++)
        for (int i = 0; i < RANK; i++)
            for (int j = 0; j < RANK; j++) gram[i][j] += fixed[o * RANK + i] * fixed[o * RANK + j];
    for (int i = 0; i < RANK; i++) gram[i][i] += 1e-6;
    for (int64_t r = 0; r < rows; r++) {
        double b[RANK] = {0};
        for (int64_t o = 0; o < others; o++) {
            double rated = v[r * down + o * across];
            for (int i = 0; rated > 0 && i < RANK; i++) b[i] += rated * fixed[o * RANK + i];
        }
        memcpy(copy, gram, sizeof copy);
        rc_solve(copy, b);
        for (int i = 0; i < RANK; i++) out[r * RANK + i] = b[i] > 0 ? b[i] : 0;
    }
}

__attribute__((noinline)) static Factors rc_factorise(int leaf)
{
    size_t users = (size_t)job.records;
    Factors f = {room(users * RANK * sizeof(double)), room(ITEMS * RANK * sizeof(double))};
    float *v = room(users * ITEMS * sizeof *v);
    for (int64_t u = 0; u < job.records; u++)
        for (int64_t i = 0; i < ITEMS; i++)
            if (rc_leaf(u, i) == leaf) v[u * ITEMS + i] = (float)rc_rating(u, i);
    for (size_t k = 0; k < ITEMS * RANK; k++) f.items[k] = unit(46, k);
    for (int k = 0; k < ROUNDS; k++) {
        rc_half(v, job.records, ITEMS, ITEMS, 1, f.items, f.users);
        rc_half(v, ITEMS, job.records, 1, ITEMS, f.users, f.items);
    }
    free(v);
    return f;
}

/* Mean of what the users nearest in W would rate; ties go to the lower number. */
__attribute__((noinline)) static double rc_predict(const Factors *f, int64_t user, int64_t item)
{
    double near[ALIKE];
    int64_t who[ALIKE];
    int have = 0;
    for (int64_t u = 0; u < job.records; u++) {
        double distance = 0;
        for (int k = 0; k < RANK && u != user; k++) {
            double less = f->users[u * RANK + k] - f->users[user * RANK + k];
            distance += less * less;
        }
        if (u == user || (have == ALIKE && distance >= near[ALIKE - 1])) continue;
        int at = have < ALIKE ? have++ : ALIKE - 1;
        for (; at > 0 && distance < near[at - 1]; at--) near[at] = near[at - 1], who[at] = who[at - 1];
        near[at] = distance, who[at] = u;
    }
    double sum = 0;
    for (int n = 0; n < have; n++)
        for (int k = 0; k < RANK; k++) sum += f->users[who[n] * RANK + k] * f->items[item * RANK + k];
    return have ? sum / have : 0;
}

static void rc_make(int role, int leaf)
{
    if (role == FRONT) return;
    int count = role == CLIENT ? job.leaves : 1;
    rc = room((size_t)count * sizeof *rc);
    for (int k = 0; k < count; k++) rc[k] = rc_factorise(role == CLIENT ? k : leaf);
}

static int rc_next(Pending *p)
{
    if (job.role == LEAF || p->stage) return 0;
    for (int leaf = 0; leaf < job.leaves; leaf++) ask(p, leaf, p->request.at, p->request.length);
    return 1;
}

static void rc_pair(const Text *request, uint32_t *pair)
{
    if (request->length != 8) fail("a query is not a user and an item", NULL);
    memcpy(pair, request->at, 8);
    if (pair[0] >= job.records || pair[1] >= ITEMS) fail("no such user or item", NULL);
}

static void rc_finish(Pending *p, Text *out)
{
    double rating = 0, one;
    uint32_t pair[2];
    rc_pair(&p->request, pair);
    if (job.role == LEAF) rating = rc_predict(rc, pair[0], pair[1]);
    for (int k = 0; k < p->asked; k++) {
        if (p->answers[k].length != sizeof one) fail("an answer is not a rating", NULL);
        memcpy(&one, p->answers[k].at, sizeof one);
        rating += one;
    }
    if (p->asked) rating /= p->asked;
    text_add(out, &rating, sizeof rating);
}

static int64_t rc_query(int64_t number, Text *out)
{
    uint32_t pair[2] = {(uint32_t)(drawn(47, (uint64_t)number) % (uint64_t)job.records),
                        (uint32_t)(drawn(48, (uint64_t)number) % ITEMS)};
    text_add(out, pair, sizeof pair);
    return 0;
}

static void rc_expected(const Text *query, int64_t operation, Text *out)
{
    double rating = 0;
    uint32_t pair[2];
    (void)operation;
    rc_pair(query, pair);
    for (int k = 0; k < job.leaves; k++) rating += rc_predict(rc + k, pair[0], pair[1]);
    rating /= job.leaves;
    text_add(out, &rating, sizeof rating);
}

#endif
