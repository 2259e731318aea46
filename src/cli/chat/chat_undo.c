/* chat_undo.c -- see chat_undo.h. */
#include "cli/chat/chat_undo.h"

#include <stdlib.h>
#include <string.h>

#include "cli/chat/chat_pick.h"
#include "cli/chat/chat_runs.h"
#include "cli/chat/chat_sessions.h"
#include "cli/chat/chat_show.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/state_path.h"

#define NO_CHANGES "no files were changed\n"

enum {
    NAMES = 6,   /* files named in one line of a report */
    GROUPS = 16, /* lines of a report */
};

enum what { BOTH, CONVERSATION, FILES };

/* --- keeping ------------------------------------------------------------------------------- */

void ch_chat_undo_open(struct ch_chat *c) {
    struct chela_error err = {0};
    char *dir = c->files ? NULL : ch_state_path(c->setup->env, "undo");
    if (!dir)
        return;
    ch_state_make_parents(dir, NULL);
    if (chela_undo_open(c->agent, dir, &c->files, &err) < 0)
        ch_console_note(c->console, "warning: /undo will not restore files: %s", err.message);
    free(dir);
}

static int undo_count_turns(const struct chela_store_session *s, void *user) {
    *(int64_t *)user = (int64_t)s->turns;
    return 0;
}

static int64_t undo_turns(struct ch_chat *c) {
    int64_t turns = 0;
    if (c->setup->store) /* an unstored session has no turns */
        chela_store_session(c->setup->store, chela_session_key(c->session), undo_count_turns,
                            &turns, NULL);
    return turns;
}

static void undo_remember(struct ch_chat *c, const struct ch_chat_undo *u) {
    c->undo = ch_must(realloc(c->undo, (c->nundo + 1) * sizeof(*c->undo)));
    c->undo[c->nundo++] = *u;
}

static int undo_take_last(const struct chela_undo_turn *t, void *user) {
    *(uint64_t *)user = t->id;
    return 0;
}

/* Begin a message of the record; returns its id, or 0. text NULL: continue the last message. */
static uint64_t undo_record(struct ch_chat *c, int64_t turns, const char *text) {
    const char *key = chela_session_key(c->session);
    struct chela_error err = {0};
    uint64_t id = 0;
    if (!c->files)
        return 0;
    int rc = chela_undo_begin(c->files, key, turns, text, &err);
    if (rc == 0)
        rc = chela_undo_list(c->files, key, undo_take_last, &id, &err);
    if (rc < 0) {
        ch_console_note(c->console, "warning: /undo will not restore files: %s", err.message);
        chela_undo_close(c->files);
        c->files = NULL;
        id = 0;
    }
    return id;
}

void ch_chat_undo_begin(struct ch_chat *c, const char *text) {
    struct ch_chat_undo last = {.text = ch_dup(text), .turns = undo_turns(c)};
    last.id = undo_record(c, last.turns, text);
    undo_remember(c, &last);
}

void ch_chat_undo_go_on(struct ch_chat *c) {
    undo_record(c, undo_turns(c), NULL);
}

void ch_chat_undo_end(struct ch_chat *c) {
    chela_undo_end(c->files);
}

void ch_chat_undo_forked(struct ch_chat *c, const char *from, const char *to) {
    if (c->files)
        chela_undo_fork(c->files, from, to, 0, NULL);
}

static int undo_load_one(const struct chela_undo_turn *t, void *user) {
    struct ch_chat *c = user;
    if (*t->text)
        undo_remember(c, &(struct ch_chat_undo){ch_dup(t->text), t->turns, t->id});
    return 0;
}

void ch_chat_undo_load(struct ch_chat *c) {
    if (c->files && c->nundo == 0)
        chela_undo_list(c->files, chela_session_key(c->session), undo_load_one, c, NULL);
}

void ch_chat_undo_forget(struct ch_chat *c) {
    while (c->nundo > 0)
        free(c->undo[--c->nundo].text);
}

/* --- reports ------------------------------------------------------------------------------- */

struct group { /* changes with the same outcome and reason */
    enum chela_undo_outcome outcome;
    char *why;         /* owned; NULL: none */
    struct ch_draft names;
    size_t n;
};

struct report {
    struct group groups[GROUPS];
    size_t n;
};

