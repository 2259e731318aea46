/* call_view.c -- the public view of a call: include/chela/tool.h.
 *
 * All functions use only the tool's side of the call (call.h), so they need no lock on any
 * thread. */
#include "tool/call/call_view.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/entry.h"
#include "tool/call/call.h"
#include "json/writer.h"

const char *chela_call_id(const chela_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->id;
}

const char *chela_call_name(const chela_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->name;
}

const char *chela_call_arguments(const chela_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->arguments.p;
}

const char *chela_call_key(const chela_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->key;
}

const char *chela_call_workspace(const chela_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->workspace;
}

bool chela_call_cancelled(const chela_call *call) {
    CH_NEEDS_OR(call, NULL, false);
    return atomic_load(&call->cancelled);
}

struct ch_session_state *ch_call_state(const chela_call *call) {
    return call->env->state;
}

struct ch_shape_room ch_call_room(const chela_call *call) {
    return ch_room_of(call->answer.shape.window);
}

/* --- arguments ----------------------------------------------------------- */

/* null counts as absent: models write it for omitted arguments. */
static const struct ch_json *argument(const chela_call *call, const char *name) {
    const struct ch_json *v = ch_json_get(call->args, name);

    return ch_json_is(v, CH_JSON_NULL) ? NULL : v;
}

static int wrong(chela_call *call, const char *name, const char *wanted, const struct ch_json *v) {
    if (!v)
        chela_result_error(call, "invalid_arguments", "The argument \"%s\" is missing: %s.", name,
                           wanted);
    else
        chela_result_error(call, "invalid_arguments", "The argument \"%s\" must be %s.", name,
                           wanted);
    return CHELA_EINVAL;
}

static int call_view_read_int(chela_call *call, const char *name, const struct ch_json *v,
                              int64_t *out) {
    if (ch_json_as_int(v, out))
        return 0;
    return wrong(call, name, "a whole number", v);
}

static int call_view_read_double(chela_call *call, const char *name, const struct ch_json *v,
                                 double *out) {
    double d = ch_json_double(v, NAN);

    if (!isfinite(d))
        return wrong(call, name, "a number", v);
    *out = d;
    return 0;
}

static int call_view_read_bool(chela_call *call, const char *name, const struct ch_json *v,
                               bool *out) {
    if (!ch_json_is(v, CH_JSON_TRUE) && !ch_json_is(v, CH_JSON_FALSE))
        return wrong(call, name, "true or false", v);
    *out = v->type == CH_JSON_TRUE;
    return 0;
}

/* Reject NUL bytes: C code would see a shorter string than the one that was checked. */
static int call_view_read_string(chela_call *call, const char *name, const struct ch_json *v,
                                 const char **out) {
    struct ch_sv s = ch_json_str(v);

    if (!ch_json_is(v, CH_JSON_STRING))
        return wrong(call, name, "a string", v);
    if (s.n && memchr(s.p, '\0', s.n))
        return wrong(call, name, "text without NUL characters", v);
    *out = ch_arena_str(&call->arena, s);
    return 0;
}

#define ARGUMENT(kind, type)                                                    \
    int chela_arg_##kind(chela_call *call, const char *name, type *out) {       \
        CH_NEEDS(call, NULL);                                                   \
        return call_view_read_##kind(call, name, argument(call, name), out);    \
    }                                                                           \
    int chela_arg_##kind##_opt(chela_call *call, const char *name, type *out) { \
        CH_NEEDS(call, NULL);                                                   \
        const struct ch_json *v = argument(call, name);                         \
        return v ? call_view_read_##kind(call, name, v, out) : 0;               \
    }
ARGUMENT(int, int64_t)
ARGUMENT(double, double)
ARGUMENT(bool, bool)
ARGUMENT(string, const char *)

const char *chela_arg_json(chela_call *call, const char *name) {
    CH_NEEDS_OR(call, NULL, NULL);
    const struct ch_json *v = ch_json_get(call->args, name);
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (!v)
        return NULL;
    ch_jw_value(&w, v);
    return ch_arena_str(&call->arena, ch_buf_sv(&text));
}

const char *ch_arg_name(const chela_call *call, const char *const *names) {
    for (size_t i = 0; names[i]; i++)
        if (argument(call, names[i]))
            return names[i];
    return names[0];
}

/* --- the result ---------------------------------------------------------- */

void chela_result_text(chela_call *call, const char *text, size_t len) {
    CH_NEEDS_OR(call, NULL, );
    ch_answer_text(&call->answer, ch_sv(text, len));
}

void chela_result_printf(chela_call *call, const char *fmt, ...) {
    CH_NEEDS_OR(call, NULL, );
    char room[256]; /* most texts are short */
    CH_BUF_AUTO text = {0};
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(room, sizeof(room), fmt, ap);
    if (n >= 0 && (size_t)n < sizeof(room)) {
        ch_answer_text(&call->answer, ch_sv(room, (size_t)n));
    } else {
        ch_buf_vaddf(&text, fmt, again);
        ch_answer_text(&call->answer, ch_buf_sv(&text));
    }
    va_end(again);
    va_end(ap);
}

void chela_result_media(chela_call *call, const char *media_type, const void *data, size_t len) {
    CH_NEEDS_OR(call, NULL, );
    ch_answer_media(&call->answer, media_type, data, len);
}

void chela_result_details(chela_call *call, const char *json) {
    CH_NEEDS_OR(call, NULL, );
    ch_answer_details(&call->answer, ch_sv_str(json));
}

int chela_result_error(chela_call *call, const char *type, const char *fmt, ...) {
    CH_NEEDS(call, NULL);
    va_list ap;

    va_start(ap, fmt);
    ch_answer_error(&call->answer, type, fmt, ap);
    va_end(ap);
    return CHELA_OK;
}

int ch_result_invalid(chela_call *call, const char *why) {
                      chela_result_error(call, "invalid_arguments", "%s", why);
    return CHELA_EINVAL;
}

void chela_result_no_effect(chela_call *call) {
    CH_NEEDS_OR(call, NULL, );
    call->answer.untouched = true;
}

void chela_result_retry_after(chela_call *call, int64_t ms) {
    CH_NEEDS_OR(call, NULL, );
    call->answer.retry_after_ms = ms > 0 ? ms : 0;
}
