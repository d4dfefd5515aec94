/* Set Algebra: documents that hold all words of a query. A leaf has the posting lists of its documents and intersects
 * them; the mid-tier puts the leaves' documents together.
 *
 * After uSuite's Set Algebra. Words are as frequent as their rank says (Zipf): word w is in a document with the
 * probability 1/2 for w = 0, falling as 1/(w + 1). uSuite drops the most frequent words, as stop words; so does a query
 * here, which has none below STOP.
 */
#ifndef LABKIT_SET_ALGEBRA_H
#define LABKIT_SET_ALGEBRA_H

#include "service.h"
#include <math.h>

enum { STOP = 2, WORDS_MOST = 10 };

typedef struct {
    uint32_t *documents, count;
} Postings;

static struct {
    int64_t first, last;
    Postings *lists;
} sa;

static int64_t sa_shard(int64_t leaf) { return leaf * job.records / job.leaves; }

static int sa_holds(uint64_t document, uint64_t word)
{
    return unit(31, word * 0x100000000u + document) < 0.5 / (double)(word + 1) + 0.002;
}

static void sa_make(int role, int leaf)
{
    if (role != LEAF) return;
    sa.first = sa_shard(leaf), sa.last = sa_shard(leaf + 1);
    sa.lists = room((size_t)job.words * sizeof *sa.lists);
    uint32_t *found = room((size_t)(sa.last - sa.first + 1) * sizeof *found);
    for (int64_t word = 0; word < job.words; word++) {
        uint32_t count = 0;
        for (int64_t d = sa.first; d < sa.last; d++)
            if (sa_holds((uint64_t)d, (uint64_t)word)) found[count++] = (uint32_t)d;
        sa.lists[word].documents = room((count + 1) * sizeof *found), sa.lists[word].count = count;
        memcpy(sa.lists[word].documents, found, count * sizeof *found);
    }
    free(found);
}

/* The first place from `from` on whose document is not below one; the step doubles, then halves. */
static uint32_t sa_reach(const Postings *list, uint32_t from, uint32_t document)
{
    uint32_t step = 1, low = from, high = from;
    while (high < list->count && list->documents[high] < document) low = high + 1, high += step, step *= 2;
    if (high > list->count) high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->documents[middle] < document)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int sa_next(Pending *p)
{
    if (job.role == LEAF || p->stage) return 0;
    for (int leaf = 0; leaf < job.leaves; leaf++) ask(p, leaf, p->request.at, p->request.length);
    return 1;
}

static void sa_finish(Pending *p, Text *out)
{
    if (job.role != LEAF) {
        for (int k = 0; k < p->asked; k++) text_add(out, p->answers[k].at, p->answers[k].length);
        return;
    }
    const Postings *lists[WORDS_MOST], *swap;
    uint32_t words[WORDS_MOST], places[WORDS_MOST] = {0};
    size_t count = p->request.length / sizeof *words;
    if (!count || count > WORDS_MOST) fail("a query of no words, or too many", NULL);
    memcpy(words, p->request.at, count * sizeof *words);
    for (size_t k = 0; k < count; k++) {
        if (words[k] >= job.words) fail("a word that is not in the dictionary", NULL);
        lists[k] = sa.lists + words[k];
        for (size_t j = k; j > 0 && lists[j]->count < lists[j - 1]->count; j--)
            swap = lists[j], lists[j] = lists[j - 1], lists[j - 1] = swap; /* the shortest leads */
    }
    for (uint32_t k = 0; k < lists[0]->count; k++) {
        uint32_t document = lists[0]->documents[k];
        int all = 1;
        for (size_t j = 1; all && j < count; j++) {
            places[j] = sa_reach(lists[j], places[j], document);
            all = places[j] < lists[j]->count && lists[j]->documents[places[j]] == document;
        }
        if (all) text_add(out, &document, sizeof document);
    }
}

/* Two to four words, frequent ones more often. */
static int64_t sa_query(int64_t number, Text *out)
{
    uint64_t place = (uint64_t)number * 16;
    int count = 2 + (int)(drawn(32, place) % 3);
    for (int k = 0; k < count; k++) {
        double share = unit(33, place + (uint64_t)k);
        uint32_t word = STOP + (uint32_t)((double)(job.words - STOP) * share * share);
        for (size_t j = 0; j < out->length; j += sizeof word)
            if (!memcmp(out->at + j, &word, sizeof word))
                word = STOP + (word + 1 - STOP) % (uint32_t)(job.words - STOP), j = 0;
        text_add(out, &word, sizeof word);
    }
    return 0;
}

/* Document by document, without lists. */
static void sa_expected(const Text *query, int64_t operation, Text *out)
{
    (void)operation;
    for (uint32_t document = 0; document < job.records; document++) {
        int all = 1;
        for (size_t k = 0; all && k < query->length; k += sizeof(uint32_t)) {
            uint32_t word;
            memcpy(&word, query->at + k, sizeof word);
            all = sa_holds(document, word);
        }
        if (all) text_add(out, &document, sizeof document);
    }
}

#endif