static struct group *report_find(struct report *r, const struct chela_undo_item *item) {
    for (size_t i = 0; i < r->n; i++) {
        struct group *g = &r->groups[i];
        if (g->outcome == item->outcome &&
            strcmp(g->why ? g->why : "", item->why ? item->why : "") == 0)
            return g;
    }
    if (r->n == GROUPS)
        return NULL;
    struct group *g = &r->groups[r->n++];
    *g = (struct group){.outcome = item->outcome, .why = item->why ? ch_dup(item->why) : NULL};
    ch_draft_init(&g->names);
    return g;
}

static void report_add(const struct chela_undo_item *item, void *user) {
    struct group *g = report_find(user, item);
    if (!g)
        return;
    if (g->n < NAMES)
        fprintf(g->names.f, "%s%.120s", g->n ? ", " : "", item->path);
    g->n++;
}

static const char *report_words(const struct group *g) {
    switch (g->outcome) {
    case CHELA_UNDO_RESTORED:
        return "restored";
    case CHELA_UNDO_REMOVED:
        return "removed";
    case CHELA_UNDO_CHANGED:
        return "left as it is, because somebody else changed it since";
    case CHELA_UNDO_NO_COPY:
        return "not restored";
    case CHELA_UNDO_FAILED:
        return "could not be restored";
    case CHELA_UNDO_OUTSIDE:
        return "not taken back: effects outside of the workspace, if any, of";
    }
    return "";
}

/* Write the groups of a report and free them. */
static void report_write(struct report *r, FILE *out) {
    for (size_t i = 0; i < r->n; i++) {
        struct group *g = &r->groups[i];
        ch_draft_finish(&g->names);
        fprintf(out, "%s%s%s%s: %s", report_words(g), g->why ? " (" : "", g->why ? g->why : "",
                g->why ? ")" : "", g->names.p);
        if (g->n > NAMES)
            fprintf(out, " and %zu more", g->n - NAMES);
        fputc('\n', out);
        free(g->names.p);
        free(g->why);
    }
    if (r->n == 0)
        fputs(NO_CHANGES, out);
    r->n = 0;
}

/* Restore the files, or report only what would be restored. The caller frees the text; NULL:
 * failed, and the reason was shown. */
static char *undo_restore(struct ch_chat *c, uint64_t id, bool look_only) {
    struct report report = {0};
    struct chela_error err = {0};
    struct ch_draft d;
    int rc = chela_undo_restore(c->files, chela_session_key(c->session), id, look_only, report_add,
                                &report, &err);
    ch_draft_init(&d);
    report_write(&report, d.f);
    ch_draft_finish(&d);
    if (rc == 0)
        return d.p;
    free(d.p);
    ch_console_error(c->console, "%s", err.message);
    return NULL;
}

/* --- taking back --------------------------------------------------------------------------- */

bool ch_chat_undo_copy(struct ch_chat *c, int64_t turn, const char *name) {
    const char *from = chela_session_key(c->session);
    struct chela_error err = {0};
    char *to = *name ? ch_dup(name) : NULL;
    int rc = to ? chela_store_fork(c->setup->store, from, turn, to, &err) : CHELA_EEXIST;

    for (int i = 2; !*name && rc == CHELA_EEXIST; i++) {
        free(to);
        to = ch_format("%s-%d", from, i);
        err = (struct chela_error){0};
        rc = chela_store_fork(c->setup->store, from, turn, to, &err);
    }
    if (rc < 0) {
        ch_console_error(c->console, "%s", err.message);
    } else {
        ch_chat_switch(c, to);
        ch_console_note(c->console, "going on as session %s", to);
    }
    free(to);
    return rc == 0;
}

/* Continue with a copy of the session up to message i; the text of message i goes to the
 * prompt. */
static bool undo_conversation(struct ch_chat *c, size_t i) {
    struct ch_chat_undo *u = &c->undo[i];
    char *left = ch_dup(chela_session_key(c->session));
    bool done = true;
    if (u->turns == 0)
        ch_chat_switch(c, NULL);
    else
        done = ch_chat_undo_copy(c, u->turns, "");
    if (done) {
        ch_chat_sessions_take_back(c, left);
        if (c->files && u->id)
            chela_undo_fork(c->files, left, chela_session_key(c->session), u->id, NULL);
        ch_edit_set(&c->edit, u->text);
        while (c->nundo > i)
            free(c->undo[--c->nundo].text);
    }
    free(left);
    return done;
}

