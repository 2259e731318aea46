/* undo.c -- see chela/undo.h. Listens to the calls of a runtime: the paths that a call declares
 * as its own are copied before the call starts; any other call that may change files leads to a
 * scan before it, and to another one after the message. Scans run on a worker thread, which has
 * the record and the index to itself meanwhile; calls that may change files are held back. A
 * function of this file that needs the record waits for the scan. */
#include "chela/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "agent/handle/agent.h"
#include "agent/handle/guarded_files.h"
#include "agent/handle/runtime.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "io/loop.h"
#include "io/loop_entry.h"
#include "tool/call/call.h"
#include "tool/call/call_listener.h"
#include "tool/call/plan.h"
#include "undo/undo_restore.h"
#include "undo/undo_scan.h"

static const char undo_kind; /* its address identifies the extension */

enum scan_state { SCAN_QUEUED, SCAN_RUNS, SCAN_OVER };

struct undo_scan { /* a scan, from its start to the loop's next turn after its end */
    struct ch_work work;
    chela_undo *u; /* NULL: the scan is over, and the record knows the result */
    bool load;     /* read the index first */
    bool ends;     /* the scan is that after a message */
    bool blind;    /* result: the workspace is too large */
    struct ch_undo_hidden hidden;
    chela_call **held; /* owned, with a reference of each call's work */
    size_t nheld;
    pthread_mutex_t lock; /* for state */
    pthread_cond_t over;
    enum scan_state state;
};

struct chela_undo {
    struct ch_extension extension;
    struct ch_call_listener listener;
    chela_runtime *rt;
    char *dir, *workspace; /* owned */
    int root;              /* owned; -1: the record is not open yet */
    struct undo_scan *scan; /* in progress: it has root, record and index; NULL: none */
    struct ch_undo_record record;
    struct ch_undo_index index;
    bool end_later; /* the message ended during the scan before a command */
    bool loaded;  /* the index was looked for on disk */
    bool begun;   /* a message has begun here */
    bool active;  /* calls were made since the last end */
    bool scanned; /* the index is that before the commands of the message */
    bool blind;   /* the workspace is too large */
};

static void undo_finish(chela_undo *u);

/* --- scans --------------------------------------------------------------------------------- */

/* Records the state in which the last message left its files. */
static void undo_settle(chela_undo *u) {
    struct ch_undo_message *m = u->record.n ? &u->record.list[u->record.n - 1] : NULL;
    struct stat st;
    for (size_t i = 0; m && i < m->n; i++) {
        struct ch_undo_change *c = &m->changes[i];
        struct ch_undo_sig is = {0};
        if (fstatat(u->root, c->path, &st, AT_SYMLINK_NOFOLLOW) == 0)
            is = ch_undo_sig(&st);
        ch_undo_record_settle(&u->record, m, c, &is);
    }
    if (m)
        ch_undo_record_ended(&u->record);
}

/* On a worker thread, or on the loop thread if the scan is waited for before it began. */
static void scan_run(struct undo_scan *s) {
    chela_undo *u = s->u;
    if (s->load)
        ch_undo_index_load(&u->index, &u->record);
    s->blind = !ch_undo_scan(&u->index, &u->record, u->root, &s->hidden, s->ends);
    ch_undo_index_save(&u->index, &u->record);
    if (!s->ends && u->index.stored)
        ch_undo_record_scanned(&u->record);
    if (s->blind)
        ch_undo_record_blind(&u->record);
    if (s->ends)
        undo_settle(u);
}

/* True: the caller runs the scan. */
static bool scan_take(struct undo_scan *s) {
    pthread_mutex_lock(&s->lock);
    bool mine = s->state == SCAN_QUEUED;
    if (mine)
        s->state = SCAN_RUNS;
    pthread_mutex_unlock(&s->lock);
    return mine;
}

static void scan_on_thread(struct ch_work *w) {
    struct undo_scan *s = CH_CONTAINER(w, struct undo_scan, work);
    if (!scan_take(s))
        return;
    scan_run(s);
    pthread_mutex_lock(&s->lock);
    s->state = SCAN_OVER;
    pthread_cond_signal(&s->over);
    pthread_mutex_unlock(&s->lock);
}

