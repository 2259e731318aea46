/* tokenize.h -- split a text into the terms by which tools and requests are
 * compared.
 *
 * Words are found in prose and in identifiers: "getHTTPHeaders",
 * "get_http_headers" and "get HTTP headers" give the same terms. Words are
 * folded to lower case without accents, English words are stemmed (stem.h), and
 * stop words ("the", "please") are left out. In scripts written without spaces,
 * each pair of neighbouring characters is a term, and so is each Han character.
 *
 * A term is represented only by a hash of its text, since terms are never
 * displayed. */
#ifndef CH_SEARCH_TOKENIZE_H
#define CH_SEARCH_TOKENIZE_H
#include <stdint.h>

#include "base/sv.h"

enum ch_term_kind {
    CH_TERM_WORD,   /* also a number, and a whole compound such as "GitHub", "ec2" */
    CH_TERM_JOINED, /* two consecutive words as one term: "stock price" */
    CH_TERM_CHAR,   /* one Han character */
    CH_TERM_CHARS   /* two neighbouring characters */
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

/* Append the terms of a text until the list has `max` terms. */
void ch_terms_read(struct ch_terms *w, struct ch_sv text, size_t max);

#endif
