/* bm25.h -- ranking tools by the words they share with a request.
 *
 * BM25 over fields: a word counts the more, the rarer it is among the tools
 * and the more telling the field it stands in; a field that says much says
 * less with each word. Documents are numbered from 0 in the order they are
 * added and never change, so an index grows with its registry.
 *
 * A request often asks for several things. So each sentence of it is ranked by
 * itself as well, and a tool is worth what it is worth to the whole, plus what
 * it is worth to the sentence that it suits best.
 *
 * Scores are all there is: nothing is offered, removed or cut off here. */
#ifndef CH_SEARCH_BM25_H
#define CH_SEARCH_BM25_H
#include <stdbool.h>

#include "search/thesaurus.h"
#include "search/tokenize.h"

enum ch_field {
    CH_FIELD_NAME,
    CH_FIELD_DESCRIPTION,
    CH_FIELD_PARAMETERS, /* their names */
    CH_FIELD_PARAMETER_TEXTS,
    CH_FIELD_VALUES, /* that parameters may have */
    CH_FIELD_JOINED, /* pairs of words of name and description; filled by itself */
    CH_FIELDS
};

struct ch_bm25_entry;
struct ch_bm25_doc;
struct ch_bm25_term;

struct ch_bm25 { /* zeroed: empty */
    struct ch_bm25_entry *entries; /* owned; sorted by term, then document */
    size_t nentries, nfresh, cap;  /* fresh ones, not sorted yet, come last */
    struct ch_bm25_doc *docs;      /* owned */
    size_t ndocs, docs_cap;
    struct ch_bm25_term *terms; /* owned; one for each term of entries */
    size_t nterms;
    struct ch_thesaurus thesaurus;
    struct ch_terms words; /* scratch */
};

void ch_bm25_release(struct ch_bm25 *ix);

/* Begin the next document; the texts that follow are its. */
void ch_bm25_begin(struct ch_bm25 *ix);
void ch_bm25_text(struct ch_bm25 *ix, enum ch_field field, struct ch_sv text);

/* After the last document of a batch, before the next query. */
void ch_bm25_settle(struct ch_bm25 *ix);

/* How well each of ix->ndocs documents suits a request; 0: not at all. scores
 * has room for them. */
void ch_bm25_score(struct ch_bm25 *ix, struct ch_sv query, float *scores);

#endif
