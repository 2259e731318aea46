/* wire_decode.c -- see wire_decode.h. */
#include "model/wire/wire_decode.h"

#include "base/error.h"
#include "model/codec/decoder.h"
#include "model/codec/encode.h"
#include "model/codec/errors.h"
#include "model/wire/reply_findings.h"
#include "json/writer.h"

static void write_joined(struct ch_jw *w, const char *key, const struct ch_msg *m,
                         enum ch_block_type type) {
    CH_BUF_AUTO text = {0};
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (m->blocks[i].type == type)
            ch_buf_add_sv(&text, m->blocks[i].text);
    ch_jw_kstr(w, key, ch_buf_sv(&text));
}

static void wire_decode_write_call(struct ch_jw *w, const struct ch_block *b, bool complete) {
    bool nothing = !b->text.n && complete;
    bool object = !(b->flags & CH_F_INVALID) && ch_is_json(b->text, CH_JSON_OBJECT);
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "id", b->id);
    ch_jw_kstr(w, "name", b->name);
    ch_jw_key(w, "arguments");
    if (nothing || object) {
        ch_jw_raw(w, nothing ? CH_SV("{}") : b->text);
    } else {
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "_invalid", b->text);
        ch_jw_end(w, '}');
    }
    if (b->flags & CH_F_CUT)
        ch_jw_kbool(w, "cut", true);
    if (b->flags & CH_F_REPAIRED)
        ch_jw_kbool(w, "repaired", true);
    ch_jw_end(w, '}');
}

static void wire_decode_write_calls(struct ch_jw *w, const struct ch_reply *r) {
    ch_jw_kbegin(w, "tool_calls", '[');
    for (uint32_t i = 0; r->msg && i < r->msg->nblocks; i++)
        if (r->msg->blocks[i].type == CH_BLOCK_TOOL_CALL)
            wire_decode_write_call(w, &r->msg->blocks[i], r->complete);
    ch_jw_end(w, ']');
}

/* The usage that the service reports for the reply itself. */
static void wire_decode_write_usage(struct ch_jw *w, const struct ch_reply *r) {
    const struct ch_usage *u = &r->usage, *beside = &r->beside;
    ch_jw_kbegin(w, "usage", '{');
    ch_jw_kint(w, "input", u->input - beside->input);
    ch_jw_kint(w, "output", u->output - beside->output);
    ch_jw_kint(w, "cache_read", u->cache_read - beside->cache_read);
    ch_jw_kint(w, "cache_write", u->cache_write - beside->cache_write);
    ch_jw_kint(w, "reasoning", u->reasoning);
    if (u->cache_write_1h > beside->cache_write_1h)
        ch_jw_kint(w, "cache_write_1h", u->cache_write_1h - beside->cache_write_1h);
    ch_jw_end(w, '}');
}

static void wire_decode_write_error(struct ch_jw *w, const struct ch_reply *r) {
    ch_jw_key(w, "error");
    if (r->error.cls == CH_ERR_NONE) {
        ch_jw_null(w);
        return;
    }
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "class", ch_error_class_name(r->error.cls));
    ch_jw_kstr(w, "message", r->error.message);
    ch_jw_kbool(w, "retryable", r->error.retryable);
    ch_jw_end(w, '}');
}

static void write_optional(struct ch_jw *w, const char *key, struct ch_sv s) {
    ch_jw_key(w, key);
    if (s.p)
        ch_jw_str(w, s);
    else
        ch_jw_null(w);
}

static void write_media(struct ch_jw *w, const struct ch_msg *m) {
    bool any = false;
    for (uint32_t i = 0; m && i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_IMAGE && b->type != CH_BLOCK_AUDIO)
            continue;
        if (!any) {
            ch_jw_kbegin(w, "media", '[');
        }
        any = true;
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "type", ch_block_type_name(b->type));
        ch_jw_kstr(w, "media_type", b->name);
        ch_jw_kstr(w, b->flags & CH_F_URL ? "url" : "data", b->text);
        ch_jw_end(w, '}');
    }
    if (any)
        ch_jw_end(w, ']');
}

static void write_findings(struct ch_jw *w, const struct ch_msg *m) {
    struct ch_findings f = {0};
    CH_BUF_AUTO citations = {0};
    if (m)
        ch_findings_read(&f, m);
    ch_findings_write(&f, &citations);
    if (citations.n)
        ch_jw_kraw(w, "citations", ch_buf_sv(&citations));
    size_t n = ch_findings_ncalls(&f);
    if (n) {
        ch_jw_kbegin(w, "server_tools", '[');
    }
    for (size_t i = 0; i < n; i++) {
        const struct ch_server_call *c = ch_findings_call_at(&f, i);
        ch_jw_begin(w, '{');
        ch_jw_kstr(w, "id", c->id);
        ch_jw_kstr(w, "name", c->name);
        ch_jw_kraw(w, "arguments", c->arguments);
        ch_jw_kstr(w, "result", c->result);
        ch_jw_end(w, '}');
    }
    if (n)
        ch_jw_end(w, ']');
    ch_findings_release(&f);
}

void ch_wire_write_reply(const struct ch_decoder *d, struct ch_buf *out) {
    const struct ch_reply *r = &d->reply;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    write_joined(&w, "text", r->msg, CH_BLOCK_TEXT);
    write_joined(&w, "reasoning", r->msg, CH_BLOCK_REASONING);
    write_joined(&w, "refusal", r->msg, CH_BLOCK_REFUSAL);
    wire_decode_write_calls(&w, r);
    write_media(&w, r->msg);
    write_findings(&w, r->msg);
    if (d->logprobs.n) {
        struct ch_sv list = ch_buf_sv(&d->logprobs);
        CH_BUF_AUTO whole = {0};
        ch_buf_addf(&whole, "%.*s%s", CH_SV_FMT(list), list.p[list.n - 1] == ']' ? "" : "]");
        ch_jw_kraw(&w, "logprobs", ch_buf_sv(&whole));
    }
    ch_jw_kcstr(&w, "stop", ch_stop_name(r->stop));
    write_optional(&w, "stop_raw", r->stop_raw);
    wire_decode_write_usage(&w, r);
    write_optional(&w, "model", r->model);
    ch_jw_kbool(&w, "complete", r->complete);
    wire_decode_write_error(&w, r);
    ch_jw_end(&w, '}');
}

int ch_wire_decode(const struct ch_codec *codec, int status, struct ch_sv content_type,
                   struct ch_sv body, struct ch_buf *out, struct chela_error *err) {
    struct ch_decoder d;
    if (!status)
        status = 200;
    struct ch_header type = {CH_SV("content-type"), content_type};
    ch_decoder_init(&d, codec, NULL, NULL);
    ch_decoder_head(&d, &(struct ch_http_head){
                            .status = status, .headers = &type, .nheaders = content_type.n > 0});
    ch_decoder_feed(&d, body);
    ch_decoder_end(&d, NULL, 0);
    ch_wire_write_reply(&d, out);
    /* A body that was truncated before any content may be of any protocol. */
    bool foreign = !d.recognised && status >= 200 && status < 300 &&
                   (d.saw_event || d.reply.error.cls == CH_ERR_FORMAT);
    ch_decoder_release(&d);
    if (foreign)
        return ch_fail(err, CHELA_EPROTO, "the body is not an answer of the %s protocol",
                       codec->name);
    return CHELA_OK;
}
