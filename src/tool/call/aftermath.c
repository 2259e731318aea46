/* aftermath.c -- see aftermath.h. */
#include "tool/call/aftermath.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/writer.h"
#include "tool/call/consent.h"
#include "tool/process/box_network.h"
#include "tool/process/held_text.h"
#include "tool/result/display.h"

struct ch_aftermath {
    struct ch_held *held;
    size_t n;
    const char *text;
    const char *const *hosts; /* NULL-terminated; NULL: the question is about files */
    struct ch_sv command;     /* that wanted to reach the hosts */
};

void ch_aftermath_set(chela_call *call, const struct ch_held_list *held) {
    CH_BUF_AUTO text = {0};

    if (!held || !held->n)
        return;
    const struct ch_aftermath *before = call->aftermath;
    struct ch_aftermath *a = CH_ARENA_NEW(&call->arena, struct ch_aftermath);
    a->held = ch_arena_alloc(&call->arena, ((before ? before->n : 0) + held->n) * sizeof(*a->held));
    for (a->n = 0; before && a->n < before->n; a->n++)
        a->held[a->n] = before->held[a->n];
    for (size_t i = 0; i < held->n; i++)
        a->held[a->n++] = (struct ch_held){
            .dir = ch_arena_str(&call->arena, ch_sv_str(held->v[i].dir)),
            .name = ch_arena_str(&call->arena, ch_sv_str(held->v[i].name)),
            .now = held->v[i].now ? ch_arena_str(&call->arena, ch_sv_str(held->v[i].now)) : NULL,
            .id = held->v[i].id,
        };
    if (before)
        ch_buf_add_str(&text, before->text);
    else
        ch_buf_addf(&text, "%s left files that programs outside of the sandbox execute or obey. "
                           "Put these files back?\n",
                    call->name);
    ch_held_text(held, call->workspace, &text);
    a->text = ch_arena_str(&call->arena, ch_buf_sv(&text));
    call->aftermath = a;
}

/* Consent to every call is none to every host: nobody is there to ask. */
static bool may_ask_about_hosts(const chela_call *call) {
    return !call->aftermath && call->env && call->env->memory &&
           (call->env->ask_means == CH_CONSENT_ASK || call->env->ask_means == CH_CONSENT_SANDBOX);
}

void ch_aftermath_set_hosts(chela_call *call, const struct ch_refused_hosts *list,
                            struct ch_sv command) {
    CH_BUF_AUTO text = {0};
    size_t n = 0;

    if (!list || list->closed || !may_ask_about_hosts(call))
        return;
    const char **hosts = ch_arena_zalloc(&call->arena, (list->n + 1) * sizeof(*hosts));
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].askable)
            hosts[n++] = ch_arena_str(&call->arena, ch_sv_str(list->v[i].host));
    if (!n)
        return;
    ch_buf_addf(&text, "%s: ", call->name);
    ch_display_add(&text, ch_utf8_cut(command, CH_LIMIT_SUMMARY), CH_DISPLAY_TEXT);
    ch_buf_add_str(&text, "\n  wanted to reach");
    for (size_t i = 0; i < n; i++)
        ch_buf_addf(&text, "%s %s", i ? "," : "", hosts[i]);
    ch_buf_add_str(&text, ", which nobody has allowed. May it, when it is run again?\n  once: this "
                          "command; always: every command until the session ends");
    struct ch_aftermath *a = CH_ARENA_NEW(&call->arena, struct ch_aftermath);
    *a = (struct ch_aftermath){.text = ch_arena_str(&call->arena, ch_buf_sv(&text)),
                               .hosts = hosts,
                               .command = ch_arena_sv(&call->arena, command)};
    call->aftermath = a;
}

/* --- across a restart ------------------------------------------------------------------ */

