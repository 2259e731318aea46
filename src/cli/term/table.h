/* table.h -- prints rows under headings, with columns as wide as needed. */
#ifndef CH_CLI_TABLE_H
#define CH_CLI_TABLE_H
#include <stddef.h>
#include <stdio.h>

#define CH_TABLE_COLUMNS 9 /* maximum number of columns */

struct ch_table {             /* zeroed except heads: empty */
    const char *const *heads; /* borrowed, NULL-terminated */
    /* width of the screen, to which the last cell is truncated; 0: no limit */
    unsigned columns;
    char *(*cells)[CH_TABLE_COLUMNS]; /* owned, and each of them */
    size_t n;
};

/* Add a row; its cells are malloc'ed texts, NULL is empty. */
char **ch_table_row(struct ch_table *t);

/* Add a row for each element of a JSON array. A JSON pointer for each column names the value in
 * the element; the first value is not null. */
void ch_table_fill(struct ch_table *t, const char *json, const char *const *pointers);

/* Untrusted text is made one safe line a cell. */
void ch_table_print(struct ch_table *t, FILE *out);
void ch_table_release(struct ch_table *t);

#endif
