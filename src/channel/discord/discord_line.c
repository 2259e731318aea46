/* discord_line.c -- the Gateway.
 *
 *   gateway/bot --address--> socket --hello--> identify --READY----> events
 *        ^                      ^--hello------ resume ----RESUMED-----'
 *        |                      '-- a while -- lost: the session is continued
 *        '-- a while ----------------------- the session is gone
 *
 * After a Resume the service repeats the events of the session that follow the given number
 * (seq). The number advances after an event was stored. It is kept in a note with the
 * session, so that a new process continues the session of one that died. If two processes
 * continue the same session, the service ends the connection of the first one, which sees in
 * the note that the session was taken and begins one of its own. */
#include "channel/discord/discord_line.h"

#include "channel/discord/discord_event.h"
#include "channel/discord/discord_rest.h"

#define NOTE "session"
#define QUERY "?v=10&encoding=json"
#define STEADY_MS 30000   /* a connection that lasted this long is not counted as a failure */
#define REFUSED_MS 600000 /* delay after a refusal that only a person can resolve */
#define SAVE_MS 1000      /* between two notes */
#define CONTINUED 1       /* number of failures after a connection that continued the session and
                           * brought a new message */
#define RESUMES 3         /* failed attempts to resume before a new session begins */
#define UNOPENED 5        /* failures to connect, before the general address is asked for */
#define MOST_EVENTS 1024  /* events that are being stored at once */

enum {
    OP_DISPATCH,
    OP_BEAT,
    OP_IDENTIFY,
    OP_RESUME = 6,
    OP_RECONNECT,
    OP_INVALID = 9,
    OP_HELLO,
    OP_ACK
};

static void line_connect(void *tag);

static void line_hang_up(struct ch_discord *d) {
    d->host->timer_stop(d->beat, d->host->user);
    d->host->socket_close(d->socket, d->socket ? 4000 : 0, d->host->user);
    d->socket = NULL;
}

static void line_drop_session(struct ch_discord *d) {
    ch_free(d->session.id);
    ch_free(d->session.url);
    d->session = (struct ch_discord_session){.number = d->session.number + 1};
    d->resumes = 0;
    d->taken = false;
}

/* Connects again after at least ms. */
static void line_lost(struct ch_discord *d, const char *why, int64_t ms) {
    char line[400];
    bool steady = d->since && ch_discord_now(d) - d->since >= STEADY_MS;
    line_hang_up(d);
    if (steady)
        d->failures = 0;
    else if (d->works) /* new sessions are limited by the day */
        d->failures = CH_MIN(d->failures, CONTINUED);
    d->continued = d->works = false;
    d->since = 0;
    if (d->taken)
        line_drop_session(d);
    if (d->leaving)
        return;
    int64_t pause = d->host->back_off(d->failures++, d->host->user);
    ms = CH_MAX(ms, pause);
    snprintf(line, sizeof(line), "not connected, next attempt in %lld ms: %s", (long long)ms, why);
    ch_discord_log(d, CHELA_LOG_WARN, line);
    d->host->trouble(why, d->host->user);
    d->host->timer_start(&d->again, ms, line_connect, d, d->host->user);
}

static int64_t line_random(const struct ch_discord *d, int64_t most) {
    uint32_t r;
    d->host->random(&r, sizeof(r), d->host->user);
    return (int64_t)((uint64_t)most * r >> 32);
}

/* --- notes */

static void line_note(struct ch_discord *d) {
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    if (!d->session.id || !d->me || d->taken)
        return;
    d->saved_seq = ch_discord_safe_seq(d);
    d->saved_at = ch_discord_now(d);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "process", d->process);
    ch_jw_kcstr(&w, "session", d->session.id);
    ch_jw_kcstr(&w, "url", d->session.url);
    ch_jw_kint(&w, "seq", d->saved_seq);
    ch_jw_kcstr(&w, "me", d->me);
    ch_jw_kcstr(&w, "app", d->app);
    ch_jw_end(&w, '}');
    d->host->note(NOTE, ch_kit_text(ch_buf_sv(&data)), NULL, NULL, d->host->user);
}