static void write_held(const struct ch_aftermath *a, struct ch_jw *w) {
    ch_jw_kbegin(w, "held", '[');
    for (size_t i = 0; i < a->n; i++) {
        char id[20];
        snprintf(id, sizeof(id), "%llx", (unsigned long long)a->held[i].id);
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "dir", a->held[i].dir);
        ch_jw_kcstr(w, "name", a->held[i].name);
        if (a->held[i].now)
            ch_jw_kcstr(w, "now", a->held[i].now);
        ch_jw_kcstr(w, "id", id);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static void write_hosts(const struct ch_aftermath *a, struct ch_jw *w) {
    if (!a->hosts)
        return;
    ch_jw_kbegin(w, "hosts", '[');
    for (const char *const *host = a->hosts; *host; host++)
        ch_jw_cstr(w, *host);
    ch_jw_end(w, ']');
    ch_jw_kstr(w, "command", a->command);
}

static void aftermath_store(chela_call *call) {
    CH_BUF_AUTO state = {0};
    struct ch_jw w = ch_jw(&state);
    const struct ch_outcome *made = &call->made;

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "aftermath", call->aftermath->text);
    write_held(call->aftermath, &w);
    write_hosts(call->aftermath, &w);
    ch_jw_kstr(&w, "content", ch_buf_sv(&made->content));
    if (made->details.n)
        ch_jw_kstr(&w, "details", ch_buf_sv(&made->details));
    if (made->error_type)
        ch_jw_kcstr(&w, "errorType", made->error_type);
    ch_jw_kbool(&w, "isError", made->is_error);
    ch_jw_kbool(&w, "truncated", made->truncated);
    ch_jw_end(&w, '}');
    ch_call_checkpoint(call, ch_buf_str(&state));
}

static const char *aftermath_text(chela_call *call, const struct ch_json *v, const char *key) {
    struct ch_sv text = ch_json_get_str(v, key);

    return text.p ? ch_arena_str(&call->arena, text) : NULL;
}

static void read_held(chela_call *call, const struct ch_json *list, struct ch_aftermath *a) {
    size_t n = 0;

    for (CH_JSON_EACH(one, list))
        n += one != NULL;
    a->held = ch_arena_zalloc(&call->arena, (n + 1) * sizeof(*a->held));
    for (CH_JSON_EACH(one, list)) {
        const char *id = aftermath_text(call, one, "id");
        struct ch_held h = {.dir = aftermath_text(call, one, "dir"),
                            .name = aftermath_text(call, one, "name"),
                            .now = aftermath_text(call, one, "now"),
                            .id = id ? strtoull(id, NULL, 16) : 0};
        if (h.dir && h.name)
            a->held[a->n++] = h;
    }
}

static void read_hosts(chela_call *call, const struct ch_json *v, struct ch_aftermath *a) {
    const struct ch_json *list = ch_json_get(v, "hosts");
    size_t n = 0;

    if (!ch_json_is(list, CH_JSON_ARRAY))
        return;
    const char **hosts = ch_arena_zalloc(&call->arena, (list->n + 1) * sizeof(*hosts));
    for (CH_JSON_EACH(one, list))
        hosts[n++] = ch_arena_str(&call->arena, ch_json_str(one));
    a->hosts = hosts;
    a->command = ch_arena_sv(&call->arena, ch_json_get_str(v, "command"));
}

bool ch_aftermath_recall(chela_call *call, const char *left) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;

    if (ch_json_parse(&arena, ch_sv_str(left), CH_JSON_STRICT, &v, NULL, NULL) < 0 ||
        !ch_json_get_str(v, "aftermath").p)
        return false;
    struct ch_aftermath *a = CH_ARENA_NEW(&call->arena, struct ch_aftermath);
    *a = (struct ch_aftermath){.text = aftermath_text(call, v, "aftermath")};
    read_held(call, ch_json_get(v, "held"), a);
    read_hosts(call, v, a);
    ch_buf_add_sv(&call->made.content, ch_json_get_str(v, "content"));
    ch_buf_add_sv(&call->made.details, ch_json_get_str(v, "details"));
    call->made.error_type = aftermath_text(call, v, "errorType");
    call->made.is_error = ch_json_bool(ch_json_get(v, "isError"), false);
    call->made.truncated = ch_json_bool(ch_json_get(v, "truncated"), false);
    call->aftermath = a;
    call->ran = true;
    call->state = CH_CALL_ASKING;
    return true;
}

