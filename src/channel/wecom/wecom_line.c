/* wecom_line.c -- the long connection: frames and their answers.
 *
 *   open --aibot_subscribe--> subscribed --> messages and events in; frames out, each answered
 *
 * A bot has one connection. If another one is opened, the service announces this on the old
 * connection and ends it; reconnecting at once would end the new one. A process without the
 * connection leaves its messages to the process that has it, and connects when the note of
 * that process was deleted or is not renewed any more. Frames with the same request id are
 * sent one after the other. */
#include "channel/wecom/wecom_line.h"

#include <stdio.h>

#include "channel/wecom/wecom_hook.h"
#include "channel/wecom/wecom_message.h"
#include "channel/wecom/wecom_post.h"


#define ANSWER_MS 10000 /* for the answer to a frame, and for a connection */
#define TAKEN_MS 300000 /* another connection has taken over */
#define BEAT_MS 30000   /* between two signs of life, and two notes */
#define SILENT_MS 75000 /* a connection, or the process of a note, is given up after this */
#define NOTE "line"
#define LIMITED_MS 60000
#define BUSY_MS 2000
#define SWEEP_MS 1000

struct wecom_frame {
    struct ch_kit_job job; /* in the channel's frames */
    char *req;             /* owned */
    struct ch_buf text;
    int64_t until; /* ms */
    bool sent;
    ch_wecom_fn *fn;
    void *user;
};

static int64_t line_now(const struct ch_wecom *w) {
    return w->host->now(w->host->user);
}

static void frame_free(struct ch_kit_job *job) {
    struct wecom_frame *f = CH_CONTAINER(job, struct wecom_frame, job);
    ch_free(f->req);
    ch_buf_release(&f->text);
    ch_free(f);
}

static void frame_end(struct wecom_frame *f, const struct ch_wecom_answer *a) {
    ch_wecom_fn *fn = f->fn;
    void *user = f->user;
    ch_kit_job_end(&f->job);
    if (fn)
        fn(a, user);
}

static void frame_fail(struct wecom_frame *f, enum chela_receipt what, const char *why) {
    frame_end(f, &(struct ch_wecom_answer){.what = what, .why = why});
}

void ch_wecom_judge(int64_t code, struct ch_sv message, struct ch_arena *a,
                    struct ch_wecom_answer *out) {
    bool limited = code == 45009 || code == 45033 || code == 45047 ||
                   ch_sv_contains_nocase(message, "freq") ||
                   ch_sv_contains_nocase(message, "limit");
    bool busy = code == -1 || code == 6000 || code == 50001 ||
                ch_sv_contains_nocase(message, "system error");
    *out = (struct ch_wecom_answer){.code = code};
    if (!code)
        return;
    out->what = limited || busy ? CHELA_RECEIPT_UNCERTAIN : CHELA_RECEIPT_REFUSED;
    out->wait_ms = limited ? LIMITED_MS : busy ? BUSY_MS : 0;
    out->why = ch_arena_printf(a, "error %lld: %.*s", (long long)code, (int)CH_MIN(message.n, 200u),
                               message.n ? message.p : "");
}

/* --- frames out */

static bool line_is_busy(const struct ch_wecom *w, const char *req) {
    for (CH_LIST_EACH(k, &w->frames)) {
        const struct wecom_frame *f = CH_CONTAINER(k, struct wecom_frame, job.link);
        if (f->sent && strcmp(f->req, req) == 0)
            return true;
    }
    return false;
}

static void line_flush(struct ch_wecom *w) {
    if (!w->subscribed)
        return;
    for (CH_LIST_EACH(k, &w->frames)) {
        struct wecom_frame *f = CH_CONTAINER(k, struct wecom_frame, job.link);
        if (f->sent || line_is_busy(w, f->req))
            continue;
        f->sent = ch_redial_send(&w->dial, ch_buf_sv(&f->text));
        f->until = f->sent ? line_now(w) + ANSWER_MS : f->until;
    }
}

static void line_write(struct ch_buf *out, const char *cmd, const char *req, struct ch_sv body) {
    struct ch_jw j = ch_jw(out);
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "cmd", cmd);
    ch_jw_kbegin(&j, "headers", '{');
    ch_jw_kcstr(&j, "req_id", req);
    ch_jw_end(&j, '}');
    if (body.n)
        ch_jw_kraw(&j, "body", body);
    ch_jw_end(&j, '}');
}

/* CMD_TIME_RANDOM, as the service's own client makes them. */
static char *line_req(const struct ch_wecom *w, const char *cmd) {
    unsigned char random[8];
    CH_BUF_AUTO id = {0};
    w->host->random(random, sizeof(random), w->host->user);
    ch_buf_addf(&id, "%s_%lld_", cmd, (long long)line_now(w));
    for (size_t i = 0; i < sizeof(random); i++)
        ch_buf_addf(&id, "%02x", random[i]);
    return ch_buf_take(&id);
}

