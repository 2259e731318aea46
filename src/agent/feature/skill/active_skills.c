/* active_skills.c -- see active_skills.h. */
#include "agent/feature/skill/active_skills.h"

#include <stdlib.h>

#include "agent/journal/emit.h"
#include "base/limits.h"
#include "base/mem.h"
#include "prompt/skill_call.h"
#include "prompt/skill_tools.h"

struct active { /* of a session */
    struct ch_buf names; /* each NUL-terminated */
    struct ch_approvals *granted;
};

static void *active_make(void) {
    struct active *a = ch_alloc(sizeof(*a));
    ch_approvals_new(NULL, NULL, &a->granted, NULL);
    return a;
}

static void active_free(void *value) {
    struct active *a = value;
    ch_buf_release(&a->names);
    ch_approvals_free(a->granted);
    ch_free(a);
}

static struct active *active_of(const chela_session *s) {
    static const struct ch_state_kind kind = {active_make, active_free};
    return ch_session_state_get((struct ch_session_state *)&s->state, &kind);
}

static bool active_has(const struct active *a, struct ch_sv name) {
    struct ch_sv rest = ch_buf_sv(&a->names);
    while (rest.n)
        if (ch_sv_eq(ch_sv_split(&rest, '\0'), name))
            return true;
    return false;
}

static void active_add(struct active *a, struct ch_sv name) {
    if (!name.n || active_has(a, name) || a->names.n + name.n > CH_LIMIT_ACTIVE_SKILLS)
        return;
    ch_buf_add_sv(&a->names, name);
    ch_buf_add(&a->names, "", 1);
}

/* --- activation -------------------------------------------------------------------- */

/* tell: emit a warning about tools that are not granted. */
static void activate(chela_run *run, const struct ch_skill *skill, bool tell) {
    chela_session *s = run->session;
    struct active *a = active_of(s);
    CH_BUF_AUTO text = {0};
    if (active_has(a, ch_sv_str(skill->head.name)))
        return;
    active_add(a, ch_sv_str(skill->head.name));
    if (s->agent->skills.trusted) {
        ch_skill_tools_grant(skill, &s->agent->registry, a->granted, &text);
        if (tell && text.n)
            ch_emit_warning(run, "skill %s: its allowed-tools name unknown tools: %s",
                            skill->head.name, ch_buf_str(&text));
        return;
    }
    if (!tell)
        return;
    ch_skill_tools_show(skill, &text);
    ch_emit_warning(run,
                    "skill %s: its allowed-tools (%s) are ignored, because this directory is not "
                    "trusted or its skills have changed since ('chela trust' trusts it)",
                    skill->head.name, ch_buf_str(&text));
}

/* True if the path of a call leads to this file. */
static bool leads_to(const char *workspace, struct ch_sv path, const char *file) {
    CH_BUF_AUTO whole = {0};
    if (!ch_sv_starts(path, "/"))
        ch_buf_addf(&whole, "%s/", workspace);
    ch_buf_add_sv(&whole, path);
    if (memchr(whole.p, '\0', whole.n))
        return false;
    char *given = realpath(ch_buf_str(&whole), NULL), *real = realpath(file, NULL);
    bool same = given && real && strcmp(given, real) == 0;
    free(given);
    free(real);
    return same;
}

static bool active_wants_tools(const struct ch_skill *skill) {
    return !skill->problem && skill->allowed && skill->head.tools[0];
}

static void active_on_call(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                           bool failed) {
    const chela_agent *agent = run->session->agent;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (phase == CH_PHASE_STARTED || failed || !ch_sv_is(call->name, "read") ||
        ch_json_parse(&arena, call->text, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return;
    struct ch_sv path = ch_json_get_str(v, "path");
    if (!path.n)
        path = ch_json_get_str(v, "file_path");
    for (size_t i = 0; path.n && i < agent->skills.n && !run->dead; i++)
        if (active_wants_tools(&agent->skills.list[i]) &&
            leads_to(agent->workspace, path, agent->skills.list[i].file))
            activate(run, &agent->skills.list[i], phase == CH_PHASE_ENDED);
}

/* A person called a skill: the message holds its instructions. */
static int active_shape(chela_run *run, struct ch_model_request *req, struct chela_error *err) {
    const chela_session *s = run->session;
    const struct ch_transcript *t = &s->transcript;
    const struct ch_skill *skill = NULL;
    (void)req;
    (void)err;
    for (size_t i = t->n; i > 0 && !skill && !s->channel->name; i--)
        if (t->msgs[i - 1]->kind != CH_MSG_ASSISTANT && t->msgs[i - 1]->kind != CH_MSG_RESULTS) {
            skill = ch_skill_in_call(&s->agent->skills, ch_msg_words(t->msgs[i - 1]));
            break;
        }
    if (skill && active_wants_tools(skill))
        activate(run, skill, true);
    return 0;
}

/* --- sessions and runs -------------------------------------------------------------- */

static int active_open(chela_run *run, const struct chela_run_opts *opts,
                       const struct ch_json *state, void **data, struct chela_error *err) {
    chela_session *s = run->session;
    struct active *a = active_of(s);
    struct ch_sv rest = ch_buf_sv(&a->names);
    CH_BUF_AUTO unknown = {0};
    (void)opts;
    (void)state;
    (void)err;
    *data = NULL;
    ch_approvals_revoke(a->granted); /* another agent may have another list */
    while (rest.n && s->agent->skills.trusted) {
        const struct ch_skill *skill = ch_skills_find(&s->agent->skills, ch_sv_split(&rest, '\0'));
        if (skill)
            ch_skill_tools_grant(skill, &s->agent->registry, a->granted, &unknown);
    }
    s->granted = a->granted;
    return 0;
}

static void active_close(chela_run *run, void *data) {
    (void)data;
    if (run->session->run == run)
        run->session->granted = NULL;
}

static void active_save(const chela_run *run, struct ch_jw *w) {
    const struct active *a = active_of(run->session);
    struct ch_sv rest = ch_buf_sv(&a->names);
    if (!rest.n)
        return;
    ch_jw_kbegin(w, "skills", '[');
    while (rest.n)
        ch_jw_str(w, ch_sv_split(&rest, '\0'));
    ch_jw_end(w, ']');
}

static void active_load(chela_session *s, const struct ch_json *state) {
    for (CH_JSON_EACH(name, ch_json_get(state, "skills")))
        active_add(active_of(s), ch_json_str(name));
}

const struct ch_feature ch_active_skills_feature = {
    .name = "skills",
    .loads = "skills",
    .load = active_load,
    .save = active_save,
    .open = active_open,
    .close = active_close,
    .shape_request = active_shape,
    .on_call = active_on_call,
};
