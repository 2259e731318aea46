/* resource_locks.c -- see resource_locks.h. Paths are compared as text. Two names of one
 * file are not detected here; the file tools detect the conflict when they write
 * (builtin/files/file.h). */
#include "tool/call/resource_locks.h"

#include "base/limits.h"
#include "io/loop_entry.h"
#include "tool/call/call.h"
#include "tool/process/path.h"

void chela_call_uses(chela_call *call, const char *key, enum chela_use use) {
    CH_ENTER_OR(call, call->env ? call->env->loop : NULL, NULL, );
    struct ch_uses *u = &call->uses;

    if (u->n == CH_LIMIT_USES) {
        u->all = true;
        return;
    }
    struct ch_use *one = CH_ARENA_NEW(&call->arena, struct ch_use);
    one->key = ch_arena_str(&call->arena, ch_sv_str(key));
    one->use = use;
    one->next = u->list;
    u->list = one;
    u->n++;
}

/* True if a equals b or is above b. */
static bool covers(const char *a, const char *b) {
    size_t n = strlen(a);

    return strncmp(a, b, n) == 0 && (b[n] == '\0' || b[n] == '/');
}

static bool in_the_way(const struct ch_use *a, const struct ch_use *b) {
    return (a->use == CHELA_USE_ALONE || b->use == CHELA_USE_ALONE) &&
           (covers(a->key, b->key) || covers(b->key, a->key));
}

bool ch_uses_collide(const struct ch_uses *a, const struct ch_uses *b) {
    if ((a->all && b->n) || (b->all && a->n))
        return true;
    for (const struct ch_use *x = a->list; x; x = x->next)
        for (const struct ch_use *y = b->list; y; y = y->next)
            if (in_the_way(x, y))
                return true;
    return false;
}

void ch_use_path(chela_call *call, const char *path, enum chela_use use) {
    CH_BUF_AUTO key = {0}, rel = {0};

    if (ch_path_inside(chela_call_workspace(call), path, &rel) < 0)
        return;
    ch_buf_add_str(&key, CH_USE_FILES);
    if (strcmp(ch_buf_str(&rel), ".") != 0)
        ch_buf_addf(&key, "/%s", ch_buf_str(&rel));
    if (key.p[key.n - 1] == '/')
        key.p[--key.n] = '\0';
    chela_call_uses(call, ch_buf_str(&key), use);
}

void ch_use_workspace(chela_call *call, void *user) {
    (void)user;
    chela_call_uses(call, CH_USE_FILES, CHELA_USE_SHARED);
}
