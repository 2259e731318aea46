/* hook_list.c -- see hook_list.h. */
#include "agent/feature/hook/hook_list.h"

#include "agent/feature/hook/hooks.h"
#include "agent/run/feature.h"
#include "base/error.h"
#include "base/limits.h"
#include "schema/schema_pattern.h"
#include "tool/process/pinned.h"
#include "tool/process/sandbox_policy.h"

struct ch_hook_list { /* in the agent's arena */
    struct ch_hook items[CH_LIMIT_HOOKS];
    size_t n;
};

const char *ch_hook_event_name(enum ch_hook_event event) {
    static const char *const names[] = {
#define CH_HOOK_NAME(name, key, program) program,
        CH_HOOK_EVENTS(CH_HOOK_NAME)
#undef CH_HOOK_NAME
    };
    return names[event];
}

const char *ch_hook_event_key(enum ch_hook_event event) {
    static const char *const keys[] = {
#define CH_HOOK_KEY(name, key, program) key,
        CH_HOOK_EVENTS(CH_HOOK_KEY)
#undef CH_HOOK_KEY
    };
    return keys[event];
}

static struct ch_hook_list *list_of(const chela_agent *a) {
    return ch_feature_of(a, &ch_hooks_feature);
}

struct ch_hook_list *ch_hooks_list_new(chela_agent *a) {
    return ch_arena_zalloc(&a->arena, sizeof(struct ch_hook_list));
}

/* The expression has to match the whole name. */
static int list_compile(struct ch_patterns *p, const char *match, struct ch_pattern **out,
                        struct chela_error *err) {
    CH_BUF_AUTO whole = {0};
    ch_buf_addf(&whole, "^(?:%s)$", match);
    return ch_patterns_add_native(p, ch_buf_sv(&whole), out, err);
}

static bool matches_any(const char *match) {
    return !match || !*match || strcmp(match, "*") == 0;
}

static bool list_matches(const char *match, const char *name) {
    struct ch_patterns patterns = {0};
    struct ch_pattern *p;
    int64_t fuel = CH_LIMIT_PATTERN_STEPS;
    if (matches_any(match))
        return true;
    if (!name)
        return false;
    bool yes = list_compile(&patterns, match, &p, NULL) == 0 &&
               ch_pattern_match(p, ch_sv_str(name), &fuel) > 0;
    ch_patterns_release(&patterns);
    return yes;
}

int ch_hooks_add(chela_agent *a, const struct ch_hook *hook, struct chela_error *err) {
    struct ch_hook_list *l = list_of(a);
    struct ch_patterns patterns = {0};
    struct ch_pattern *p;
    int rc = matches_any(hook->match) ? 0 : list_compile(&patterns, hook->match, &p, err);
    ch_patterns_release(&patterns);
    if (rc == 0 && !l) {
        static const struct ch_agent_opts none; /* without options the feature would stay idle */
        rc = ch_feature_attach(a, &ch_hooks_feature, &none, err);
        l = list_of(a);
    }
    if (rc < 0)
        return rc;
    if (l->n == CH_LIMIT_HOOKS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d hooks", CH_LIMIT_HOOKS);
    struct ch_hook *h = &l->items[l->n++];
    *h = *hook;
    h->match = hook->match ? ch_arena_str(&a->arena, ch_sv_str(hook->match)) : NULL;
    h->cwd = hook->cwd ? ch_arena_str(&a->arena, ch_sv_str(hook->cwd)) : NULL;
    h->argv = ch_sandbox_copy_list(&a->arena, hook->argv);
    h->pins = ch_pins_copy(&a->arena, hook->pins);
    h->timeout_ms = hook->timeout_ms == 0  ? CH_DEFAULT_HOOK_MS
                    : hook->timeout_ms < 0 ? CH_LIMIT_HOOK_MS
                                           : hook->timeout_ms;
    return 0;
}

const struct ch_hook *ch_hooks_match(const chela_agent *a, enum ch_hook_event event,
                                     const char *name, const char *other, size_t i) {
    const struct ch_hook_list *l = list_of(a);
    for (size_t k = 0; l && k < l->n; k++) {
        const struct ch_hook *h = &l->items[k];
        if (h->event == event && (list_matches(h->match, name) || list_matches(h->match, other)) &&
            i-- == 0)
            return h;
    }
    return NULL;
}

bool ch_hooks_any(const chela_agent *a, enum ch_hook_event event) {
    const struct ch_hook_list *l = list_of(a);
    for (size_t i = 0; l && i < l->n; i++)
        if (l->items[i].event == event)
            return true;
    return false;
}
