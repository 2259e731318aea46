/* sending.c -- see sending.h. */
#include "agent/run/sending.h"

#include "agent/handle/lookup.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "base/limits.h"
#include "model/provider/errand.h"
#include "model/provider/socket.h"
#include "model/provider/target.h"

void ch_sending_release(struct ch_sending *s) {
    ch_free(s->known_job);
    ch_free(s->known_model);
    ch_errand_free(s->deletes);
    ch_socket_free(s->socket);
}

void ch_sending_begin(struct ch_sending *s) {
    ch_vendor_job_end(&s->job);
    s->stored = false;
}

void ch_sending_aim(chela_run *run, struct ch_sending *s) {
    if (s->known_job && strcmp(s->known_model, run->target->spec) != 0)
        ch_free(CH_TAKE(s->known_job));
}

struct ch_sv ch_sending_cache_key(const chela_run *run, bool recorded, struct ch_arena *parts) {
    const struct ch_codec *codec = run->target->ep.codec;
    if (!recorded && !(codec->inner ? codec->inner : codec)->takes_cache_key)
        return CH_SV("");
    const chela_session *s = run->session;
    struct ch_sv first = s->transcript.n ? ch_msg_words(s->transcript.msgs[0]) : CH_SV("");
    uint64_t h = ch_hash(0, ch_sv_str(s->agent->id));
    char hex[CH_HASH_HEX];
    ch_hash_hex(ch_hash(h, ch_sv(first.p, CH_MIN(first.n, 4 * CH_KB))), hex);
    struct ch_sv words[] = {CH_SV("chela-"), ch_sv(hex, sizeof(hex))};
    return ch_sv_str(ch_arena_join(parts, words, CH_LEN(words)));
}

/* --- a reply that the service makes in the background */

static struct ch_vendor_job_owner owner_of(chela_run *run, const struct ch_sending *s) {
    return (struct ch_vendor_job_owner){run->loop, s->request, s->ask, run};
}

static struct ch_errand *job_errand(chela_run *run, const struct ch_sending *s, struct ch_sv id,
                                    const char *method, const char *path, const char *what) {
    CH_BUF_AUTO url = {0};
    ch_vendor_job_url(&url, s->request->url, id, path, "");
    return ch_errand_new(&run->session->agent->rt->providers, run->target->transport, s->request,
                         method, ch_buf_str(&url), what);
}

static struct ch_sv job_of(const struct ch_sending *s) {
    struct ch_sv id = ch_vendor_job_id(s->job);
    return id.n || !s->decoder ? id : s->decoder->reply.job;
}

static void store_job(chela_run *run, struct ch_sending *s) {
    struct ch_sv id = job_of(s);
    if (!id.n || s->stored)
        return;
    s->stored = true;
    ch_run_journal_job(run, id);
}

void ch_sending_forget_job(chela_run *run, struct ch_sending *s) {
    if (s->stored)
        ch_run_journal_job(run, CH_SV(""));
    s->stored = false;
}

void ch_sending_recall(chela_run *run, struct ch_sending *s) {
    struct ch_vendor_job_owner owner = owner_of(run, s);
    CH_AUTOFREE char *id = CH_TAKE(s->known_job);
    s->stored = true;
    ch_vendor_job_recall(&s->job, &owner, ch_sv_str(id));
}

void ch_sending_cancel_job(chela_run *run, struct ch_sending *s, bool for_good) {
    const struct ch_reply *r = s->decoder ? &s->decoder->reply : NULL;
    struct ch_sv id = job_of(s);
    bool over = r && (r->complete || (r->error.cls != CH_ERR_NONE && !r->pending.n));
    if (!for_good || !id.n || over)
        return;
    ch_errand_start(
        job_errand(run, s, id, "POST", "/cancel", "the service may still make a reply"));
    ch_sending_forget_job(run, s);
}

void ch_sending_kept(struct ch_sending *s, uint64_t seq) {
    s->stored = false; /* the reply replaces the record */
    s->deletes_seq = seq;
    if (!seq)
        ch_errand_start(CH_TAKE(s->deletes));
}

void ch_sending_committed(struct ch_sending *s, uint64_t seq) {
    if (s->deletes && s->deletes_seq && seq >= s->deletes_seq)
        ch_errand_start(CH_TAKE(s->deletes));
}