static void line_on_save(void *tag) {
    struct ch_discord *d = tag;
    if (ch_discord_safe_seq(d) != d->saved_seq)
        line_note(d);
}

static void line_save_soon(struct ch_discord *d) {
    int64_t ms = d->saved_at + SAVE_MS - ch_discord_now(d);
    d->host->timer_start(&d->save, CH_MAX(CH_MIN(ms, SAVE_MS), 0), line_on_save, d, d->host->user);
}

static void line_adopt(struct ch_discord *d, const struct ch_json *v, struct ch_sv session,
                       struct ch_sv url) {
    CH_ARENA_AUTO a = {0};
    const char *me = ch_discord_id(v, "me", &a), *app = ch_discord_id(v, "app", &a);
    if (!me)
        return;
    line_drop_session(d);
    ch_free(d->me);
    ch_free(d->app);
    d->me = ch_strdup(me);
    d->app = ch_strdup(app);
    d->session.id = ch_strndup(session.p, session.n);
    d->session.url = ch_strndup(url.p, url.n);
    d->session.seq = d->saved_seq = ch_json_int(ch_json_get(v, "seq"), 0);
}

void ch_discord_remind(void *self, const char *id, struct chela_text data) {
    struct ch_discord *d = self;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    if (strcmp(id, NOTE) != 0 ||
        ch_json_parse(&a, ch_kit_sv(data), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    struct ch_sv session = ch_json_get_str(v, "session"), url = ch_json_get_str(v, "url");
    bool own = ch_sv_is(ch_json_get_str(v, "process"), d->process);
    if (own || !session.n || !url.n)
        return;
    if (!d->started)
        line_adopt(d, v, session, url);
    else if (d->session.id && ch_sv_is(session, d->session.id))
        d->taken = true;
}

void ch_discord_reminded(void *self) {
    struct ch_discord *d = self;
    if (d->started || d->leaving)
        return;
    d->started = true;
    d->host->timer_start(&d->again, 0, line_connect, d, d->host->user);
}

void ch_discord_line_stored(struct ch_discord *d, int rc) {
    d->works |= rc == 0 && d->continued;
    if (rc < 0 && rc != CHELA_EEXIST && d->socket)
        line_lost(d, "an event cannot be stored", 1000);
    else
        line_save_soon(d);
    if (d->waits_for_store && d->nevents < MOST_EVENTS / 2) {
        d->waits_for_store = false;
        d->host->timer_start(&d->again, 0, line_connect, d, d->host->user);
    }
}

/* --- frames */

static void line_send(struct ch_discord *d, struct ch_buf *frame) {
    if (d->socket)
        d->host->socket_send(d->socket, ch_kit_text(ch_buf_sv(frame)), d->host->user);
}

static void line_send_beat(struct ch_discord *d) {
    CH_BUF_AUTO out = {0};
    if (d->session.seq)
        ch_buf_addf(&out, "{\"op\":1,\"d\":%lld}", (long long)d->session.seq);
    else
        ch_buf_add_str(&out, "{\"op\":1,\"d\":null}");
    line_send(d, &out);
}

static void line_on_beat(void *tag) {
    struct ch_discord *d = tag;
    if (!d->acked) {
        line_lost(d, "no answer to a heartbeat", 0);
        return;
    }
    d->acked = false;
    line_send_beat(d);
    d->host->timer_start(&d->beat, d->interval, line_on_beat, d, d->host->user);
}

static void line_introduce(struct ch_discord *d) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "op", d->session.id ? OP_RESUME : OP_IDENTIFY);
    ch_jw_kbegin(&w, "d", '{');
    ch_jw_kcstr(&w, "token", d->token);
    d->continued = d->session.id;
    if (d->session.id) {
        d->session.seq = ch_discord_safe_seq(d);
        d->resumes++;
        ch_jw_kcstr(&w, "session_id", d->session.id);
        ch_jw_kint(&w, "seq", d->session.seq);
    } else {
        ch_jw_kint(&w, "intents", d->intents);
        ch_jw_kraw(&w, "properties",
                   CH_SV("{\"os\":\"linux\",\"browser\":\"chela\",\"device\":\"chela\"}"));
    }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    line_send(d, &out);
}

