/* features.c -- see features.h. */
#include "agent/api/features.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/feature/hook/hooks.h"
#include "agent/feature/mode/mode.h"
#include "agent/feature/skill/active_skills.h"
#include "agent/feature/team/background.h"
#include "agent/feature/team/handoff.h"
#include "agent/run/feature.h"
#include "base/error.h"

const struct ch_feature *const ch_features[] = {&ch_plan_feature,      &ch_route_feature,
                                                &ch_heartbeat_feature, &ch_reflect_feature,
                                                &ch_handoff_feature,   &ch_background_feature,
                                                &ch_active_skills_feature, &ch_hooks_feature, NULL};

int ch_features_find_mode(const char *name, const struct ch_feature **out,
                          struct chela_error *err) {
    CH_BUF_AUTO known = {0};
    *out = NULL;
    if (!name || strcmp(name, CH_MODE_PLAIN) == 0)
        return 0;
    ch_buf_add_str(&known, CH_MODE_PLAIN);
    for (const struct ch_feature *const *f = ch_features; *f; f++) {
        if (!(*f)->is_mode)
            continue;
        if (strcmp((*f)->name, name) == 0) {
            *out = *f;
            return 0;
        }
        ch_buf_addf(&known, ", %s", (*f)->name);
    }
    return ch_fail(err, CHELA_EINVAL, "unknown mode '%s' (known: %s)", name, ch_buf_str(&known));
}
