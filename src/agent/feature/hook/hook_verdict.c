/* hook_verdict.c -- see hook_verdict.h.
 *
 * A program that guards an event (before a tool, a prompt) and could not run blocks it: the agent
 * could otherwise remove the program to get around it. A program that ran and failed in another way
 * blocks nothing. */
#include "agent/feature/hook/hook_verdict.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/writer.h"
#include "tool/result/sanitize.h"

enum { EXIT_BLOCK = 2, EXIT_NOT_RUN = 126 };

static bool guards(enum ch_hook_event event) {
    return event == CH_HOOK_BEFORE_TOOL || event == CH_HOOK_PROMPT;
}

static struct ch_sv verdict_cut(struct ch_sv text) {
    return ch_utf8_cut(ch_sv_trim(text), CH_LIMIT_HOOK_TEXT);
}

/* Output is bytes of a program: escape sequences and what is no UTF-8 are removed. */
static void verdict_join(struct ch_buf *to, struct ch_sv text) {
    text = verdict_cut(text);
    if (!text.n)
        return;
    if (to->n)
        ch_buf_addc(to, '\n');
    ch_text_clean(to, text);
}

static void verdict_warn(struct ch_hook_verdict *v, const struct ch_hook_outcome *o,
                         const char *what) {
    struct ch_sv first = ch_sv_trim(o->err);
    first = ch_sv_split(&first, '\n');
    if (v->warning.n)
        CH_BUF_LIT(&v->warning, "; ");
    ch_buf_addf(&v->warning, "hook %s %s", o->name, what);
    if (first.n) {
        CH_BUF_LIT(&v->warning, ": ");
        ch_text_clean(&v->warning, ch_utf8_cut(first, CH_LIMIT_HOOK_NAME));
    }
}

static void verdict_block(struct ch_hook_verdict *v, struct ch_sv reason, const char *otherwise) {
    if (!v->block && !v->stop)
        verdict_join(&v->reason, ch_sv_trim(reason).n ? reason : ch_sv_str(otherwise));
    v->block = true;
}

/* The program said nothing that counts. */
static void verdict_unheard(struct ch_hook_verdict *v, enum ch_hook_event event,
                            const struct ch_hook_outcome *o, const char *what) {
    CH_BUF_AUTO why = {0};
    verdict_warn(v, o, what);
    if (!guards(event))
        return;
    ch_buf_addf(&why, "The hook %s %s, so this was not done. A person has to look at it.", o->name,
                what);
    verdict_block(v, ch_buf_sv(&why), "");
}

static bool verdict_is(const struct ch_json *v, const char *key, const char *want) {
    return ch_sv_is(ch_json_get_str(v, key), want);
}

static void verdict_read_specific(struct ch_hook_verdict *v, const struct ch_json *root) {
    const struct ch_json *s = ch_json_get(root, "hookSpecificOutput");
    const struct ch_json *input = ch_json_get(s, "updatedInput");
    verdict_join(&v->context, ch_json_get_str(s, "additionalContext"));
    if (verdict_is(s, "permissionDecision", "deny"))
        verdict_block(v, ch_json_get_str(s, "permissionDecisionReason"), "denied by a hook");
    if (input && input->type == CH_JSON_OBJECT) {
        ch_buf_clear(&v->input);
        struct ch_jw w = ch_jw(&v->input);
        ch_jw_value(&w, input);
    }
}

static void verdict_read(struct ch_hook_verdict *v, const struct ch_json *root) {
    const struct ch_json *go_on = ch_json_get(root, "continue");
    if (go_on && go_on->type == CH_JSON_FALSE) {
        if (!v->stop && !v->block)
            verdict_join(&v->reason, ch_json_get_str(root, "stopReason"));
        v->stop = true;
    }
    if (verdict_is(root, "decision", "block") || verdict_is(root, "decision", "deny"))
        verdict_block(v, ch_json_get_str(root, "reason"), "blocked by a hook");
    verdict_join(&v->message, ch_json_get_str(root, "systemMessage"));
    verdict_join(&v->context, ch_json_get_str(root, "additionalContext"));
    verdict_read_specific(v, root);
}

static void verdict_read_output(struct ch_hook_verdict *v, enum ch_hook_event event,
                                const struct ch_hook_outcome *o) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *root;
    struct ch_sv text = ch_sv_trim(o->out);
    if (ch_sv_starts(text, "{")) {
        if (ch_json_parse(&arena, text, CH_JSON_REPLACE, &root, NULL, NULL) == 0)
            verdict_read(v, root);
        else
            verdict_warn(v, o, "printed JSON that is not valid, which is ignored");
    } else if (event == CH_HOOK_PROMPT || event == CH_HOOK_SESSION_START) {
        verdict_join(&v->context, text);
    }
}

void ch_hook_verdict_add(struct ch_hook_verdict *v, enum ch_hook_event event,
                         const struct ch_hook_outcome *o) {
    CH_BUF_AUTO what = {0};
    if (o->error) {
        ch_buf_addf(&what, "could not run (%s)", o->error);
        verdict_unheard(v, event, o, ch_buf_str(&what));
    } else if (o->timed_out) {
        verdict_unheard(v, event, o, "did not end in time");
    } else if (o->exit_code == EXIT_NOT_RUN || o->exit_code == EXIT_NOT_RUN + 1) {
        verdict_unheard(v, event, o, "could not run");
    } else if (o->exit_code == EXIT_BLOCK) {
        verdict_block(v, ch_sv_trim(o->err).n ? o->err : o->out, "blocked by a hook");
    } else if (o->exit_code != 0) {
        ch_buf_addf(&what, o->exit_code < 0 ? "was killed" : "ended with exit code %d",
                    o->exit_code);
        verdict_warn(v, o, ch_buf_str(&what));
    } else {
        verdict_read_output(v, event, o);
    }
}

void ch_hook_verdict_release(struct ch_hook_verdict *v) {
    ch_buf_release(&v->reason);
    ch_buf_release(&v->context);
    ch_buf_release(&v->input);
    ch_buf_release(&v->warning);
    ch_buf_release(&v->message);
}
