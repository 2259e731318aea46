/* table.h -- rows under headings, each column as wide as it needs. */
#ifndef CH_CLI_TABLE_H
#define CH_CLI_TABLE_H
#include <stddef.h>
#include <stdio.h>

#define CH_TABLE_COLUMNS 8 /* at most */

struct ch_table {             /* zeroed but for heads: empty */
    const char *const *heads; /* borrowed, ended by NULL */
    unsigned columns;         /* of the screen: the last cell is cut to it; 0: none is */
    char *(*cells)[CH_TABLE_COLUMNS]; /* owned, and each of them */
    size_t n;
};

/* A new row; its cells are malloc'ed texts, NULL shows nothing. */
char **ch_table_row(struct ch_table *t);

/* A row for each object of a JSON array, one member a column. */
void ch_table_fill(struct ch_table *t, const char *json, const char *const *members);

void ch_table_print(const struct ch_table *t, FILE *out);
void ch_table_release(struct ch_table *t);

#endif
