/* facts_file.h -- the user's file of facts about models:
 *   {"format": 1, "as_of": "2026-11-19", "source": "https://models.dev/api.json",
 *    "models": [{"match": "anthropic/claude-opus-5-5*", "window": 1000000, ...}]}
 * with the columns of model_columns.h. A row stands for the models of one provider, or with a
 * match without '/' of all. Of several rows that fit, the longest counts. */
#ifndef CH_FACTS_FILE_H
#define CH_FACTS_FILE_H
#include "base/arena.h"
#include "model/catalog/model_columns.h"

struct ch_facts_row {
    const char *match;    /* as in the file */
    const char *provider; /* NULL: any */
    const char *name;     /* pattern of ch_model_fits */
    struct ch_some_facts some;
    const char *source, *as_of; /* the row's own, else the file's; NULL: neither says it */
};

struct ch_facts_file {
    struct ch_arena arena;
    struct ch_facts_row *rows;
    size_t n;
    const char *source, *as_of; /* may be NULL */
};

/* text: what is wrong, with file and place. */
typedef void ch_facts_complain(const char *text, void *user);

/* Read the text of a file. Wrong columns and rows are complained about and left out. A negative
 * result: nothing can be read of it (cut, no JSON, another format); err names the place. */
int ch_facts_file_read(struct ch_facts_file *f, struct ch_sv text, const char *path,
                       ch_facts_complain *complain, void *user, struct chela_error *err);
void ch_facts_file_release(struct ch_facts_file *f);

/* The row that counts for a model; NULL: none. */
const struct ch_facts_row *ch_facts_file_find(const struct ch_facts_file *f, const char *provider,
                                              struct ch_sv model);
/* True if the row is a pattern that fits no built-in model. */
bool ch_facts_row_is_idle(const struct ch_facts_row *row);
/* Append the text of a file. */
void ch_facts_file_write(const struct ch_facts_file *f, struct ch_buf *out);

#endif
