/* decided.c -- see decided.h. */
#include "channel/decided.h"

#include <string.h>

static enum ch_say key_of(const char *word) {
    return strcmp(word, "deny") == 0           ? CH_SAY_DENIED
           : strcmp(word, "allow-always") == 0 ? CH_SAY_ALLOWED_ALWAYS
                                               : CH_SAY_ALLOWED_ONCE;
}

void ch_decided_in_words(const struct chela_channel_decision *d, enum chela_language to,
                         const struct chela_error *err, struct ch_buf *out) {
    bool late = err && (err->code == CHELA_EEXIST || err->code == CHELA_ENOENT);
    if (late)
        ch_buf_add_str(out, ch_say(CH_SAY_DECIDED_BEFORE, to));
    else if (err)
        ch_say_add(out, CH_SAY_DECIDE_ERROR, to, CH_SAY_VALUES(ch_sv_str(err->message)));
    else
        ch_buf_add_str(out, ch_say(key_of(d->word), to));
}

void ch_decided_by(const struct chela_channel_decision *d, enum chela_language to,
                   struct ch_buf *out) {
    ch_say_add(out, CH_SAY_DECIDED_BY, to,
               CH_SAY_VALUES(ch_sv_str(ch_say(key_of(d->word), to)), ch_sv_str(d->by)));
}