/* --- the question ----------------------------------------------------------------------- */

bool ch_aftermath_asks(chela_call *call) {
    if (!call->aftermath || !call->env->ask || call->env->ask_means == CH_CONSENT_DENY)
        return false;
    aftermath_store(call);
    call->state = CH_CALL_ASKING;
    call->approval_id = NULL;
    return true;
}

void ch_aftermath_ask(chela_call *call) {
    struct ch_sha256 h;
    unsigned char digest[CH_SHA256_SIZE];

    ch_sha256_init(&h);
    ch_sha256_add(&h, call->aftermath->text, strlen(call->aftermath->text));
    ch_sha256_end(&h, digest);
    ch_consent_ask(call, ch_sv_str(call->aftermath->text),
                   call->aftermath->hosts ? NULL : "files that are there already", digest);
}

/* Before the last line, if that tells how a command ended, such as "[exit code 1]". */
static void add_note(struct ch_buf *content, const char *note) {
    struct ch_sv all = ch_buf_sv(content);
    const char *end = all.n ? memrchr(all.p, '\n', all.n) : NULL;
    struct ch_sv last = end ? ch_sv(end + 1, all.n - (size_t)(end + 1 - all.p)) : all;
    bool ended = last.n && last.p[0] == '[' && last.p[last.n - 1] == ']';
    CH_AUTOFREE char *line = ended ? ch_strndup(last.p, last.n) : NULL;

    if (ended)
        content->n -= last.n;
    ch_buf_addf(content, "%s[%s]%s%s", ended || !all.n ? "" : "\n", note, ended ? "\n" : "",
                ended ? line : "");
}

/* Put all files back that can be. Returns the first failure, or 0. */
static int put_back(const struct ch_aftermath *a) {
    int failure = 0;

    for (size_t i = 0; i < a->n; i++) {
        int rc = ch_held_restore(&a->held[i]);
        failure = failure ? failure : rc;
    }
    return failure;
}

/* The consent is kept with the other ones of the session. */
static void answer_hosts(chela_call *call, enum chela_decision decision) {
    const struct ch_aftermath *a = call->aftermath;
    bool yes = decision == CHELA_ALLOW_ONCE || decision == CHELA_ALLOW_ALWAYS;
    struct ch_sv command = decision == CHELA_ALLOW_ALWAYS ? ch_sv("", 0) : a->command;
    unsigned char digest[CH_SHA256_SIZE];

    for (const char *const *host = a->hosts; yes && call->env->memory && *host; host++)
        if (ch_refused_digest(*host, command, digest))
            ch_memory_add(call->env->memory, digest);
    add_note(&call->made.content,
             yes ? "The user was asked and allows these hosts: run the same command again."
                 : "The user was asked and did not allow these hosts.");
    ch_call_end(call, &call->made);
}

void ch_aftermath_answer(chela_call *call, enum chela_decision decision) {
    bool yes = decision == CHELA_ALLOW_ONCE || decision == CHELA_ALLOW_ALWAYS;
    if (call->aftermath->hosts) {
        answer_hosts(call, decision);
        return;
    }
    int rc = yes ? put_back(call->aftermath) : 0;

    add_note(&call->made.content,
             !yes            ? "The user was asked and left the files aside."
             : rc == -ESTALE ? "The user agreed, but a file was changed meanwhile and stays aside."
             : rc < 0        ? "The user agreed, but a file could not be put back."
                             : "The user agreed, and the files were put back.");
    ch_call_end(call, &call->made);
}
