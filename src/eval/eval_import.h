/* eval_import.h -- cases of other programs in chela's form; private to this folder. */
#ifndef CH_EVAL_IMPORT_H
#define CH_EVAL_IMPORT_H
#include "json/writer.h"

/* Cases and what could not be translated. Both buffers hold JSON values, separated by commas. */
struct ch_eval_importing {
    struct ch_buf cases, lost;
    size_t n;
};

/* Lists a part of a case that has no counterpart. */
void ch_eval_import_lost(struct ch_eval_importing *m, struct ch_sv name, struct ch_sv what,
                         const char *why);
/* Appends text as a pattern that matches exactly this text. */
void ch_eval_import_quote(struct ch_buf *out, struct ch_sv text, bool any_case);

/* A configuration of promptfoo. */
int ch_eval_import_promptfoo(const struct ch_json *root, struct ch_eval_importing *m,
                             struct chela_error *err);
/* One row of a data set; n from 1. */
void ch_eval_import_row(const struct ch_json *row, size_t n, struct ch_eval_importing *m);

#endif
