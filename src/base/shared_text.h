/* shared_text.h -- texts that several owners hold, such as the sessions of an agent.
 *
 * A text does not change. It ends with NUL and lives until its last owner releases it. The
 * owners of a text are used on one thread. */
#ifndef CH_BASE_SHARED_TEXT_H
#define CH_BASE_SHARED_TEXT_H
#include "base/sv.h"

/* A reference to a text with these bytes: the text in *last if it is the same, otherwise a
 * new text, which takes the place of *last. *last owns a reference; NULL: none. */
const char *ch_shared_text(const char **last, struct ch_sv bytes);
struct ch_sv ch_shared_text_sv(const char *text); /* with its length, which is not counted */
const char *ch_shared_text_ref(const char *text); /* one more reference to the text */
void ch_shared_text_release(const char *text);    /* NULL: does nothing */

#endif
