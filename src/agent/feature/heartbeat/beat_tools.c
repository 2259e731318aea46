/* beat_tools.c -- the actions of a companion.
 *
 *   send_message   says something, in parts if the model separates them
 *   react          reacts to a message with an emoji, if the channel supports it
 *   stay_silent    does nothing, on purpose
 *
 * With a channel (chela/channel.h) actions go through it, part after part with pauses for
 * typing. Without a channel the text is the run's answer. Actions take the path of all
 * calls. Each part has a key that stays the same, so a part that was sent is not sent
 * again after a crash. */
#include "agent/feature/heartbeat/beat_tools.h"

#include <stdio.h>

#include "agent/feature/heartbeat/beat.h"
#include "agent/feature/heartbeat/chat_view.h"
#include "agent/handle/lookup.h"
#include "agent/handle/run_outcome.h"
#include "agent/journal/emit.h"
#include "agent/machine/event.h"
#include "base/limits.h"
#include "tool/call/call.h"
#include "tool/call/function.h"

#define LEAST_PAUSE_MS 800
#define LONGEST_PAUSE_MS 4000
#define THINKING_MS 500
#define ACTION_MS 60000 /* an action fails after that; the pauses take 16 s at most */

static chela_run *beat_tools_run_of(const chela_runtime *rt, const chela_call *call) {
    return call->env ? ch_run_find(rt, call->env->session, call->env->run) : NULL;
}

/* --- without a channel ----------------------------------------------------------------- */

static void say_here(chela_run *run, struct ch_sv part) {
    const char *gap = run->text.n ? "\n" : "";
    CH_BUF_AUTO piece = {0};
    ch_buf_addf(&piece, "%s%.*s", gap, CH_SV_FMT(part));
    ch_run_outcome_add(run, ch_buf_sv(&piece));
    struct chela_event ev = {.type = CHELA_EV_TEXT_DELTA,
                             .delta = {ch_str(ch_buf_sv(&piece)), ch_str(ch_buf_sv(&run->text))}};
    ch_emit(run, &ev);
}

/* --- through a channel ------------------------------------------------------------------- */

struct sending {
    chela_call *call;
    chela_runtime *rt;
    struct ch_timer timer;
    char *text;          /* owned: all parts of the message */
    struct ch_sv rest;   /* parts that are not sent yet */
    char *reply_to;      /* owned: message that the first part answers; NULL: none */
    unsigned sent;
    double typing;
};

static void free_sending(struct sending *s) {
    ch_timer_stop(s->rt->loop, &s->timer);
    ch_free(s->text);
    ch_free(s->reply_to);
    ch_free(s);
}

static void beat_tools_finish(struct sending *s) {
    chela_call *call = s->call;
    free_sending(s);
    chela_call_on_cancel(call, NULL, NULL);
    chela_call_finish(call);
}

static void beat_tools_on_cancel(chela_call *call, void *user) {
    chela_result_error(call, "cancelled", "Not all of it was sent.");
    beat_tools_finish(user);
}

/* The time that a person needs to type the part. */
static int64_t pause_before(struct ch_sv part, double typing) {
    size_t chars = 0;
    if (typing <= 0)
        return 0;
    for (size_t i = 0; i < part.n; i++)
        chars += ((unsigned char)part.p[i] & 0xc0) != 0x80;
    double ms = THINKING_MS + (double)chars / typing * 1000;
    return (int64_t)CH_MIN(CH_MAX(ms, LEAST_PAUSE_MS), LONGEST_PAUSE_MS);
}

static int send_part(chela_call *call, const char *key, const char *text, const char *reply_to,
                     bool more) {
    const struct chela_channel *c = call->env->channel;
    struct chela_message m = {.key = key, .text = text, .message_id = reply_to, .more = more};
    chela_channel_fn *fn = reply_to && c->reply ? c->reply : c->send;
    if (!fn)
        return chela_result_error(call, "unavailable", "The channel %s cannot send.", c->name);
    return fn(call, &m, c->user);
}

/* Joins parts as lines. */
static char *beat_tools_join(struct ch_sv parts) {
    struct ch_buf out = {0};
    struct ch_sv part;
    while (ch_chat_view_part(&parts, &part))
        ch_buf_addf(&out, "%s%.*s", out.n ? "\n" : "", CH_SV_FMT(part));
    return ch_buf_take(&out);
}

static void send_next(struct ch_timer *t);

/* Sends the part that is due, then waits for the next one or ends the call. */
static void send_now(struct sending *s, struct ch_sv part) {
    CH_BUF_AUTO key = {0};
    CH_AUTOFREE char *text = beat_tools_join(part);
    struct ch_sv rest = s->rest, next;
    ch_buf_addf(&key, "%s/%u", chela_call_key(s->call), s->sent);
    ch_answer_release(&s->call->answer); /* the call has one result for all parts */
    int rc = send_part(s->call, ch_buf_str(&key), text, s->sent ? NULL : s->reply_to, s->sent > 0);
    s->sent++;
    if (rc < 0 || s->call->answer.error_type || !ch_chat_view_part(&rest, &next))
        beat_tools_finish(s);
    else
        ch_timer_start(s->rt->loop, &s->timer, pause_before(next, s->typing), send_next);
}

static void send_next(struct ch_timer *t) {
    struct sending *s = CH_CONTAINER(t, struct sending, timer);
    struct ch_sv part = CH_SV("");
    if (!s->call->env || chela_call_cancelled(s->call)) {
        beat_tools_finish(s);
        return;
    }
    if (s->sent + 1 < CH_LIMIT_BEAT_PARTS)
        ch_chat_view_part(&s->rest, &part);
    else { /* sends the rest as one message */
        part = s->rest;
        s->rest = ch_sv(NULL, 0);
    }
    send_now(s, part);
}

