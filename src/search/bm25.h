/* bm25.h -- rank tools by the words they share with a request.
 *
 * BM25 over fields. A word counts more the rarer it is among the tools and the
 * higher the weight of its field; in a long field each word counts less.
 * Documents are numbered from 0 in the order they are added and never change,
 * so an index can grow with its registry.
 *
 * A request often asks for several things, so each sentence is also ranked
 * separately. A tool's score is its score for the whole request plus a share of
 * its score for the best-matching sentence.
 *
 * This module only computes scores. It does not select or remove tools. */
#ifndef CH_SEARCH_BM25_H
#define CH_SEARCH_BM25_H
#include <stdbool.h>

#include "search/thesaurus.h"
#include "search/tokenize.h"

enum ch_field {
    CH_FIELD_NAME,
    CH_FIELD_DESCRIPTION,
    CH_FIELD_PARAMETERS, /* names of the parameters */
    CH_FIELD_PARAMETER_TEXTS,
    CH_FIELD_VALUES, /* values that parameters may have */
    CH_FIELD_JOINED, /* word pairs of name and description; filled automatically */
    CH_FIELDS
};

struct ch_bm25_entry;
struct ch_bm25_doc;
struct ch_bm25_term;

struct ch_bm25 { /* zeroed: empty */
    struct ch_bm25_entry *entries; /* owned; sorted by term, then document */
    size_t nentries, nfresh, cap;  /* entries in total, unsorted ones at the end, room */
    struct ch_bm25_doc *docs;      /* owned */
    size_t ndocs, docs_cap;
    size_t settled; /* documents at the last ch_bm25_settle */
    struct ch_bm25_term *terms; /* owned; one for each term of entries */
    size_t nterms;
    struct ch_thesaurus thesaurus;
    struct ch_terms words; /* scratch */
};

void ch_bm25_release(struct ch_bm25 *ix);

/* Begin the next document. The texts added after this call belong to it. */
void ch_bm25_begin(struct ch_bm25 *ix);
void ch_bm25_text(struct ch_bm25 *ix, enum ch_field field, struct ch_sv text);

/* Call after the last document of a batch, before the next query. */
void ch_bm25_settle(struct ch_bm25 *ix);

/* Write the score of each of the ix->ndocs documents to scores; 0: no match. */
void ch_bm25_score(struct ch_bm25 *ix, struct ch_sv query, float *scores);

#endif
