/* decoder.c -- decodes the bytes of a response to one reply; see codec.h.
 *
 *       head ──► status and headers: how to classify an error
 *       bytes ─► NONE: the first few decide between stream and body
 *                SSE, EVENTS (binary): events go to the codec as they arrive
 *                BODY: collected and passed to the codec at the end
 *       end ───► the reply: complete, or failed with a class and a message
 *
 * Content types are unreliable (proxies turn a stream into JSON, servers label a stream
 * text/plain), so the bytes decide. A stream that ends without its end marker is a network
 * failure. */
#include "model/codec/decoder.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "model/codec/decode.h"
#include "model/codec/errors.h"
#include "model/codec/fold.h"
#include "json/json.h"
#include "model/codec/prompted_reply.h"
#include "model/codec/retry_after.h"

#define TYPICAL_TEXTS 128 /* bytes: the ids and names of a reply */
#define QUOTED 100 /* bytes of an unexpected response quoted in an error */

static bool is_success(const struct ch_decoder *d) {
    return d->status >= 200 && d->status < 300;
}

/* An event "error", or an event of an error response, whose data the codec did not recognize
 * as an error. */
static int fail_by_event(struct ch_decoder *d, struct ch_sv data, int rc) {
    struct chela_error ignored = {0};
    if (rc == CHELA_EPARSE) {
        struct ch_sv text = ch_utf8_cut(ch_sv_trim(data), QUOTED);
        ch_decoder_fail(d, &(struct ch_vendor_error){.message = text});
        return CHELA_OK;
    }
    return rc < 0 ? rc : ch_decode_error(d, data, &ignored);
}

static bool decoder_on_event(struct ch_sv name, struct ch_sv data, void *user) {
    struct ch_decoder *d = user;
    struct chela_error err;
    if (!ch_sv_trim(data).n) /* some servers keep the connection alive with empty events */
        return true;
    ch_error_clear(&err);
    int rc = d->codec->event(d, name, data, &err);
    if (rc == CHELA_EPARSE && d->ending && is_success(d))
        return false;
    if ((ch_sv_is(name, "error") || !is_success(d)) && d->reply.error.cls == CH_ERR_NONE)
        rc = fail_by_event(d, data, rc);
    d->saw_event = true;
    if (rc < 0)
        ch_decoder_fail_as(d, CH_ERR_FORMAT, rc == CHELA_EPARSE, ch_sv_str(err.message));
    if (d->reply.error.cls != CH_ERR_NONE)
        d->stopped = true;
    return !d->stopped;
}

static const char *decoder_quick_event(struct ch_sv name, const char *data, const char *end,
                                       void *user) {
    struct ch_decoder *d = user;
    return ch_sv_is(name, "error") ? NULL : d->codec->quick(d, data, end);
}

/* A message that is no event reports a failure of the service. */
static bool decoder_on_message(const struct ch_es_message *m, void *user) {
    struct ch_decoder *d = user;
    CH_ARENA_AUTO arena = {0}; /* kept texts are copied */
    const struct ch_json *v = NULL;
    struct ch_vendor_error e = {0};
    if (ch_sv_is(m->type, "event"))
        return decoder_on_event(m->event, m->payload, d);
    if (!ch_sv_is(m->type, "exception") && !ch_sv_is(m->type, "error"))
        return true;
    ch_json_parse(&arena, m->payload, CH_JSON_REPLACE, &v, NULL, NULL);
    ch_vendor_error_read(v, &arena, &e);
    e.type = m->exception.n ? m->exception : m->code;
    if (m->text.n)
        e.message = m->text;
    d->saw_event = d->recognised = d->stopped = true;
    ch_decoder_fail(d, &e);
    return false;
}

static void begin_stream(struct ch_decoder *d) {
    ch_sse_init(&d->sse, CH_LIMIT_SSE_EVENT, decoder_on_event, d);
    d->sse.quick = d->codec->quick ? decoder_quick_event : NULL;
    d->sse.takes_json = d->codec->bare_errors;
    d->sse.takes_errors = true;
}