/* The scan is over: the record belongs to the loop thread again. */
static void undo_collect(chela_undo *u) {
    struct undo_scan *s = CH_TAKE(u->scan);
    s->u = NULL;
    u->loaded = true;
    u->scanned = !s->ends;
    u->blind = s->blind;
    if (u->end_later) {
        u->end_later = false;
        undo_finish(u);
    }
}

/* Called also if the pool is closed. */
static void scan_on_done(struct ch_work *w) {
    struct undo_scan *s = CH_CONTAINER(w, struct undo_scan, work);
    if (s->u)
        undo_collect(s->u);
    for (size_t i = 0; i < s->nheld; i++)
        ch_call_start(s->held[i]);
    pthread_cond_destroy(&s->over);
    pthread_mutex_destroy(&s->lock);
    ch_free(s->held);
    ch_free(s);
}

static void undo_start_scan(chela_undo *u, bool ends) {
    struct undo_scan *s = u->scan = ch_alloc(sizeof(*s));
    *s = (struct undo_scan){
        .work = {.run = scan_on_thread, .done = scan_on_done, .dropped = scan_on_done},
        .u = u,
        .load = !u->loaded,
        .ends = ends};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->over, NULL);
    ch_undo_hide(&s->hidden, u->rt->hidden);
    ch_work_submit(u->rt->workers, &s->work);
}

/* Wait for the scan in progress. */
static void undo_join(chela_undo *u) {
    for (struct undo_scan *s; (s = u->scan);) {
        if (scan_take(s)) {
            scan_run(s);
        } else {
            pthread_mutex_lock(&s->lock);
            while (s->state != SCAN_OVER)
                pthread_cond_wait(&s->over, &s->lock);
            pthread_mutex_unlock(&s->lock);
        }
        undo_collect(u);
    }
}

static void undo_hold(chela_undo *u, chela_call *call) {
    struct undo_scan *s = u->scan;
    s->held = ch_realloc(s->held, (s->nheld + 1) * sizeof(*s->held));
    s->held[s->nheld++] = call;
}

/* --- changes of a call --------------------------------------------------------------------- */

