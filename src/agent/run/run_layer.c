/* run_layer.c -- see run_layer.h. */
#include "agent/run/run_layer.h"

#include "agent/handle/run_outcome.h"
#include "agent/run/parent.h"
#include "base/mem.h"
#include "tool/process/jobs.h"
#include "tool/process/layer_mount.h"

struct ch_session_layer {
    struct ch_session_layer *next;
    struct ch_layer_mount *mount; /* owned */
};

/* The session at the top; a run of a role works for the run that asks. */
static chela_session *top_of(const chela_run *run) {
    while (ch_parent_of(run) || run->session->asks_for)
        run = run->session->asks_for ? run->session->asks_for : ch_parent_of(run);
    return run->session;
}

/* The stricter of the session at the top and the run's own. */
static enum chela_apply applies(const chela_run *run) {
    enum chela_apply top = top_of(run)->apply, own = run->session->apply;

    return CH_MAX(top, own);
}

static struct ch_layer_mount *find_mount(const chela_run *run) {
    const chela_session *root = top_of(run);

    for (struct ch_session_layer *l = root->layers; l; l = l->next)
        if (strcmp(ch_layer_mount_workspace(l->mount), run->session->agent->workspace) == 0)
            return l->mount;
    return NULL;
}

static struct ch_layer_mount *add_mount(chela_run *run) {
    chela_session *root = top_of(run);
    struct ch_session_layer *l = ch_alloc(sizeof(*l));
    const chela_agent *a = run->session->agent;

    l->mount = ch_layer_mount_new(&(struct ch_layer_mount_opts){
        .workspace = a->workspace,
        .session = root->key,
        .apply = applies(run) == CHELA_APPLY_NEVER ? CH_LAYER_NEVER : CH_LAYER_REVIEW,
        .policy = a->sandbox});
    l->next = root->layers;
    root->layers = l;
    return l->mount;
}

/* Changes that wait stay under review, also if the process that continues says nothing. */
static void recall_layer(chela_run *run) {
    chela_session *root = top_of(run);
    enum ch_layer_apply apply;

    if (ch_layer_exists(run->session->agent->workspace, root->key, &apply))
        root->apply = apply == CH_LAYER_NEVER ? CHELA_APPLY_NEVER : CHELA_APPLY_REVIEW;
}

void ch_run_layer_up(chela_run *run) {
    struct chela_error err = {0};

    if (applies(run) == CHELA_APPLY_EACH)
        recall_layer(run);
    if (applies(run) == CHELA_APPLY_EACH)
        return;
    struct ch_layer_mount *m = find_mount(run);
    if (ch_layer_mount_up(m ? m : add_mount(run), &err) == 0)
        return;
    ch_run_outcome_error(run, "%s", err.message);
    run->stop = CH_IN_BROKEN;
}

static bool has_jobs(const chela_session *s) {
    struct ch_job *jobs[CH_LIMIT_JOBS + CH_LIMIT_JOBS_ENDED];
    size_t n = ch_jobs_list(s->jobs, jobs, CH_LEN(jobs));

    for (size_t i = 0; i < n; i++)
        if (ch_job_running(jobs[i]))
            return true;
    return false;
}

bool ch_run_layer_down(chela_run *run) {
    chela_session *s = run->session;
    bool any = false, changes;

    if (!s->layers)
        return false;
    if (has_jobs(s))
        return true; /* what a process leaves is seen when it has ended */
    for (struct ch_session_layer *l = s->layers; l; l = l->next) {
        ch_layer_mount_down(l->mount, &changes);
        any |= changes;
    }
    return any;
}

void ch_run_layer_note(chela_run *run) {
    struct ch_layer_mount *m = find_mount(run);

    if (m)
        ch_layer_mount_note(m);
}

const struct ch_layer_mount *ch_run_layer(const chela_run *run) {
    return applies(run) == CHELA_APPLY_EACH ? NULL : find_mount(run);
}

const char *ch_run_workspace(const chela_run *run) {
    const struct ch_layer_mount *m = ch_run_layer(run);

    return m ? ch_layer_mount_path(m) : run->session->agent->workspace;
}

void ch_session_layers_free(chela_session *s) {
    for (struct ch_session_layer *l = s->layers, *next; l; l = next) {
        next = l->next;
        ch_layer_mount_free(l->mount);
        ch_free(l);
    }
    s->layers = NULL;
}