static void init(struct ch_decoder *d, const struct ch_codec *codec, bool thoughts,
                 ch_model_event_fn *fn, void *user) {
    *d = (struct ch_decoder){.codec = codec->inner ? codec->inner : codec, .status = 200};
    if (codec->inner || thoughts) {
        d->tags = codec->inner ? CH_TAGS_CALLS : CH_TAGS_THINK;
        d->reader = ch_tag_reader_new(d->tags, fn, user);
        d->fold = ch_fold_new(ch_tag_reader_event, d->reader);
    } else {
        d->fold = ch_fold_new(fn, user);
    }
    codec = d->codec;
    ch_arena_reserve(&d->arena, codec->state_size + TYPICAL_TEXTS); /* one block for most replies */
    d->state = ch_arena_zalloc(&d->arena, codec->state_size);
    ch_buf_init(&d->body, CH_LIMIT_HTTP_BODY);
    begin_stream(d);
    d->reply.cursor = -1;
    ch_eventstream_init(&d->events, decoder_on_message, d);
}

void ch_decoder_init(struct ch_decoder *d, const struct ch_codec *codec, ch_model_event_fn *fn,
                     void *user) {
    init(d, codec, false, fn, user);
}

void ch_decoder_init_for(struct ch_decoder *d, const struct ch_endpoint *ep, struct ch_sv model,
                         struct ch_sv server_tools, ch_model_event_fn *fn, void *user) {
    init(d, ep->codec, ep->quirks & CH_Q_THINK_TAGS, fn, user);
    d->provider = ep->provider;
    d->endpoint = ep;
    d->server_tools = server_tools;
    d->requested_model = d->reply.model = model; /* reply.model: until the vendor names it */
}

void ch_decoder_release(struct ch_decoder *d) {
    if (!d->codec)
        return;
    if (d->codec->release)
        d->codec->release(d);
    ch_sse_release(&d->sse);
    ch_eventstream_release(&d->events);
    ch_fold_free(d->fold);
    ch_tag_reader_free(d->reader);
    ch_buf_release(&d->body);
    ch_buf_release(&d->scratch);
    ch_buf_release(&d->logprobs);
    ch_arena_release(&d->arena);
    ch_msg_free(d->reply.msg);
    *d = (struct ch_decoder){0};
}

void ch_decoder_resume(struct ch_decoder *d) {
    ch_sse_release(&d->sse);
    begin_stream(d);
    ch_buf_clear(&d->body);
    d->framing = CH_FRAME_NONE;
    d->status = 200;
    d->retry_after_ms = 0;
    d->should_retry = 0;
}

void ch_decoder_head(struct ch_decoder *d, const struct ch_http_head *head) {
    d->status = head->status;
    struct ch_sv encoding = ch_header_find(head->headers, head->nheaders, "content-encoding");
    if (encoding.n && !ch_sv_is(encoding, "identity"))
        d->encoding = ch_arena_sv(&d->arena, ch_utf8_cut(encoding, QUOTED));
    if (is_success(d)) /* the following headers matter for failures only */
        return;
    d->retry_after_ms = ch_retry_after(head);
    struct ch_sv retry = ch_header_find(head->headers, head->nheaders, "x-should-retry");
    d->should_retry = ch_sv_is(retry, "true") ? 1 : ch_sv_is(retry, "false") ? -1 : 0;
    struct ch_sv error = ch_header_find(head->headers, head->nheaders, "x-amzn-errortype");
    if (error.n)
        d->error_type = ch_arena_sv(&d->arena, ch_sv_split(&error, ':'));
}

/* --- framing */

/* Skip white space (servers send blank lines as keep-alive) and byte order marks. Text is not
 * trimmed at its end, because blanks after "d" show that no "data:" follows. */
static struct ch_sv past_blank(struct ch_sv s) {
    for (;;) {
        size_t n = ch_sv_starts(s, "\xef\xbb\xbf") ? 3 : s.n && memchr(" \t\r\n\v\f", *s.p, 6);
        if (!n)
            return s;
        s = ch_sv(s.p + n, s.n - n);
    }
}

