/* A graph of services that call one another in stages; the calls of a stage are under way at once.
 *
 * The graph is a file: `operations COUNT SHARE…`, `service NUMBER ANSWER_B READS`, `call CALLER OPERATION STAGE CALLEE`.
 * A service reads words of a table of its own and answers with a digest and a record. The digest holds what it has read
 * and every byte that its calls brought back, in their order. So the first answer is right only if every service of
 * the operation was asked, with the right key, and answered in full.
 */
#ifndef LABKIT_CALL_GRAPH_H
#define LABKIT_CALL_GRAPH_H

#include "service.h"

enum { NODES = 64, OPERATIONS_MOST = 8, TABLE = 1 << 16, REQUEST_B = 64 };

typedef struct {
    int stage, callee;
} Call;

static struct {
    int count, operations;
    double shares[OPERATIONS_MOST];
    struct {
        int answer, reads, calls[OPERATIONS_MOST];
        Call call[OPERATIONS_MOST][CALLS];
    } nodes[NODES];
    uint64_t *table;
} cg;

static uint64_t cg_word(int node, uint64_t place) { return drawn(61, (uint64_t)node * TABLE + place % TABLE); }

static uint64_t cg_fold(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    return sum ^ (sum >> 29);
}

static uint64_t cg_sum(uint64_t sum, const char *at, size_t length)
{
    for (uint64_t word; length >= 8; at += 8, length -= 8) {
        memcpy(&word, at, 8);
        sum = cg_fold(sum, word);
    }
    return sum;
}

/* The record with which a service answers; its first word is the digest. */
static void cg_record(int node, uint64_t key, uint64_t digest, Text *out)
{
    text_add(out, &digest, sizeof digest);
    for (int k = 8; k < cg.nodes[node].answer; k += 8) {
        uint64_t word = drawn(62, key * 4096 + (uint64_t)node) + (uint64_t)k;
        text_add(out, &word, sizeof word);
    }
}

static void cg_read(const char *name)
{
    char line[256];
    int a, b, c, d, used, offset;
    FILE *file = fopen(name, "r");
    if (!file) fail(name, "cannot be read");
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "operations %d%n", &cg.operations, &offset) == 1) {
            if (cg.operations < 1 || cg.operations > OPERATIONS_MOST) fail("too many operations", NULL);
            for (int k = 0; k < cg.operations; k++, offset += used)
                if (sscanf(line + offset, "%lf%n", cg.shares + k, &used) != 1) fail("a share is missing", line);
        } else if (sscanf(line, "service %d %d %d", &a, &b, &c) == 3) {
            if (a != cg.count || a >= NODES || b < 8 || b % 8 || c < 0) fail("a service is out of range", line);
            cg.nodes[cg.count].answer = b, cg.nodes[cg.count++].reads = c;
        } else if (sscanf(line, "call %d %d %d %d", &a, &b, &c, &d) == 4) {
            if (a >= cg.count || b >= cg.operations || d <= a || d >= NODES || cg.nodes[a].calls[b] == CALLS)
                fail("a call is out of range", line);
            cg.nodes[a].call[b][cg.nodes[a].calls[b]++] = (Call){c, d};
        }
    }
    fclose(file);
    if (!cg.count || !cg.operations) fail(name, "has no services or operations");
}

static void cg_make(int role, int leaf)
{
    (void)leaf;
    cg_read(job.graph);
    if (role == CLIENT) return;
    if (job.number >= cg.count) fail("a service that is not in the graph", NULL);
    cg.table = room(TABLE * sizeof *cg.table);
    for (uint64_t k = 0; k < TABLE; k++) cg.table[k] = cg_word(job.number, k);
}

static int cg_next(Pending *p)
{
    int64_t operation = p->frame.operation;
    if (operation < 0 || operation >= cg.operations || p->request.length != REQUEST_B) fail("no such operation", NULL);
    int last = -1;
    for (int k = 0; k < cg.nodes[job.number].calls[operation]; k++) {
        Call call = cg.nodes[job.number].call[operation][k];
        last = call.stage > last ? call.stage : last;
        int child = 0;
        while (child < at.children && at.child[child]->number != call.callee) child++;
        if (call.stage == p->stage) ask(p, child, p->request.at, p->request.length);
    }
    return p->stage <= last;
}

static void cg_finish(Pending *p, Text *out)
{
    uint64_t key, sum = (uint64_t)p->frame.operation;
    memcpy(&key, p->request.at, sizeof key);
    for (int k = 0; k < cg.nodes[job.number].reads; k++) sum = cg_fold(sum, cg.table[(key + (uint64_t)k * 7) % TABLE]);
    for (int k = 0; k < p->asked; k++) sum = cg_sum(sum, p->answers[k].at, p->answers[k].length);
    cg_record(job.number, key, sum, out);
}

static int64_t cg_query(int64_t number, Text *out)
{
    int64_t operation = 0;
    double share = unit(63, (uint64_t)number);
    uint64_t filler[REQUEST_B / 8] = {drawn(64, (uint64_t)number)};
    while (operation < cg.operations - 1 && share >= cg.shares[operation]) share -= cg.shares[operation++];
    text_add(out, filler, sizeof filler);
    return operation;
}

/* The answer of a service, by recursion and without tables. */
static void cg_answer(int node, int64_t operation, uint64_t key, Text *out)
{
    uint64_t sum = (uint64_t)operation;
    int last = -1;
    for (int k = 0; k < cg.nodes[node].reads; k++) sum = cg_fold(sum, cg_word(node, key + (uint64_t)k * 7));
    for (int k = 0; k < cg.nodes[node].calls[operation]; k++)
        if (cg.nodes[node].call[operation][k].stage > last) last = cg.nodes[node].call[operation][k].stage;
    for (int stage = 0; stage <= last; stage++)
        for (int k = 0; k < cg.nodes[node].calls[operation]; k++) {
            Call call = cg.nodes[node].call[operation][k];
            Text one = {0};
            if (call.stage != stage) continue;
            cg_answer(call.callee, operation, key, &one);
            sum = cg_sum(sum, one.at, one.length);
            free(one.at);
        }
    cg_record(node, key, sum, out);
}

static void cg_expected(const Text *query, int64_t operation, Text *out)
{
    uint64_t key;
    memcpy(&key, query->at, sizeof key);
    cg_answer(0, operation, key, out);
}

#endif
