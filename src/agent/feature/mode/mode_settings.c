/* mode_settings.c -- see mode_settings.h. */
#include "agent/feature/mode/mode_settings.h"

#include "agent/run/feature.h"
#include "base/error.h"

/* No run has it: it only holds the settings. */
static const struct ch_feature place = {.name = "mode settings"};

const struct ch_mode_settings *ch_mode_settings(const chela_agent *a) {
    static const struct ch_mode_settings none;
    const struct ch_mode_settings *s = ch_feature_of(a, &place);
    return s ? s : &none;
}

static struct ch_mode_settings *settings_for(chela_agent *a) {
    struct ch_mode_settings *s = ch_feature_of(a, &place);
    if (!s) {
        s = ch_arena_zalloc(&a->arena, sizeof(*s));
        ch_feature_put(a, &place, s);
    }
    return s;
}

void ch_mode_settings_model(chela_agent *a, enum ch_role_kind role, const char *model) {
    if (model && *model)
        settings_for(a)->models[role] = ch_arena_str(&a->arena, ch_sv_str(model));
}

static int read_reflection(chela_agent *a, const char *word, const char *tools,
                           struct chela_error *err) {
    bool always = word && strcmp(word, "explicit") == 0;
    bool on_error = word && strcmp(word, "on_error") == 0;
    bool implicit = word && strcmp(word, "implicit") == 0;
    bool listed = tools && *tools;
    if (!word && !listed)
        return 0;
    if (word && !always && !on_error && !implicit)
        return ch_fail(err, CHELA_EINVAL,
                       "unknown reflection '%s' (known: implicit, on_error, explicit)", word);
    settings_for(a)->reflection = (struct ch_reflecting){
        .answers = always,
        .errors = always || on_error,
        .tools = listed ? ch_arena_str(&a->arena, ch_sv_str(tools)) : NULL,
        .never = implicit};
    return 0;
}

int ch_mode_settings_read(chela_agent *a, const struct chela_agent_opts *o,
                          struct chela_error *err) {
    ch_mode_settings_model(a, CH_ROLE_ROUTER, o->roles.router);
    ch_mode_settings_model(a, CH_ROLE_PLANNER, o->roles.planner);
    ch_mode_settings_model(a, CH_ROLE_EXECUTOR, o->roles.executor);
    ch_mode_settings_model(a, CH_ROLE_REFLECTOR, o->roles.reflector);
    return read_reflection(a, o->reflection, o->reflect_tools, err);
}
