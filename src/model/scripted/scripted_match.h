/* scripted_match.h -- which rule fits, and what its templates stand for. */
#ifndef CH_MODEL_SCRIPTED_MATCH_H
#define CH_MODEL_SCRIPTED_MATCH_H
#include "model/scripted/scripted_private.h"

/* The first rule that fits and is not used up; false: there is none. */
bool ch_script_match(const struct ch_script *s, const struct ch_talk *talk, struct ch_match *out);

/* Capture groups that a rule's templates may name. */
size_t ch_when_groups(const struct ch_scripted_when *w);

/* Is every {{name}} known? Otherwise *bad is the one that is not. */
bool ch_template_valid(const struct ch_scripted_template *t, size_t ngroups, struct ch_sv *bad);

/* Append the text with its names filled in, once: what is filled in is not
 * looked at again. CHELA_EINVAL for a result that does not exist. */
int ch_template_expand(const struct ch_scripted_template *t, const struct ch_match *m,
                       const struct ch_talk *talk, struct ch_buf *out, struct chela_error *err);

#endif
