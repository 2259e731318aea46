/* special_writes.c -- see special_writes.h. */
#include "tool/call/special_writes.h"

#include "tool/call/call.h"
#include "tool/process/path.h"
#include "tool/result/display.h"

/* The workspace path of an exclusive file, or NULL. */
static const char *written_path(const struct ch_use *use) {
    size_t n = strlen(CH_USE_FILES);

    if (use->use != CHELA_USE_ALONE || strncmp(use->key, CH_USE_FILES, n) != 0)
        return NULL;
    return use->key[n] == '/' ? use->key + n + 1 : NULL;
}

static enum ch_file_kind describe(chela_call *call, const char *path, struct ch_buf *out) {
    CH_BUF_AUTO rel = {0};
    enum ch_file_kind kind = CH_KIND_PLAIN;
    const char *why;

    if (ch_path_locate(&call->guard, path, &rel, &kind, &why) < 0 || kind == CH_KIND_REPOSITORY ||
        kind == CH_KIND_PLAIN)
        return CH_KIND_PLAIN;
    ch_buf_add_str(out, "\n  writes ");
    ch_display_add(out, ch_buf_sv(&rel), CH_DISPLAY_LINE);
    ch_buf_addf(out, ": %s", why);
    return kind;
}

enum ch_file_kind ch_special_writes(chela_call *call, const char **why) {
    enum ch_file_kind most = CH_KIND_PLAIN;
    CH_BUF_AUTO text = {0};

    if (call->env->layer) { /* a person is asked before the change becomes real */
        call->guard.allowed = CH_KIND_EXECUTED;
        *why = NULL;
        return CH_KIND_PLAIN;
    }
    for (const struct ch_use *use = call->uses.list; use; use = use->next) {
        const char *path = written_path(use);
        enum ch_file_kind kind = path ? describe(call, path, &text) : CH_KIND_PLAIN;
        most = CH_MAX(most, kind);
    }
    *why = text.n ? ch_arena_str(&call->arena, ch_buf_sv(&text)) : NULL;
    return most;
}