/* Classify the first bytes; NONE while they may still become a stream. */
static int sniff(const struct ch_decoder *d, struct ch_sv s) {
    static const char *const fields[] = {"data:", "event:", "id:", "retry:", "error:",
                                         ":",     "\xef\xbb\xbf"};
    if (!s.n)
        return CH_FRAME_NONE;
    if (d->codec->binary && (*s.p == 0 || *s.p == 1)) /* first byte of a frame length below 32 MB */
        return CH_FRAME_EVENTS;
    for (size_t i = 0; i < CH_LEN(fields); i++) {
        size_t n = strlen(fields[i]), common = CH_MIN(n, s.n);
        if (memcmp(s.p, fields[i], common) == 0)
            return common == n ? CH_FRAME_SSE : CH_FRAME_NONE;
    }
    return CH_FRAME_BODY;
}

static void feed_stream(struct ch_decoder *d, struct ch_sv bytes) {
    struct chela_error err;
    ch_error_clear(&err);
    int rc = d->framing == CH_FRAME_EVENTS ? ch_eventstream_feed(&d->events, bytes, &err)
                                           : ch_sse_feed(&d->sse, bytes, &err);
    if (rc == 0)
        return;
    bool damaged = rc == CHELA_EPARSE;
    ch_decoder_fail_as(d, damaged ? CH_ERR_NETWORK : CH_ERR_FORMAT, damaged,
                       ch_sv_str(err.message));
    d->stopped = true;
}

/* A repeated request would get the same answer. */
static void fail_compressed(struct ch_decoder *d, struct ch_sv encoding) {
    char *line = ch_arena_printf(&d->arena,
                                 "the server's answer is compressed (%.*s), which chela cannot "
                                 "read; check the proxy in front of the server",
                                 CH_SV_FMT(encoding));
    if (is_success(d))
        ch_decoder_fail_as(d, CH_ERR_FORMAT, false, ch_sv_str(line));
    else
        ch_decoder_fail(d, &(struct ch_vendor_error){.message = ch_sv_str(line)});
    d->stopped = true;
}

/* Decide on all bytes so far. Returns true if they were used: they began a stream, or were
 * blank. */
static bool decide_framing(struct ch_decoder *d, struct ch_sv bytes) {
    struct ch_sv text = past_blank(bytes);
    if (ch_sv_starts(text, "\x1f\x8b")) {
        fail_compressed(d, CH_SV("gzip"));
        return true;
    }
    d->framing = sniff(d, text);
    if (d->framing != CH_FRAME_SSE && d->framing != CH_FRAME_EVENTS)
        return !text.n;
    feed_stream(d, ch_sv(text.p, (size_t)(bytes.p + bytes.n - text.p)));
    return true;
}

static void feed_body(struct ch_decoder *d, struct ch_sv bytes) {
    if (ch_buf_add_sv(&d->body, bytes) == CHELA_OK)
        return;
    ch_decoder_fail_as(d, CH_ERR_FORMAT, false, CH_SV("the answer is larger than allowed"));
    d->stopped = true;
}

bool ch_decoder_feed(struct ch_decoder *d, struct ch_sv bytes) {
    if (d->stopped)
        return d->reply.error.cls == CH_ERR_NONE;
    if (d->framing == CH_FRAME_SSE || d->framing == CH_FRAME_EVENTS) {
        feed_stream(d, bytes);
    } else if (d->framing == CH_FRAME_BODY) {
        feed_body(d, bytes);
    } else if (d->body.n) {
        feed_body(d, bytes);
        if (!d->stopped && decide_framing(d, ch_buf_sv(&d->body)))
            ch_buf_release(&d->body);
    } else if (!decide_framing(d, bytes)) {
        feed_body(d, bytes); /* the usual stream is decided by its first bytes, not copied */
    }
    return d->reply.error.cls == CH_ERR_NONE;
}

/* --- unexpected responses */

