/* decode.c -- see decode.h. */
#include "model/codec/decode.h"

#include "base/chars.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/codec/errors.h"
#include "json/json.h"

int ch_decode_malformed(struct chela_error *err) {
    return ch_fail(err, CHELA_EPARSE, "malformed JSON in the answer");
}

int ch_decode_too_large(struct chela_error *err) {
    return ch_fail(err, CHELA_ELIMIT, "the reply is larger than allowed");
}

enum ch_stop ch_decode_stop(const struct ch_stop_word *words, size_t n, struct ch_sv raw) {
    for (size_t i = 0; i < n; i++)
        if (ch_sv_is(raw, words[i].word))
            return words[i].stop;
    return CH_STOP_STOP;
}

int ch_decode_error(struct ch_decoder *d, struct ch_sv json, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0}; /* kept texts are copied */
    const struct ch_json *v;
    struct ch_vendor_error e;
    if (ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return ch_decode_malformed(err);
    if (!ch_vendor_error_read(v, &arena, &e))
        return CHELA_OK;
    d->recognised = true;
    ch_decoder_fail(d, &e);
    return CHELA_OK;
}

struct ch_sv ch_decode_job_id(struct ch_decoder *d, struct ch_sv id) {
    bool fits = id.n && id.n <= CH_LIMIT_VENDOR_JOB_ID;
    for (size_t i = 0; i < id.n && fits; i++)
        fits = ch_char_is(id.p[i], CH_CHAR_WORD | CH_CHAR_DASH);
    return fits ? ch_arena_sv(&d->arena, id) : CH_SV("");
}

void ch_decode_pending(struct ch_decoder *d, struct ch_sv id, struct ch_sv status) {
    d->recognised = true;
    d->reply.job = d->reply.pending = ch_decode_job_id(d, id);
    char *line = ch_arena_printf(&d->arena, "the service still makes the reply (status \"%.*s\")",
                                 CH_SV_FMT(status));
    ch_decoder_fail_as(d, CH_ERR_SERVER, false, ch_sv_str(line));
}
