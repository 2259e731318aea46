/* review.c -- see chela/review.h. */
#include "chela/review.h"

#include "base/buf.h"
#include "base/choice.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/opts.h"
#include "layer/review.h"

int chela_review(const struct chela_review_opts *given, char **json, struct chela_error *err) {
    struct chela_review_opts o;
    struct ch_buf out = {0};

    CH_NEEDS_ARG(json, err);
    *json = NULL;
    int rc = CH_OPTS_READ(chela_review_opts, &o, given, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_REVIEW, o.action, err);
    if (rc < 0)
        return rc;
    if (!o.session || !*o.session || (o.workspace && o.workspace[0] != '/'))
        return ch_fail(err, CHELA_EINVAL, "a review needs a session and an absolute workspace");
    struct ch_review_opts opts = {.session = o.session,
                                  .workspace = o.workspace,
                                  .files = o.files,
                                  .hunks = o.hunks,
                                  .nhunks = o.hunks ? o.nhunks : 0};
    rc = o.action == CHELA_REVIEW_APPLY     ? ch_review_apply(&opts, &out, err)
         : o.action == CHELA_REVIEW_DISCARD ? ch_review_discard(&opts, &out, err)
                                            : ch_review_show(&opts, &out, err);
    if (rc < 0)
        ch_buf_release(&out);
    else
        *json = ch_buf_take(&out);
    return rc;
}