/* Directories that do not exist will be created with the file. */
static void undo_note_parents(chela_undo *u, const char *path) {
    CH_BUF_AUTO part = {0};
    struct stat st;
    for (const char *p = path; (p = strchr(p, '/')); p++) {
        ch_buf_clear(&part);
        ch_buf_add(&part, path, (size_t)(p - path));
        if (fstatat(u->root, ch_buf_str(&part), &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
            ch_undo_record_change(&u->record, ch_buf_str(&part),
                                  &(struct ch_undo_state){.kind = CH_UNDO_ABSENT});
    }
}

static void undo_note_file(chela_undo *u, const chela_call *call, const char *given) {
    CH_BUF_AUTO rel = {0};
    enum ch_file_kind kind;
    const char *why, *name;
    struct ch_undo_state was = {.kind = CH_UNDO_ABSENT};
    struct stat st;

    if (ch_path_locate(&call->guard, given, &rel, &kind, &why) < 0)
        return;
    ch_undo_record_own(&u->record, ch_buf_str(&rel));
    if (ch_undo_record_knows(&u->record, ch_buf_str(&rel)))
        return;
    int dir = ch_file_open_parent(u->root, ch_buf_str(&rel), 0, &name);
    if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        was = ch_undo_record_copy(&u->record, dir, name, &st, CH_LIMIT_UNDO_EDITED);
    if (dir >= 0)
        close(dir);
    undo_note_parents(u, ch_buf_str(&rel));
    ch_undo_record_change(&u->record, ch_buf_str(&rel), &was);
    ch_undo_record_own(&u->record, ch_buf_str(&rel));
}

/* Any file may change: records the state of the workspace before. False: a scan has begun. */
static bool undo_note_anything(chela_undo *u) {
    if (!u->scanned && !u->blind) {
        undo_start_scan(u, false);
        return false;
    }
    u->scanned = true;
    return true;
}

static bool undo_is_file(const struct ch_use *use) {
    return use->use == CHELA_USE_ALONE &&
           strncmp(use->key, CH_USE_FILES "/", sizeof(CH_USE_FILES)) == 0;
}

/* A command that was found to read only declares the files as shared. */
static bool undo_only_reads(const chela_call *call, const struct ch_plan *plan) {
    const struct ch_use *use = call->uses.list;
    return plan->command.n && use && !use->next && use->use == CHELA_USE_SHARED;
}

/* False: a scan has begun. */
static bool undo_note_call(chela_undo *u, chela_call *call) {
    const struct ch_tool *tool = call->tool;
    struct ch_plan plan = {0};
    if (tool->plan)
        tool->plan(call, &plan);
    if (undo_only_reads(call, &plan))
        return true;
    if (strcmp(call->workspace, u->workspace) == 0 && !(tool->flags & CHELA_TOOL_ACTION) &&
        !undo_note_anything(u))
        return false;
    ch_undo_record_call(&u->record, plan.command.n ? plan.command : ch_sv_str(call->name));
    return true;
}

static bool undo_on_call(struct ch_call_listener *l, chela_call *call) {
    chela_undo *u = CH_CONTAINER(l, chela_undo, listener);
    const struct ch_tool *tool = call->tool;
    bool files = false;

    if (!u->begun || tool->effect == CHELA_EFFECT_READ || tool->permission == CHELA_PERM_READ ||
        ch_tool_is_run(tool) || (tool->only_looks && tool->only_looks(call)))
        return true;
    if (u->scan) {
        undo_hold(u, call);
        return false;
    }
    u->active = true;
    for (const struct ch_use *use = call->uses.list; use; use = use->next)
        if (undo_is_file(use)) {
            files = true;
            if (strcmp(call->workspace, u->workspace) == 0)
                undo_note_file(u, call, use->key + sizeof(CH_USE_FILES));
        }
    if ((!files || call->uses.all) && !undo_note_call(u, call)) {
        undo_hold(u, call);
        return false;
    }
    return true;
}

/* --- messages -------------------------------------------------------------------------------- */

/* The record is open, and belongs to the loop thread. */
static int undo_prepare(chela_undo *u, struct chela_error *err) {
    undo_join(u);
    if (u->root >= 0)
        return 0;
    u->root = open(u->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (u->root < 0)
        return ch_fail(err, errno == ENOENT ? CHELA_ENOENT : CHELA_EIO, "%s: %s", u->workspace,
                       strerror(errno));
    int rc = ch_undo_record_open(&u->record, u->dir, u->root, err);
    if (rc < 0) {
        close(u->root);
        u->root = -1;
    }
    return rc;
}

/* Start the scan for the changes of commands, if there were any. */
static void undo_finish(chela_undo *u) {
    if (u->scan) {
        u->end_later |= !u->scan->ends;
        return;
    }
    if (u->root < 0 || !u->active)
        return;
    u->active = false;
    if (u->scanned && !u->blind && u->index.valid) {
        undo_start_scan(u, true);
        return;
    }
    u->scanned = false;
    undo_settle(u);
}

/* The message is over, and the record belongs to the loop thread. */
static void undo_finish_now(chela_undo *u) {
    undo_finish(u);
    undo_join(u);
}

/* End the last message. A program that was killed did not do so: its index is that before the
 * commands. */
static void undo_recover(chela_undo *u) {
    const struct ch_undo_message *m = u->record.n ? &u->record.list[u->record.n - 1] : NULL;
    if (!u->begun && m && !m->ended) {
        u->active = true;
        if (m->scanned && !m->blind) {
            ch_undo_index_load(&u->index, &u->record);
            u->loaded = u->scanned = true;
        }
    }
    undo_finish_now(u);
}

int chela_undo_begin(chela_undo *u, const char *session, int64_t turns, const char *text,
                     struct chela_error *err) {
    CH_ENTER(u, u->rt->loop, err);
    CH_NEEDS_ARG(session, err);
    CH_LOG_SCOPE(u->rt->sink);
    int rc = undo_prepare(u, err);
    if (rc < 0)
        return rc;
    undo_recover(u);
    const struct ch_undo_message *last = u->record.n ? &u->record.list[u->record.n - 1] : NULL;
    bool on = !text && last && strcmp(last->session, session) == 0 && !last->undone;
    if (!on && ch_undo_record_tidy(&u->record)) {
        ch_undo_index_release(&u->index);
        u->loaded = true;
    }
    if (on)
        ch_undo_record_resumed(&u->record);
    else
        ch_undo_record_message(&u->record, session, turns,
                               ch_now_ms(ch_loop_clock(u->rt->loop)), text ? text : "");
    u->begun = u->active = true;
    u->blind = false;
    return 0;
}

void chela_undo_end(chela_undo *u) {
    CH_ENTER_OR(u, u->rt->loop, NULL, );
    if (u)
        undo_finish(u);
}

int chela_undo_list(chela_undo *u, const char *session, chela_undo_turn_fn *fn, void *user,
                    struct chela_error *err) {
    CH_ENTER(u, u->rt->loop, err);
    CH_NEEDS_ARG(session, err);
    int rc = undo_prepare(u, err);
    for (size_t i = 0; rc == 0 && i < u->record.n; i++) {
        const struct ch_undo_message *m = &u->record.list[i];
        struct chela_undo_turn turn = {.id = m->id,
                                       .turns = m->turns,
                                       .ts = m->ts,
                                       .text = m->text,
                                       .files = m->n,
                                       .undone = m->undone};
        if (ch_undo_record_belongs(&u->record, m, session))
            rc = fn(&turn, user);
    }
    return rc;
}

int chela_undo_fork(chela_undo *u, const char *from, const char *to, uint64_t before,
                    struct chela_error *err) {
    CH_ENTER(u, u->rt->loop, err);
    CH_NEEDS_ARG(from, err);
    CH_NEEDS_ARG(to, err);
    int rc = undo_prepare(u, err);
    if (rc == 0)
        ch_undo_record_fork(&u->record, from, to, before);
    return rc;
}

int chela_undo_restore(chela_undo *u, const char *session, uint64_t id, int look_only,
                       chela_undo_item_fn *fn, void *user, struct chela_error *err) {
    CH_ENTER(u, u->rt->loop, err);
    CH_NEEDS_ARG(session, err);
    int rc = undo_prepare(u, err);
    if (rc < 0)
        return rc;
    undo_recover(u);
    struct ch_undo_others others = {0};
    ch_undo_others_load(&others, &u->record, u->dir, u->root);
    rc = ch_undo_put_back(&u->record, &others, u->root, session, id, look_only != 0, fn, user);
    ch_undo_others_release(&others);
    return rc < 0 ? ch_fail(err, rc, "there is no such message") : 0;
}

/* --- life ---------------------------------------------------------------------------------- */

static void undo_close(struct ch_extension *e) {
    chela_undo *u = CH_CONTAINER(e, chela_undo, extension);
    ch_list_del(&e->link);
    u->rt->listener = NULL;
    if (u->root >= 0) {
        undo_finish_now(u);
        ch_undo_record_close(&u->record);
        close(u->root);
    }
    ch_undo_index_release(&u->index);
    ch_free(u->dir);
    ch_free(u->workspace);
    ch_free(u);
}

void chela_undo_close(chela_undo *u) {
    CH_ENTER_OR(u, u->rt->loop, NULL, );
    if (u)
        undo_close(&u->extension);
}

int chela_undo_open(chela_agent *agent, const char *dir, chela_undo **out,
                    struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_ENTER(agent, agent->rt->loop, err);
    chela_runtime *rt = agent->rt;
    if (!dir || *dir != '/')
        return ch_fail(err, CHELA_EINVAL, "the directory of the copies is not absolute");
    if (rt->listener)
        return ch_fail(err, CHELA_EEXIST, "the runtime keeps the changes of a workspace already");
    chela_undo *u = ch_alloc(sizeof(*u));
    u->rt = rt;
    u->dir = ch_strdup(dir);
    u->workspace = ch_strdup(agent->workspace);
    u->root = -1;
    u->listener.starting = undo_on_call;
    u->extension = (struct ch_extension){.kind = &undo_kind, .close = undo_close};
    ch_list_add(&rt->extensions, &u->extension.link);
    rt->listener = &u->listener;
    ch_runtime_hide_file(rt, dir);
    *out = u;
    return 0;
}