/* The first words of an HTML page, without tags, styles and scripts. */
static struct ch_sv page_words(struct ch_decoder *d, struct ch_sv html) {
    CH_BUF_AUTO out = {0};
    while (html.n && out.n < QUOTED) {
        const char *skip = ch_sv_starts(html, "<style")    ? "</style>"
                           : ch_sv_starts(html, "<script") ? "</script>"
                           : *html.p == '<'                ? ">"
                                                           : NULL;
        const char *end = skip ? memmem(html.p, html.n, skip, strlen(skip)) : NULL;
        bool space = skip || (unsigned char)*html.p <= ' ';
        if (space && out.n && out.p[out.n - 1] != ' ')
            ch_buf_addc(&out, ' ');
        else if (!space)
            ch_buf_addc(&out, *html.p);
        size_t n = skip ? (end ? (size_t)(end - html.p) + strlen(skip) : html.n) : 1;
        html = ch_sv(html.p + n, html.n - n);
    }
    return ch_arena_sv(&d->arena, ch_utf8_cut(ch_sv_trim(ch_buf_sv(&out)), QUOTED));
}

static void fail_page(struct ch_decoder *d, struct ch_sv html) {
    struct ch_sv words = page_words(d, html);
    char *line = ch_arena_printf(
        &d->arena, "the server answered with a web page, not JSON: \"%.*s\"", CH_SV_FMT(words));
    struct ch_vendor_error e = {.message = ch_sv_str(line)};
    if (!is_success(d) && d->status != 404) /* 404: a wrong URL, not a wrong model */
        ch_decoder_fail(d, &e);
    else
        ch_decoder_fail_as(d, CH_ERR_FORMAT, false, e.message);
}

static void fail_foreign(struct ch_decoder *d, struct ch_sv body, const char *what,
                         bool retryable) {
    struct ch_sv quote = ch_utf8_cut(body, QUOTED);
    if (!is_success(d)) {
        ch_decoder_fail(d, &(struct ch_vendor_error){.message = quote});
        return;
    }
    char *line = ch_arena_printf(&d->arena, "%s: \"%.*s\"", what, CH_SV_FMT(quote));
    ch_decoder_fail_as(d, CH_ERR_FORMAT, retryable, ch_sv_str(line));
}

/* True if text may be a truncated JSON document. */
static bool is_cut_json(struct ch_sv text) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_json_where where = {0};
    if (*text.p != '{' && *text.p != '[')
        return false;
    ch_json_parse(&arena, text, CH_JSON_REPLACE, &v, &where, NULL);
    return where.offset >= text.n;
}

static void decoder_end_body(struct ch_decoder *d) {
    struct ch_sv text = past_blank(ch_sv_trim(ch_buf_sv(&d->body)));
    if (!text.n) {
        if (!is_success(d))
            ch_decoder_fail(d, &(struct ch_vendor_error){0});
        return;
    }
    if (*text.p == '<') {
        fail_page(d, text);
        return;
    }
    struct chela_error err = {0};
    int rc = d->codec->body(d, text, &err);
    if (rc == CHELA_EPARSE && is_success(d) && is_cut_json(text))
        return;
    /* Some recorders keep the header but store the decompressed body. */
    if (rc == CHELA_EPARSE && d->encoding.n)
        fail_compressed(d, d->encoding);
    else if (rc == CHELA_EPARSE)
        fail_foreign(d, text, "the server's answer is not JSON", true);
    else if (rc < 0)
        ch_decoder_fail_as(d, CH_ERR_FORMAT, false, ch_sv_str(err.message));
    else if (!d->recognised)
        fail_foreign(d, text, "the server's answer is not of this protocol", false);
}

/* --- the end */

static void fail_transport(struct ch_decoder *d, const struct chela_error *err) {
    enum ch_error_class cls = CH_ERR_NETWORK;
    bool retryable = true;
    if (err->code == CHELA_ETIMEOUT) {
        cls = CH_ERR_TIMEOUT;
    } else if (err->code == CHELA_ELIMIT) {
        cls = CH_ERR_FORMAT;
        retryable = false;
    } else if (err->code == CHELA_ETLS || err->code == CHELA_EINVAL) {
        retryable = false;
    }
    ch_decoder_fail_as(d, cls, retryable, ch_sv_str(err->message));
}