static void undo_to(struct ch_chat *c, size_t i, enum what what) {
    uint64_t id = c->files ? c->undo[i].id : 0;
    bool last = i + 1 == c->nundo;
    if (what != CONVERSATION && id) {
        char *report = undo_restore(c, id, false);
        if (!report)
            return;
        if (what == FILES || strcmp(report, NO_CHANGES) != 0)
            ch_chat_print(c, "\033[2m", report, strlen(report));
        free(report);
    } else if (what == FILES) {
        ch_console_note(c->console, "the file changes of the message were not recorded");
    }
    if (what == FILES || !undo_conversation(c, i))
        return;
    ch_console_note(c->console, "%s taken back: edit it, or write another.%s",
                    last ? "your last message was" : "that message and the later ones were",
                    what == CONVERSATION ? " Files are as the agent left them." : "");
}

static bool undo_may(struct ch_chat *c, enum what what) {
    if (c->nundo == 0)
        ch_console_error(c->console, "nothing was said here that could be taken back");
    else if (what != FILES && !c->setup->store)
        ch_console_error(c->console, "this session is not kept, so the conversation stays as it "
                                     "is; '/undo files' restores files");
    else
        return true;
    return false;
}

static bool undo_read(struct ch_chat *c, const char *args, enum what *what) {
    *what = strcmp(args, "files") == 0 ? FILES : strcmp(args, "chat") == 0 ? CONVERSATION : BOTH;
    if (*what == BOTH && *args && strcmp(args, "both") != 0) {
        ch_console_error(c->console, "/undo takes both (the default), files or chat, not '%s'",
                         args);
        return false;
    }
    return undo_may(c, *what);
}

struct newest { /* the newest message whose files can be restored */
    uint64_t id;
};

static int undo_take_changed(const struct chela_undo_turn *t, void *user) {
    struct newest *n = user;
    if (!t->undone && t->files > 0)
        n->id = t->id;
    return 0;
}

void ch_chat_undo(struct ch_chat *c, const char *args) {
    enum what what;
    if (!undo_read(c, args, &what))
        return;
    size_t i = c->nundo - 1;
    if (what == FILES && c->files) { /* messages that changed nothing are passed over */
        struct newest n = {0};
        chela_undo_list(c->files, chela_session_key(c->session), undo_take_changed, &n, NULL);
        while (n.id && i > 0 && c->undo[i].id > n.id)
            i--;
    }
    undo_to(c, i, what);
}

/* --- choosing ------------------------------------------------------------------------------ */

static void rewind_what_chosen(struct ch_chat *c, const char *id) {
    if (id && c->rewind < c->nundo && ch_chat_is_idle(c, "rewind"))
        undo_to(c, c->rewind,
                strcmp(id, "files") == 0  ? FILES
                : strcmp(id, "chat") == 0 ? CONVERSATION
                                          : BOTH);
}

static void rewind_chosen(struct ch_chat *c, const char *id) {
    if (!id)
        return;
    c->rewind = strtoul(id, NULL, 10);
    struct ch_pick *p = ch_chat_pick(c, "restore", rewind_what_chosen);
    if (c->setup->store)
        ch_pick_add(p, "both", "the conversation and the files", NULL);
    if (c->setup->store)
        ch_pick_add(p, "chat", "the conversation only", NULL);
    if (c->files && c->undo[c->rewind].id)
        ch_pick_add(p, "files", "the files only", NULL);
    ch_pick_filter(p, "");
}

static void rewind_preview(struct ch_pick_item *item, void *user) {
    struct ch_chat *c = user;
    size_t i = strtoul(item->id, NULL, 10);
    if (c->files && i < c->nundo && c->undo[i].id)
        item->about = undo_restore(c, c->undo[i].id, true);
    if (!item->about)
        item->about = ch_dup("the file changes of the message were not recorded");
}

void ch_chat_rewind(struct ch_chat *c, const char *args) {
    if (!undo_may(c, FILES))
        return;
    struct ch_pick *p = ch_chat_pick(c, "rewind to before", rewind_chosen);
    p->preview = rewind_preview;
    p->user = c;
    for (size_t i = c->nundo; i-- > 0;) {
        char *id = ch_format("%zu", i);
        char *line = ch_format("%.*s", (int)strcspn(c->undo[i].text, "\n"), c->undo[i].text);
        ch_pick_add(p, id, line, NULL);
        free(id);
        free(line);
    }
    ch_pick_filter(p, args);
}