/* A job that expired before it was begun costs nothing: the request may be made again, once. */
static void judge_job(struct ch_sending *s, struct ch_reply *r) {
    bool expired = ch_sv_is(r->stop_raw, "expired");
    bool unused = !r->msg && !r->usage.input && !r->usage.output;
    if (r->error.cls == CH_ERR_NONE || !(expired || ch_sv_is(r->stop_raw, "cancelled")))
        return;
    r->error.retryable = expired && unused && !s->expired;
    s->expired |= expired;
}

/* The outcome of a job is known. */
static void settle_job(chela_run *run, struct ch_sending *s, struct ch_decoder *d) {
    struct ch_sv id = job_of(s);
    if (!id.n)
        return;
    judge_job(s, &d->reply);
    ch_errand_free(CH_TAKE(s->deletes));
    if (run->target->deletes_jobs && d->status / 100 == 2)
        s->deletes = job_errand(run, s, id, "DELETE", "", "the service may still store a reply");
    if (d->reply.error.cls == CH_ERR_NONE)
        return;
    ch_sending_forget_job(run, s);
    ch_errand_start(CH_TAKE(s->deletes));
}

const char *ch_sending_lost(const struct ch_sending *s, const struct ch_reply *r) {
    bool lost = s->job && (r->error.status == 404 || r->error.status == 410);
    return lost ? "the service no longer has the reply that it made in the background: " : "";
}

/* --- the WebSocket */

struct ch_transport *ch_sending_transport(chela_run *run, struct ch_sending *s) {
    struct ch_target *t = run->target;
    struct ch_http *network = run->session->agent->rt->providers.http;
    int64_t now = ch_mono_ms(ch_loop_clock(run->loop));
    s->via = t->transport;
    if (!t->websocket || t->transport != ch_http_transport(network) || now < t->http_until)
        return s->via;
    if (s->socket_of != t || s->socket_key != t->ep.api_key)
        ch_sending_hang_up(s);
    if (!s->socket)
        s->socket = ch_socket_new(network);
    s->socket_of = t;
    s->socket_key = t->ep.api_key;
    ch_socket_history(s->socket, run->session->encoder.epoch);
    return s->via = ch_socket_transport(s->socket);
}

/* Tells that a WebSocket cannot be had, and does not try again for a while. False: the run was
 * closed. */
static bool mind_socket(chela_run *run, const struct ch_sending *s) {
    struct ch_target *t = run->target;
    const char *why = ch_socket_failure(s->socket);
    int64_t now = ch_mono_ms(ch_loop_clock(run->loop));
    if (!*why || s->socket_of != t || now < t->http_until)
        return true;
    t->http_until = now + CH_DEFAULT_WEBSOCKET_AGAIN_MS;
    ch_emit_warning(run, "%s is asked over HTTP, because a WebSocket cannot be had: %s", t->spec,
                    why);
    return !run->dead;
}

void ch_sending_hang_up(struct ch_sending *s) {
    ch_socket_free(CH_TAKE(s->socket));
}

/* --- the response */

void ch_sending_heard(chela_run *run, struct ch_sending *s) {
    if (s->decoder && !s->decoder->reply.complete)
        store_job(run, s);
}

/* The stream of a job has ended early: the rest of it is asked for. */
static bool follow_job(chela_run *run, struct ch_sending *s, struct ch_decoder *d,
                       const struct chela_error *err) {
    struct ch_vendor_job_owner owner = owner_of(run, s);
    bool cut = !err || err->code == CHELA_ENET || err->code == CHELA_ETIMEOUT;
    if (!cut || d->stopped || d->status / 100 != 2 || d->framing != CH_FRAME_SSE ||
        !ch_vendor_job_follows(&s->job, &owner, &d->reply))
        return false;
    ch_decoder_resume(d);
    return true;
}

bool ch_sending_resumes(chela_run *run, struct ch_sending *s, struct ch_decoder *d,
                        const struct chela_error *err, bool stops) {
    return !mind_socket(run, s) || (!stops && follow_job(run, s, d, err));
}

bool ch_sending_waits(chela_run *run, struct ch_sending *s, struct ch_decoder *d) {
    struct ch_vendor_job_owner owner = owner_of(run, s);
    if (ch_vendor_job_awaits(&s->job, &owner, &d->reply)) {
        store_job(run, s);
        return true;
    }
    settle_job(run, s, d);
    return false;
}