static int send_parts(chela_call *call, chela_runtime *rt, double typing, const char *text,
                      const char *reply_to) {
    struct sending *s = ch_alloc(sizeof(*s));
    struct ch_sv part;
    *s = (struct sending){.call = call,
                          .rt = rt,
                          .text = ch_strdup(text),
                          .reply_to = ch_strdup(reply_to),
                          .typing = typing};
    s->rest = ch_sv_str(s->text);
    ch_chat_view_part(&s->rest, &part);
    chela_call_defer(call);
    chela_call_on_cancel(call, beat_tools_on_cancel, s);
    send_now(s, part);
    return 0;
}

/* --- the actions -------------------------------------------------------------------------- */

static bool has_parts(const char *text) {
    struct ch_sv rest = ch_sv_str(text), part;
    return ch_chat_view_part(&rest, &part) && ch_chat_view_part(&rest, &part);
}

static int send_message(chela_call *call, void *user) {
    const char *text, *reply_to = NULL;
    chela_runtime *rt = user;
    chela_run *run = beat_tools_run_of(rt, call);
    int rc = chela_arg_string(call, "content", &text);
    if (rc == 0)
        rc = chela_arg_string_opt(call, "reply_to", &reply_to);
    if (rc < 0)
        return rc;
    struct ch_sv rest = ch_sv_str(text), part;
    if (!ch_chat_view_part(&rest, &part))
        return chela_result_error(call, "invalid_arguments", "There is nothing in \"content\".");
    if (!run)
        return chela_result_error(call, "internal", "There is no run that this belongs to.");
    reply_to = reply_to && *reply_to ? reply_to : NULL;
    const struct chela_channel *c = call->env->channel;
    if (c && c->parts && has_parts(text))
        return send_parts(call, rt, ch_companion_of(run->session->agent)->typing, text, reply_to);
    if (c) {
        CH_AUTOFREE char *all = beat_tools_join(ch_sv_str(text));
        return send_part(call, chela_call_key(call), all, reply_to, false);
    }
    rest = ch_sv_str(text);
    while (!run->dead && ch_chat_view_part(&rest, &part))
        say_here(run, part);
    chela_result_printf(call, "It was said.");
    return 0;
}

static int beat_tools_react(chela_call *call, void *user) {
    struct chela_message m = {.key = chela_call_key(call)};
    const struct chela_channel *c = call->env->channel;
    int rc = chela_arg_string(call, "emoji", &m.emoji);
    (void)user;
    if (rc == 0)
        rc = chela_arg_string_opt(call, "message_id", &m.message_id);
    if (rc < 0)
        return rc;
    if (!c || !c->react)
        return chela_result_error(call, "unavailable", "There are no reactions here.");
    return c->react(call, &m, c->user);
}

static int stay_silent(chela_call *call, void *user) {
    (void)user;
    chela_result_printf(call, "Nothing was said.");
    return 0;
}

/* Calls that send to the channel run one after the other, so that messages keep their
 * order. */
static void uses_channel(chela_call *call, void *user) {
    (void)user;
    chela_call_uses(call, "channel", CHELA_USE_ALONE);
}

#define MORE "\"request_heartbeat\":{\"type\":\"boolean\"}"

int ch_beat_tools_add(chela_agent *a, struct chela_error *err) {
    const struct chela_tool_opts tools[] = {
        CHELA_TOOL_OPTS(.name = CH_SEND_ACTION,
                        .description =
                            "Say something in the chat. Short, as people write; " CH_SEPARATOR
                            " splits it into several messages. reply_to: the id of a message that "
                            "it answers.",
                        .schema =
                            "{\"type\":\"object\",\"properties\":{\"content\":{\"type\":\"string\","
                            "\"minLength\":1},\"reply_to\":{\"type\":\"string\"}," MORE
                            "},\"required\":[\"content\"],\"additionalProperties\":false}",
                        .fn = send_message, .effect = CHELA_EFFECT_KEYED,
                        .flags = CHELA_TOOL_SENDS),
        CHELA_TOOL_OPTS(.name = CH_REACT_ACTION,
                        .description = "React to a message with an emoji, instead of words.",
                        .schema =
                            "{\"type\":\"object\",\"properties\":{\"emoji\":{\"type\":\"string\","
                            "\"minLength\":1},\"message_id\":{\"type\":\"string\"}," MORE
                            "},\"required\":[\"emoji\"],\"additionalProperties\":false}",
                        .fn = beat_tools_react, .effect = CHELA_EFFECT_KEYED),
        CHELA_TOOL_OPTS(
                .name = CH_SILENT_ACTION, .description = "Say nothing now.",
                .schema =
                    "{\"type\":\"object\",\"properties\":{\"why\":{\"type\":\"string\"}," MORE
                    "},\"additionalProperties\":false}",
                .fn = stay_silent, .effect = CHELA_EFFECT_READ),
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < CH_LEN(tools); i++) {
        struct chela_tool_opts t = tools[i];
        t.user = a->rt;
        t.permission = CHELA_PERM_READ;
        t.flags |= CHELA_TOOL_ON_LOOP | CHELA_TOOL_ACTION;
        t.timeout_ms = ACTION_MS;
        t.resources = uses_channel;
        rc = ch_function_add(&a->registry, &t, err);
    }
    return rc;
}
