/* scripted_match.h -- selects the matching rule and expands its templates. */
#ifndef CH_MODEL_SCRIPTED_MATCH_H
#define CH_MODEL_SCRIPTED_MATCH_H
#include "model/scripted/scripted_private.h"

/* The first matching rule that is not used up; false: none. */
bool ch_script_match(const struct ch_script *s, const struct ch_talk *talk, struct ch_match *out);

/* Number of capture groups that a rule's templates may use. */
size_t ch_when_groups(const struct ch_scripted_when *w);

/* True if every {{name}} is known; else *bad is the unknown one. */
bool ch_template_valid(const struct ch_scripted_template *t, size_t ngroups, struct ch_sv *bad);

/* Append the text with its names replaced; replacements are not expanded again.
 * CHELA_EINVAL for a result that does not exist. */
int ch_template_expand(const struct ch_scripted_template *t, const struct ch_match *m,
                       const struct ch_talk *talk, struct ch_buf *out, struct chela_error *err);

#endif