/* True if the bytes so far are a whole body, or all that is known of an error: a text such as
 * "error" could also be the beginning of a stream. */
static bool is_body(const struct ch_decoder *d, const struct chela_error *err) {
    if (is_success(d))
        return d->framing == CH_FRAME_BODY && !err;
    return d->framing == CH_FRAME_BODY || (d->framing == CH_FRAME_NONE && (d->body.n || !err));
}

static void end_bytes(struct ch_decoder *d, const struct chela_error *err) {
    d->ending = true;
    if (!d->stopped && d->framing == CH_FRAME_SSE && !err)
        ch_sse_end(&d->sse, NULL);
    else if (!d->stopped && is_body(d, err))
        decoder_end_body(d);
    if (d->codec->end)
        d->codec->end(d);
}

static void fail_if_incomplete(struct ch_decoder *d, const struct chela_error *err) {
    if (d->reply.complete && is_success(d))
        return;
    if (!is_success(d))
        ch_decoder_fail(d, &(struct ch_vendor_error){
                               .message = err ? ch_sv_str(err->message)
                                              : CH_SV("the answer does not say why")});
    else if (err)
        fail_transport(d, err);
    else
        ch_decoder_fail_as(d, CH_ERR_NETWORK, true,
                           CH_SV("the answer ended before the reply was complete"));
}

static bool has_closed_call(const struct ch_msg *m) {
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TOOL_CALL && !(m->blocks[i].flags & CH_F_CUT))
            return true;
    return false;
}

/* The content takes precedence over the vendor's stop reason: calls with reason "stop" are
 * calls. */
static enum ch_stop final_stop(struct ch_decoder *d) {
    enum ch_stop stop = d->reply.stop == CH_STOP_NONE ? CH_STOP_STOP : d->reply.stop;
    if (d->reply.error.cls != CH_ERR_NONE)
        return CH_STOP_ERROR;
    if (stop == CH_STOP_STOP && ch_fold_has(d->fold, CH_BLOCK_REFUSAL))
        return CH_STOP_REFUSAL;
    if (stop == CH_STOP_STOP && has_closed_call(d->reply.msg))
        return CH_STOP_TOOL_USE;
    return stop;
}

/* Parse calls and reasoning from the text. */
static void decoder_read_text(struct ch_decoder *d) {
    bool failed = d->reply.error.cls != CH_ERR_NONE;
    if (ch_tags_rewrite(d->tags, failed, &d->reply.msg) == CHELA_OK)
        return;
    for (uint32_t i = 0; i < d->reply.msg->nblocks; i++)
        if (d->reply.msg->blocks[i].type == CH_BLOCK_TOOL_CALL)
            d->reply.msg->blocks[i].flags |= CH_F_CUT;
    ch_decoder_fail_as(d, CH_ERR_FORMAT, false, CH_SV("the reply holds more calls than allowed"));
}

/* "provider/model" of the request; empty if unknown. */
static struct ch_sv decoder_asked(struct ch_decoder *d) {
    if (!d->provider)
        return CH_SV("");
    struct ch_sv parts[] = {ch_sv_str(d->provider), CH_SV("/"), d->requested_model};
    return ch_sv_str(ch_arena_join(&d->arena, parts, CH_LEN(parts)));
}

struct ch_msg_author ch_decoder_author(struct ch_decoder *d) {
    return (struct ch_msg_author){d->codec->name, d->reply.model, decoder_asked(d)};
}

void ch_decoder_end(struct ch_decoder *d, const struct chela_error *err, int64_t ts) {
    end_bytes(d, err);
    if (d->reader)
        ch_tag_reader_end(d->reader);
    fail_if_incomplete(d, err);
    d->stopped = true;
    if (d->reply.stop == CH_STOP_LENGTH)
        ch_fold_cut(d->fold);
    if (d->reply.error.cls != CH_ERR_NONE)
        ch_fold_abandon(d->fold);
    struct ch_msg_author by = ch_decoder_author(d);
    d->reply.msg = ch_fold_message(d->fold, &by, ts);
    if (d->reader)
        decoder_read_text(d);
    d->reply.stop = final_stop(d);
}