static void line_on_hello(struct ch_discord *d, const struct ch_json *v) {
    int64_t ms = ch_json_int(ch_json_get(v, "heartbeat_interval"), 0);
    d->interval = CH_MIN(CH_MAX(ms, 1000), 600000);
    d->acked = true;
    d->unopened = 0;
    d->host->timer_start(&d->beat, line_random(d, d->interval), line_on_beat, d, d->host->user);
    line_introduce(d);
}

static void line_is_ready(struct ch_discord *d, const char *how) {
    d->resumes = 0;
    d->since = ch_discord_now(d);
    d->host->trouble(NULL, d->host->user);
    ch_discord_log(d, CHELA_LOG_INFO, how);
    line_note(d);
}

static void line_on_ready(struct ch_discord *d, const struct ch_json *v) {
    CH_ARENA_AUTO a = {0};
    const char *me = ch_discord_id(ch_json_get(v, "user"), "id", &a);
    const char *app = ch_discord_id(ch_json_get(v, "application"), "id", &a);
    const char *id = ch_kit_word(v, "session_id", &a),
               *url = ch_kit_word(v, "resume_gateway_url", &a);
    int64_t seq = d->session.seq;
    if (!me || !id || !url) {
        line_lost(d, "the service did not return the id of the bot", 0);
        return;
    }
    line_drop_session(d);
    ch_free(d->me);
    ch_free(d->app);
    d->me = ch_strdup(me);
    d->app = ch_strdup(app ? app : me);
    d->session.id = ch_strdup(id);
    d->session.url = ch_strdup(url);
    d->session.seq = seq;
    line_is_ready(d, "connected");
}

/* Messages can come before RESUMED: those that the session missed. */
static void line_dispatch(struct ch_discord *d, struct ch_sv type, const struct ch_json *v,
                          int64_t seq) {
    d->host->seen(d->host->user);
    if (ch_sv_is(type, "READY"))
        line_on_ready(d, v);
    else if (ch_sv_is(type, "RESUMED"))
        line_is_ready(d, "connected; the session is continued");
    else if (ch_sv_is(type, "MESSAGE_CREATE") && d->me)
        ch_discord_take_message(d, v, seq);
    else if (ch_sv_is(type, "INTERACTION_CREATE"))
        ch_discord_take_press(d, v, false);
    else if (ch_sv_is(type, "GUILD_CREATE") || ch_sv_is(type, "GUILD_UPDATE"))
        ch_discord_take_roles(d, v);
    else if (ch_sv_is(type, "CHANNEL_UPDATE") || ch_sv_is(type, "CHANNEL_DELETE") ||
             ch_sv_is(type, "THREAD_UPDATE") || ch_sv_is(type, "THREAD_DELETE"))
        ch_discord_forget_place(d, v);
    if (d->socket)
        line_save_soon(d);
    if (d->nevents >= MOST_EVENTS) {
        ch_discord_log(d, CHELA_LOG_WARN, "the store is slow: the connection waits");
        line_hang_up(d);
        d->waits_for_store = true;
    }
}

static void line_on_invalid(struct ch_discord *d, bool resumable) {
    if (!resumable || d->resumes >= RESUMES)
        line_drop_session(d);
    line_lost(d, "the session is not valid", 1000 + line_random(d, 4000));
}

static void line_on_message(struct chela_text text, int binary, void *tag) {
    struct ch_discord *d = tag;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;
    if (binary || ch_json_parse(&a, ch_kit_sv(text), CH_JSON_REPLACE, &v, NULL, NULL) < 0 ||
        !ch_json_is(v, CH_JSON_OBJECT)) {
        ch_discord_log(d, CHELA_LOG_WARN, "the connection received a frame that is not JSON");
        return;
    }
    const struct ch_json *in = ch_json_get(v, "d");
    int64_t seq = ch_json_int(ch_json_get(v, "s"), 0);
    switch (ch_json_int(ch_json_get(v, "op"), -1)) {
    case OP_DISPATCH:
        d->session.seq = CH_MAX(d->session.seq, seq);
        line_dispatch(d, ch_json_get_str(v, "t"), in, seq);
        break;
    case OP_BEAT:
        line_send_beat(d);
        break;
    case OP_RECONNECT:
        line_lost(d, "the service asked for a new connection", 0);
        break;
    case OP_INVALID:
        line_on_invalid(d, ch_json_bool(in, false));
        break;
    case OP_HELLO:
        line_on_hello(d, in);
        break;
    case OP_ACK:
        d->acked = true;
        break;
    default:
        break;
    }
}

