/* fuzzy.h -- fuzzy matching: finds a text by the parts that a person remembers. */
#ifndef CH_CLI_FUZZY_H
#define CH_CLI_FUZZY_H

/* Score of a text for a query; negative: no match. Every word of the query must occur in
 * the text, its letters in order and not necessarily adjacent; ASCII letters match in both
 * cases. An adjacent match scores higher, and so does an earlier one. An empty query
 * matches every text with score 0. */
int ch_fuzzy_score(const char *query, const char *text);

#endif
