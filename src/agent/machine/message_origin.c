/* message_origin.c -- see message_origin.h. */
#include "agent/machine/message_origin.h"

#include "base/mem.h"
#include "base/opts.h"
#include "prompt/envelope.h"

struct ch_message_origin ch_message_origin_copy(const struct ch_message_origin *origin) {
    return (struct ch_message_origin){ch_strdup(origin ? origin->id : NULL)};
}

void ch_message_origin_release(struct ch_message_origin *origin) {
    ch_free(origin->id);
    *origin = (struct ch_message_origin){0};
}

void ch_message_origin_move(struct ch_message_origin *to, struct ch_message_origin *from) {
    if (!from->id)
        return;
    ch_message_origin_release(to);
    *to = *from;
    *from = (struct ch_message_origin){0};
}

void ch_message_origin_set(struct ch_message_origin *origin, const struct chela_inbound *given) {
    struct chela_inbound in;
    ch_message_origin_release(origin);
    if (CH_OPTS_NEED(chela_inbound, &in, given, NULL) == 0 && in.message_id && *in.message_id)
        origin->id = ch_strdup(in.message_id);
}

void ch_message_origin_tell(const struct chela_inbound *given, const char *session_key,
                            struct ch_buf *out) {
    struct chela_inbound in;
    if (CH_OPTS_NEED(chela_inbound, &in, given, NULL) == 0)
        ch_envelope_blocks(&in, session_key, out);
}

char *chela_inbound_line(const struct chela_inbound *given, const char *text, size_t len,
                         struct chela_error *err) {
    struct ch_buf out = {0};
    struct chela_inbound in;
    if (CH_OPTS_NEED(chela_inbound, &in, given, err) < 0)
        return NULL;
    ch_envelope_line(&in, ch_sv(text, len), &out);
    return ch_buf_take(&out);
}
