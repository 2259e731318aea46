/* tokenize.h -- a text as the terms by which tools and requests are compared.
 *
 * Words are found in prose and in identifiers alike: "getHTTPHeaders",
 * "get_http_headers" and "get HTTP headers" give the same ones. They are folded
 * to lower case without accents, English words lose their endings (stem.h),
 * and words that say nothing ("the", "please") are left out. Scripts written
 * without spaces have no words to be found that easily: there, each pair of
 * neighbouring characters is a term, and each Han character besides.
 *
 * A term is known by a hash of its text alone: nothing here is ever shown. */
#ifndef CH_SEARCH_TOKENIZE_H
#define CH_SEARCH_TOKENIZE_H
#include <stdint.h>

#include "base/sv.h"

enum ch_term_kind {
    CH_TERM_WORD,   /* also a number, and the whole of a compound: "GitHub", "ec2" */
    CH_TERM_JOINED, /* two words in a row as if they were one: "stock price" */
    CH_TERM_CHAR,   /* one Han character */
    CH_TERM_CHARS   /* two neighbours */
};

struct ch_search_term {
    uint64_t id;
    uint32_t sentence; /* counted from 0 */
    enum ch_term_kind kind;
};

struct ch_terms { /* zeroed: empty */
    struct ch_search_term *list; /* owned, in the order of the text */
    size_t n, cap;
};

void ch_terms_release(struct ch_terms *w);
void ch_terms_clear(struct ch_terms *w);

/* Append the terms of a text; those beyond `max` terms in all are left out. */
void ch_terms_read(struct ch_terms *w, struct ch_sv text, size_t max);

#endif