/* --- the connection */

static void line_on_open(void *tag) {
    struct ch_discord *d = tag;
    d->unopened = 0;
}

/* Close codes after which only a person can help. */
static const char *line_refusal(int code) {
    return code == 4004   ? "the bot token is refused"
           : code == 4014 ? "the bot lacks a privileged intent: enable Message Content Intent on "
                            "the page of the bot"
           : code >= 4010 && code <= 4013 ? "the service refuses the connection"
                                          : NULL;
}

static void line_on_gone(int code, const char *why, void *tag) {
    struct ch_discord *d = tag;
    const char *refusal = line_refusal(code);
    bool fresh = code == 1000 || code == 4003 || code == 4005 || code == 4007 || code == 4008;
    d->unopened += code == 0;
    if (refusal || fresh || d->resumes >= RESUMES)
        line_drop_session(d);
    line_lost(d, refusal ? refusal : why, refusal ? REFUSED_MS : 0);
}

static void line_open(struct ch_discord *d, struct ch_sv base) {
    static const struct chela_channel_socket_events events = {line_on_open, line_on_message, NULL,
                                                              line_on_gone};
    struct chela_error err = {0};
    CH_BUF_AUTO url = {0};
    const char *host = base.n ? memmem(base.p, base.n, "://", 3) : NULL;
    bool path = host && memchr(host + 3, '/', base.n - (size_t)(host + 3 - base.p));
    ch_buf_addf(&url, "%.*s%s" QUERY, CH_SV_FMT(base), path ? "" : "/");
    if (d->host->socket_open(ch_buf_str(&url), &events, d, &d->socket, &err, d->host->user) < 0) {
        d->unopened++;
        line_lost(d, err.message, 0);
        return;
    }
    /* A connection without a hello is dead. */
    d->acked = false;
    d->interval = 20000;
    d->host->timer_start(&d->beat, d->interval, line_on_beat, d, d->host->user);
}

static void line_on_address(const struct ch_discord_answer *a, void *user) {
    struct ch_discord *d = user;
    struct ch_sv url = ch_json_get_str(a->json, "url");
    const struct ch_json *limit = ch_json_get(a->json, "session_start_limit");
    int64_t left = ch_json_int(ch_json_get(limit, "remaining"), 1);
    int64_t reset = ch_json_int(ch_json_get(limit, "reset_after"), 0);
    if (d->leaving || d->socket)
        return;
    if (a->status == 401)
        line_lost(d, "the bot token is refused", REFUSED_MS);
    else if (a->what != CHELA_RECEIPT_SENT || !url.n)
        line_lost(d, a->why ? a->why : "the service gave no address", a->wait_ms);
    else if (left <= 0 && !d->session.id)
        line_lost(d, "the service permits no more sessions for now",
                  CH_MIN(CH_MAX(reset, 60000), 86400000));
    else
        line_open(d, url);
}

static void line_connect(void *tag) {
    struct ch_discord *d = tag;
    if (d->leaving || d->socket || d->waits_for_store)
        return;
    if (d->session.id && d->unopened < UNOPENED)
        line_open(d, ch_sv_str(d->session.url));
    else
        ch_discord_call(d, &(struct ch_discord_call){.method = "GET", .path = "gateway/bot"},
                        line_on_address, d);
}

void ch_discord_line_leave(struct ch_discord *d) {
    if (d->socket)
        line_note(d);
    ch_discord_line_stop(d);
}

void ch_discord_line_stop(struct ch_discord *d) {
    d->host->timer_stop(d->again, d->host->user);
    d->host->timer_stop(d->save, d->host->user);
    line_hang_up(d);
}
