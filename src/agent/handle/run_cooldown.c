/* run_cooldown.c -- see run_cooldown.h. */
#include "agent/handle/run_cooldown.h"

#include "agent/handle/runtime.h"
#include "model/codec/errors.h"

static struct ch_cooldowns *cooldowns_of(const chela_run *run) {
    return &run->session->agent->rt->providers.cooldowns;
}

static int64_t mono_now(const chela_run *run) {
    return ch_mono_ms(ch_loop_clock(run->loop));
}

struct ch_cooling ch_run_cooldown_of(const chela_run *run, const struct ch_target *t) {
    const struct ch_cooldowns *c = cooldowns_of(run);
    const char *key;
    return c->n ? ch_target_cooling(t, c, mono_now(run), &key) : (struct ch_cooling){0};
}

uint32_t ch_run_cooldown_models(const chela_run *run) {
    const chela_agent *a = run->session->agent;
    uint32_t mask = 0;
    if (cooldowns_of(run)->n)
        for (size_t i = 0; i < a->ntargets; i++)
            mask |= (uint32_t)(ch_run_cooldown_of(run, a->targets[i]).ms > 0) << i;
    return mask;
}

void ch_run_cooldown_describe(const struct ch_target *t, const struct ch_cooling *c,
                              struct ch_buf *out) {
    ch_buf_addf(out, "%s: left alone for %lld s more (%s)", t->spec,
                (long long)(c->ms + 999) / 1000, ch_error_class_name(c->cls));
}

void ch_run_cooldown_report(chela_run *run, const struct ch_input *in, const char *key) {
    const struct ch_target *t = run->target;
    struct ch_cooldowns *c = cooldowns_of(run);
    if (t && in->kind == CH_IN_REPLY && c->n)
        ch_cooldown_clear(c, ch_target_subject(t, key));
    else if (t && in->kind == CH_IN_FAILED)
        ch_cooldown_failed(c, ch_target_subject(t, key), in->cls, in->retry_after_ms,
                           mono_now(run));
}

static void give_up(chela_run *run, enum ch_error_class cls, const char *key) {
    ch_cooldown_gave_up(cooldowns_of(run), ch_target_subject(run->target, key), cls,
                        mono_now(run));
}

static bool has_other_key(const chela_run *run, const char *key) {
    const struct ch_target *t = run->target;
    for (size_t i = 0; i < t->nkeys; i++)
        if (t->keys[i] != key &&
            ch_cooldown_of(cooldowns_of(run), ch_target_subject(t, t->keys[i]), mono_now(run))
                    .ms == 0)
            return true;
    return false;
}

bool ch_run_cooldown_change_key(chela_run *run, const struct ch_input *in, const char *key) {
    bool of_key = in->cls == CH_ERR_AUTH || in->cls == CH_ERR_BILLING ||
                  in->cls == CH_ERR_RATE_LIMIT;
    if (in->kind != CH_IN_FAILED || !of_key || !run->target || in->output_shown ||
        !has_other_key(run, key))
        return false;
    give_up(run, in->cls, key);
    return true;
}

void ch_run_cooldown_give_up(chela_run *run, const struct ch_input *in, enum ch_do todo,
                             const char *key) {
    if (in->kind == CH_IN_FAILED && run->target && (todo == CH_DO_FINISH || run->m.fell_back))
        give_up(run, in->cls, key);
}
