/* mode_settings.c -- see mode_settings.h. */
#include "agent/feature/mode/mode_settings.h"

#include "agent/feature/mode/fixed_plan.h"
#include "agent/run/feature.h"
#include "base/choice.h"
#include "base/error.h"

/* A feature that no run gets; it holds the settings of an agent. */
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

static int read_reflection(chela_agent *a, enum chela_reflection choice, const char *tools,
                           struct chela_error *err) {
    bool always = choice == CHELA_REFLECTION_EXPLICIT;
    bool listed = tools && *tools;
    if (choice == CHELA_REFLECTION_DEFAULT && !listed)
        return 0;
    int rc = ch_choice_check(CHELA_CHOICE_REFLECTION, choice, err);
    if (rc < 0)
        return rc;
    settings_for(a)->reflection = (struct ch_reflecting){
        .answers = always,
        .errors = always || choice == CHELA_REFLECTION_ON_ERROR,
        .tools = listed ? ch_arena_str(&a->arena, ch_sv_str(tools)) : NULL,
        .never = choice == CHELA_REFLECTION_IMPLICIT};
    return 0;
}

int ch_mode_settings_read(chela_agent *a, const struct ch_agent_opts *o,
                          struct chela_error *err) {
    ch_mode_settings_model(a, CH_ROLE_ROUTER, o->planning.router);
    ch_mode_settings_model(a, CH_ROLE_PLANNER, o->planning.planner);
    ch_mode_settings_model(a, CH_ROLE_EXECUTOR, o->planning.executor);
    ch_mode_settings_model(a, CH_ROLE_REFLECTOR, o->planning.reflector);
    if (o->planning.plan && *o->planning.plan) {
        int rc = ch_fixed_plan_load(&a->arena, o->planning.plan, &settings_for(a)->plan, err);
        if (rc < 0)
            return rc;
    }
    return read_reflection(a, o->planning.reflection, o->planning.reflect_tools, err);
}
