/* chat_tasks.c -- see chat_tasks.h. */
#include "cli/chat/chat_tasks.h"

#include <string.h>

#include "chela/json.h"
#include "cli/chat/chat_pick.h"
#include "cli/chat/chat_runs.h"
#include "cli/chat/chat_show.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/term/table.h"

/* --- events --------------------------------------------------------------------------- */

static int task_count_open(const char *task, size_t n, void *user) {
    char *kind = chela_json_get(task, n, "/kind", NULL);
    char *status = chela_json_get(task, n, "/status", NULL);
    bool open = status && (strcmp(status, "running") == 0 || strcmp(status, "waiting") == 0);
    *(unsigned *)user += open && kind && strcmp(kind, "agent") == 0;
    chela_free(kind);
    chela_free(status);
    return 0;
}

/* Count the agents at work; `ended`: one of those listed has just ended. */
static void task_count(struct ch_chat *c, bool ended) {
    char *json = chela_session_tasks_json(c->session);
    c->tasks = 0;
    chela_json_each(json, strlen(json), task_count_open, &c->tasks);
    c->tasks -= ended && c->tasks > 0;
    chela_free(json);
}

static void task_ended(struct ch_chat *c, const struct chela_event *ev, const char *agent) {
    bool paused = ev->end.status == CHELA_STATUS_PAUSED;
    if (paused && c->asks && !c->run)
        ch_chat_put_question(c);
    if (paused)
        return;
    task_count(c, true);
    ch_console_note(c->console, "the agent %s in the background: %s%s%.*s", agent,
                    chela_status_name(ev->end.status), ev->end.ending.n ? ": " : "",
                    (int)ev->end.ending.n, ev->end.ending.n ? ev->end.ending.p : "");
    if (ev->end.error.n)
        ch_console_note(c->console, "%.*s", (int)ev->end.error.n, ev->end.error.p);
    ch_chat_notify(c, "a task has ended");
}

void ch_chat_task_event(const struct chela_event *ev, void *user) {
    struct ch_chat *c = user;
    const struct chela_event *inner = ev->child.event;
    if (ev->child.depth > 1)
        return;
    if (inner->type == CHELA_EV_RUN_START && inner->seq == 0)
        ch_console_note(c->console, "the agent %s goes on in the background (/tasks)",
                        ev->child.agent);
    if (inner->type == CHELA_EV_RUN_START)
        task_count(c, false);
    if (inner->type == CHELA_EV_APPROVAL_REQUIRED || inner->type == CHELA_EV_CLIENT_TOOL_REQUIRED)
        ch_chat_ask(c, inner, ev->child.agent);
    if (inner->type == CHELA_EV_RUN_END)
        task_ended(c, inner, ev->child.agent);
    c->dirty = true;
}

/* --- the command ------------------------------------------------------------------------ */

static void task_show(struct ch_chat *c, const char *id) {
    struct chela_error err = {0};
    char *text = id ? chela_session_task_text(c->session, id, &err) : NULL;
    const char *shown = text && *text ? text : "(nothing yet)";
    if (text)
        ch_chat_print(c, "", shown, strlen(shown));
    else if (id)
        ch_console_error(c->console, "%s", err.message);
    chela_free(text);
}

static void task_cancel(struct ch_chat *c, const char *id) {
    struct chela_error err = {0};
    if (id && chela_session_task_cancel(c->session, id, &err) < 0)
        ch_console_error(c->console, "%s", err.message);
    else if (id)
        ch_console_note(c->console, "ended: %s", id);
}

/* Add the tasks to a picker; running: only those that have not ended. */
static void task_fill(struct ch_chat *c, struct ch_pick *p, bool running) {
    static const char *const pointers[] = {"/id",     "/kind", "/title",
                                           "/status", "/ms",   "/agent", NULL};
    struct ch_table t = {.heads = pointers};
    char *json = chela_session_tasks_json(c->session);
    ch_table_fill(&t, json, pointers);
    for (size_t i = 0; i < t.n; i++) {
        char **cell = t.cells[i];
        bool open = strcmp(cell[3], "running") == 0 || strcmp(cell[3], "waiting") == 0 ||
                    strcmp(cell[3], "interrupted") == 0;
        if (running && !open)
            continue;
        char *title = ch_format("%s: %s", cell[5] && *cell[5] ? cell[5] : "$", cell[2]);
        char *facts = ch_format("%s, %.0f s", cell[3], strtod(cell[4], NULL) / 1000);
        ch_pick_add(p, cell[0], title, facts);
        char *text = chela_session_task_text(c->session, cell[0], NULL);
        p->items[p->n - 1].about = ch_dup(text ? text : "");
        chela_free(text);
        free(title);
        free(facts);
    }
    ch_table_release(&t);
    chela_free(json);
}

void ch_chat_tasks(struct ch_chat *c, const char *args) {
    bool cancel = strncmp(args, "cancel", 6) == 0 && (!args[6] || args[6] == ' ');
    const char *words = cancel ? args + 6 + strspn(args + 6, " ") : args;
    struct ch_pick *p = ch_chat_pick(c, cancel ? "end" : "tasks", cancel ? task_cancel : task_show);
    task_fill(c, p, cancel);
    ch_pick_filter(p, words);
    if (p->nshown == 0) {
        ch_chat_pick_close(c);
        ch_console_note(c->console, "nothing %s in the background%s%s", cancel ? "goes on" : "is",
                        *words ? " that is like " : "", words);
    } else if (*words && p->nshown == 1) {
        char *id = ch_dup(ch_pick_selected(p)->id);
        ch_chat_pick_close(c);
        if (cancel)
            task_cancel(c, id);
        else
            task_show(c, id);
        free(id);
    }
}
