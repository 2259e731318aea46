/* eval_case_checks.h -- reads the checks of a case; private to this folder. */
#ifndef CH_EVAL_CASE_CHECKS_H
#define CH_EVAL_CASE_CHECKS_H
#include "eval/eval_case.h"

struct ch_eval_reader {
    struct ch_eval_file *f;
    struct ch_eval_case *c; /* NULL: the file itself is read */
    struct chela_error *err;
};

/* CHELA_EINVAL, and err with the place and the name of the case. */
int ch_eval_bad(struct ch_eval_reader *r, const struct ch_json *at, const char *why);
int ch_eval_known_keys(struct ch_eval_reader *r, const struct ch_json *object,
                       const char *const *keys, size_t n);
/* The arguments of a program: at least one text. */
int ch_eval_check_argv(struct ch_eval_reader *r, const struct ch_json *v);

/* v: the member `checks` of the case `at`; NULL: it has none. */
int ch_eval_read_checks(struct ch_eval_reader *r, const struct ch_json *at,
                        const struct ch_json *v);

#endif