/* --- the process that has the connection: its note is its name and the time */

static void line_note(struct ch_wecom *w) {
    CH_BUF_AUTO data = {0};
    ch_buf_addf(&data, "%s %lld", w->process, (long long)line_now(w));
    w->host->note(NOTE, ch_kit_text(ch_buf_sv(&data)), NULL, NULL, w->host->user);
}

static void line_set_holder(struct ch_wecom *w, struct ch_sv note) {
    ch_free(w->holder);
    w->holder = note.n ? ch_strndup(note.p, note.n) : NULL;
    w->holder_since = line_now(w);
}

void ch_wecom_remind(void *self, const char *id, struct chela_text data) {
    struct ch_wecom *w = self;
    struct ch_sv note = ch_kit_sv(data), rest = note;
    if (strcmp(id, NOTE) != 0)
        return;
    w->noted = true;
    if (ch_sv_is(ch_sv_split(&rest, ' '), w->process))
        note = ch_sv("", 0); /* a program without this store has the connection */
    if (!ch_sv_is(note, w->holder ? w->holder : ""))
        line_set_holder(w, note);
}

/* The time is that of this process: the clocks of two machines may differ. */
void ch_wecom_reminded(void *self) {
    struct ch_wecom *w = self;
    bool gone = !w->noted || (w->holder && line_now(w) - w->holder_since > SILENT_MS);
    w->noted = false;
    if (!gone || !w->waits)
        return;
    w->waits = false;
    ch_redial_start(&w->dial, 0);
}

void ch_wecom_send(struct ch_wecom *w, const char *cmd, const char *req, struct ch_sv body,
                   ch_wecom_fn *fn, void *user) {
    struct wecom_frame *f = ch_alloc(sizeof(*f));
    f->req = req ? ch_strdup(req) : line_req(w, cmd);
    f->fn = fn;
    f->user = user;
    f->until = line_now(w) + ANSWER_MS;
    line_write(&f->text, cmd, f->req, body);
    ch_kit_job_begin(&w->frames, &f->job, frame_free);
    line_flush(w);
}

static void line_sweep(void *tag) {
    struct ch_wecom *w = tag;
    int64_t now = line_now(w);
    struct ch_link *next;
    w->host->timer_start(&w->sweep, SWEEP_MS, line_sweep, w, w->host->user);
    for (struct ch_link *k = w->frames.head.next; k != &w->frames.head; k = next) {
        struct wecom_frame *f = CH_CONTAINER(k, struct wecom_frame, job.link);
        next = k->next;
        if (now < f->until && (f->sent || !w->elsewhere))
            continue;
        if (!f->sent && w->elsewhere)
            frame_fail(f, CHELA_RECEIPT_ELSEWHERE, "another process has the connection");
        else
            frame_fail(f, CHELA_RECEIPT_UNCERTAIN,
                       f->sent ? "the service did not answer" : "there is no connection");
        next = w->frames.head.next; /* the callback may have changed the list */
    }
    line_flush(w);
    if (w->url)
        ch_wecom_streams_sweep(w);
    else
        ch_wecom_hook_sweep(w);
}

/* --- frames in */

static void line_answer(struct ch_wecom *w, const struct ch_json *v, struct ch_sv req) {
    CH_ARENA_AUTO arena = {0};
    struct ch_wecom_answer a;
    for (CH_LIST_EACH(k, &w->frames)) {
        struct wecom_frame *f = CH_CONTAINER(k, struct wecom_frame, job.link);
        if (!f->sent || !ch_sv_is(req, f->req))
            continue;
        ch_wecom_judge(ch_json_int(ch_json_get(v, "errcode"), -1), ch_json_get_str(v, "errmsg"),
                       &arena, &a);
        a.body = ch_json_get(v, "body");
        frame_end(f, &a);
        line_flush(w);
        return;
    }
}

static void line_on_subscribed(struct ch_wecom *w, const struct ch_json *v) {
    int64_t code = ch_json_int(ch_json_get(v, "errcode"), -1);
    struct ch_sv why = ch_json_get_str(v, "errmsg");
    char line[300];
    if (code) {
        snprintf(line, sizeof(line), "the service refuses the bot: error %lld: %.*s",
                 (long long)code, (int)CH_MIN(why.n, 200u), why.n ? why.p : "");
        ch_redial_lost(&w->dial, line, 0);
        return;
    }
    w->subscribed = true;
    w->elsewhere = false;
    line_note(w);
    ch_redial_ready(&w->dial);
    line_flush(w);
}

static void line_on_stored(int rc, const struct chela_error *err, void *tag) {
    struct ch_wecom *w = tag;
    if (rc == 0)
        ch_redial_works(&w->dial);
    if (rc < 0 && rc != CHELA_EEXIST)
        w->host->log(CHELA_LOG_ERROR, err ? err->message : "a message cannot be stored",
                     w->host->user);
}

static void line_message(struct ch_wecom *w, const struct ch_json *body, const char *req) {
    CH_ARENA_AUTO a = {0};
    struct chela_channel_message m;
    if (!ch_wecom_read(body, &a, &m))
        return;
    m.handle = ch_arena_printf(&a, "%lld %s", (long long)line_now(w), req);
    w->host->message(&m, line_on_stored, w, w->host->user);
}

static void line_event(struct ch_wecom *w, const struct ch_json *body, const char *req) {
    struct ch_sv type = ch_json_get_str(ch_json_get(body, "event"), "eventtype");
    if (ch_sv_is(type, "disconnected_event")) {
        w->elsewhere = w->waits = true;
        ch_redial_lost(&w->dial, "another connection of the bot has taken over", TAKEN_MS);
    } else if (ch_sv_is(type, "template_card_event")) {
        ch_wecom_press(w, body, req);
    }
}

static void line_on_frame(const struct ch_json *v, void *user) {
    struct ch_wecom *w = user;
    CH_ARENA_AUTO a = {0};
    struct ch_sv cmd = ch_json_get_str(v, "cmd");
    const struct ch_json *body = ch_json_get(v, "body");
    const char *req = ch_kit_word(ch_json_get(v, "headers"), "req_id", &a);
    if (!req || strlen(req) > 200)
        return;
    w->host->seen(w->host->user);
    if (cmd.n && !w->subscribed)
        return;
    if (ch_sv_is(cmd, "aibot_msg_callback"))
        line_message(w, body, req);
    else if (ch_sv_is(cmd, "aibot_event_callback"))
        line_event(w, body, req);
    else if (!cmd.n && ch_sv_starts(ch_sv_str(req), "aibot_subscribe") && !w->subscribed)
        line_on_subscribed(w, v);
    else if (!cmd.n)
        line_answer(w, v, ch_sv_str(req));
}

/* --- the connection */

static void line_connect(void *user) {
    struct ch_wecom *w = user;
    w->waits &= w->holder != NULL;
    if (w->waits)
        ch_redial_start(&w->dial, TAKEN_MS);
    else
        ch_redial_open(&w->dial, w->url);
}

static void line_on_open(void *user) {
    struct ch_wecom *w = user;
    CH_BUF_AUTO body = {0}, out = {0};
    CH_AUTOFREE char *req = line_req(w, "aibot_subscribe");
    struct ch_jw j = ch_jw(&body);
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "bot_id", w->bot);
    ch_jw_kcstr(&j, "secret", w->secret);
    ch_jw_end(&j, '}');
    line_write(&out, "aibot_subscribe", req, ch_buf_sv(&body));
    ch_redial_send(&w->dial, ch_buf_sv(&out));
}

static void line_beat(void *user) {
    struct ch_wecom *w = user;
    CH_BUF_AUTO out = {0};
    CH_AUTOFREE char *req = line_req(w, "ping");
    line_write(&out, "ping", req, ch_sv("", 0));
    ch_redial_send(&w->dial, ch_buf_sv(&out));
    if (w->subscribed)
        line_note(w);
}

/* Messages without a receipt may have arrived: their outcome is unknown. */
static void line_on_gone(void *user) {
    struct ch_wecom *w = user;
    struct ch_link *next;
    w->subscribed = false;
    for (struct ch_link *k = w->frames.head.next; k != &w->frames.head; k = next) {
        struct wecom_frame *f = CH_CONTAINER(k, struct wecom_frame, job.link);
        next = k->next;
        if (f->sent)
            f->until = 0; /* the sweep ends it */
    }
}

void ch_wecom_line_open(struct ch_wecom *w) {
    static const struct ch_redial_ops ops = {.connect = line_connect,
                                             .open = line_on_open,
                                             .message = line_on_frame,
                                             .beat = line_beat,
                                             .gone = line_on_gone,
                                             .beat_ms = BEAT_MS,
                                             .silent_ms = SILENT_MS};
    w->process = line_req(w, NOTE);
    ch_redial_init(&w->dial, w->host, &ops, w);
    w->elsewhere = w->host->others_fetch;
    if (w->url && !w->elsewhere)
        ch_redial_start(&w->dial, 0);
    w->host->timer_start(&w->sweep, SWEEP_MS, line_sweep, w, w->host->user);
}

void ch_wecom_line_hang_up(struct ch_wecom *w) {
    if (w->subscribed)
        w->host->note(NOTE, ch_kit_text(ch_sv(NULL, 0)), NULL, NULL, w->host->user);
    ch_redial_hang_up(&w->dial);
}

void ch_wecom_line_release(struct ch_wecom *w) {
    ch_redial_leave(&w->dial);
    ch_wecom_line_hang_up(w);
    ch_kit_jobs_release(&w->frames);
    ch_free(w->process);
    ch_free(w->holder);
}
