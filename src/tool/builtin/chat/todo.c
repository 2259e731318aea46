/* todo.c -- the tool `todo`: the model's own task list.
 *
 * The list belongs to the session. Every result shows the whole list, so the model need not
 * remember it. Rejected calls change nothing. */
#include "tool/builtin/chat/todo.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/call/state.h"
#include "json/json.h"
#include "json/writer.h"
#include "tool/result/sanitize.h"

static const char *const list_names[] = {"todos", "items", "list", NULL};
static const char *const text_names[] = {"content", "text", "title", "task", NULL};

enum status { PENDING, IN_PROGRESS, COMPLETED, CANCELLED };

static const struct {
    const char *name, *mark;
    const char *other; /* synonym, or NULL */
} statuses[] = {
    {"pending", "[ ]", "todo"},
    {"in_progress", "[>]", "doing"},
    {"completed", "[x]", "done"},
    {"cancelled", "[-]", "canceled"},
};

struct item {
    int64_t id;
    char *text; /* owned */
    enum status status;
};

struct todo {
    struct item items[CH_LIMIT_STEPS];
    size_t n;
    int64_t last_id;
};

static void todo_clear(struct todo *t) {
    for (size_t i = 0; i < t->n; i++)
        ch_free(t->items[i].text);
    t->n = 0;
}

static void *make_todo(void) {
    return ch_alloc(sizeof(struct todo));
}

static void free_todo(void *value) {
    todo_clear(value);
    ch_free(value);
}

static const struct ch_state_kind kind = {.make = make_todo, .free = free_todo};

/* --- arguments ----------------------------------------------------------- */

enum action { LIST, REPLACE, UPDATE };

/* The change requested by one entry of the arguments. */
struct wish {
    int64_t id; /* 0: none given */
    struct ch_sv text;
    bool has_text, has_status;
    enum status status;
};

struct order {
    enum action action;
    struct wish wishes[CH_LIMIT_STEPS];
    size_t n;
};

static int read_status(chela_call *call, const struct ch_json *v, struct wish *w) {
    struct ch_sv s = ch_json_str(v);

    for (size_t i = 0; i < CH_LEN(statuses); i++)
        if (ch_sv_is(s, statuses[i].name) || ch_sv_is(s, statuses[i].other)) {
            w->status = (enum status)i;
            w->has_status = true;
            return 0;
        }
    return ch_result_invalid(call,
                             "A status must be pending, in_progress, completed or cancelled.");
}

/* Some models send ids as strings. */
static int64_t read_id(const struct ch_json *v) {
    struct ch_sv s = ch_json_str(v);
    int64_t id = 0;

    for (size_t i = 0; i < s.n && i < 9; i++)
        id = s.p[i] >= '0' && s.p[i] <= '9' && id >= 0 ? id * 10 + s.p[i] - '0' : -1;
    return s.n ? id : ch_json_int(v, 0);
}

static int read_wish(chela_call *call, const struct ch_json *v, struct wish *w) {
    *w = (struct wish){.id = read_id(ch_json_get(v, "id"))};
    for (size_t i = 0; text_names[i] && !w->has_text; i++) {
        const struct ch_json *text = ch_json_get(v, text_names[i]);
        w->has_text = ch_json_is(text, CH_JSON_STRING);
        w->text = ch_sv_trim(ch_json_str(text));
    }
    if (ch_json_is(v, CH_JSON_STRING)) {
        w->has_text = true;
        w->text = ch_sv_trim(ch_json_str(v));
    }
    if (w->has_text && w->text.n == 0)
        return ch_result_invalid(call, "An entry has no text.");
    const struct ch_json *status = ch_json_get(v, "status");
    return status && status->type != CH_JSON_NULL ? read_status(call, status, w) : 0;
}

static int read_wishes(chela_call *call, struct order *o) {
    const struct ch_json *list = ch_json_get(call->args, ch_arg_name(call, list_names)), *inner;

    if (ch_json_is(list, CH_JSON_STRING) && /* some models send the array inside a string */
        ch_json_parse(&call->arena, ch_json_str(list), CH_JSON_STRICT, &inner, NULL, NULL) == 0)
        list = inner;
    if (!ch_json_is(list, CH_JSON_ARRAY))
        return list && list->type != CH_JSON_NULL
                   ? ch_result_invalid(call, "todos must be an array.")
                   : 0;
    if (list->n > CH_LIMIT_STEPS) {
        chela_result_error(call, "invalid_arguments", "A list has at most %d entries.",
                           CH_LIMIT_STEPS);
        return CHELA_EINVAL;
    }
    for (CH_JSON_EACH(v, list)) {
        int rc = read_wish(call, v, &o->wishes[o->n++]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int todo_read_action(chela_call *call, struct order *o, bool has_list) {
    const char *action = has_list ? "replace" : "list";

    int rc = chela_arg_string_opt(call, "action", &action);
    if (rc < 0)
        return rc;
    if (strcmp(action, "list") == 0)
        o->action = LIST;
    else if (strcmp(action, "replace") == 0 || strcmp(action, "write") == 0)
        o->action = REPLACE;
    else if (strcmp(action, "update") == 0)
        o->action = UPDATE;
    else
        return ch_result_invalid(call, "The argument \"action\" must be replace, update or list.");
    if (o->action != LIST && !has_list)
        return ch_result_invalid(call, "The argument \"todos\" is missing: an array of entries.");
    return 0;
}

static int read_order(chela_call *call, struct order *o) {
    const struct ch_json *list = ch_json_get(call->args, ch_arg_name(call, list_names));
    bool has_list = list && list->type != CH_JSON_NULL;

    int rc = todo_read_action(call, o, has_list);
    if (rc == 0)
        rc = read_wishes(call, o);
    for (size_t i = 0; i < o->n && rc == 0; i++) {
        const struct wish *w = &o->wishes[i];
        if (o->action == REPLACE && !w->has_text)
            rc = ch_result_invalid(call, "Every entry needs its text in content.");
        if (o->action == UPDATE && w->id <= 0 && !w->has_text)
            rc = ch_result_invalid(call, "An entry to update needs the id that the list shows.");
    }
    return rc;
}

int ch_todo_check(chela_call *call, void *user) {
    CH_AUTOFREE struct order *o = ch_alloc(sizeof(*o));

    (void)user;
    return read_order(call, o);
}

/* --- the list ------------------------------------------------------------ */

static char *make_text(struct ch_sv text) {
    struct ch_sv cut = ch_utf8_cut(text, CH_LIMIT_STEP_TEXT);
    CH_BUF_AUTO clean = {0};

    ch_text_clean(&clean, cut);
    for (size_t i = 0; i < clean.n; i++)
        if (clean.p[i] == '\n' || clean.p[i] == '\r')
            clean.p[i] = ' ';
    return clean.n ? ch_buf_take(&clean) : ch_strdup("");
}

static void todo_append(struct todo *t, const struct wish *w) {
    t->items[t->n++] = (struct item){
        .id = ++t->last_id,
        .text = make_text(w->text),
        .status = w->status,
    };
}

static void todo_replace(struct todo *t, const struct order *o) {
    todo_clear(t);
    t->last_id = 0;
    for (size_t i = 0; i < o->n; i++)
        todo_append(t, &o->wishes[i]);
}

static struct item *todo_find(struct todo *t, int64_t id) {
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].id == id)
            return &t->items[i];
    return NULL;
}

static int check_update(chela_call *call, struct todo *t, const struct order *o) {
    size_t more = 0;

    for (size_t i = 0; i < o->n; i++) {
        if (o->wishes[i].id > 0 && !todo_find(t, o->wishes[i].id)) {
            chela_result_error(call, "not_found", "There is no entry %lld; the list has %zu.",
                               (long long)o->wishes[i].id, t->n);
            return CHELA_EINVAL;
        }
        more += o->wishes[i].id <= 0;
    }
    if (t->n + more > CH_LIMIT_STEPS)
        return ch_result_invalid(call, "The list is full; replace it by a shorter one.");
    return 0;
}

static int update(chela_call *call, struct todo *t, const struct order *o) {
    int rc = check_update(call, t, o);

    for (size_t i = 0; i < o->n && rc == 0; i++) {
        const struct wish *w = &o->wishes[i];
        struct item *item = w->id > 0 ? todo_find(t, w->id) : NULL;
        if (!item) {
            todo_append(t, w);
            continue;
        }
        if (w->has_text) {
            ch_free(item->text);
            item->text = make_text(w->text);
        }
        if (w->has_status)
            item->status = w->status;
    }
    return rc;
}

static void todo_show(chela_call *call, const struct todo *t) {
    CH_BUF_AUTO text = {0}, json = {0};
    struct ch_jw w = ch_jw(&json);
    size_t done = 0;

    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "todos", '[');
    for (size_t i = 0; i < t->n; i++) {
        const struct item *item = &t->items[i];
        ch_buf_addf(&text, "%s %lld. %s\n", statuses[item->status].mark, (long long)item->id,
                    item->text);
        done += item->status >= COMPLETED;
        ch_jw_begin(&w, '{');
        ch_jw_kint(&w, "id", item->id);
        ch_jw_kcstr(&w, "content", item->text);
        ch_jw_kcstr(&w, "status", statuses[item->status].name);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    if (t->n)
        chela_result_printf(call, "%zu of %zu done\n%s", done, t->n, ch_buf_str(&text));
    else
        chela_result_printf(call, "The list is empty.");
    chela_result_details(call, ch_buf_str(&json));
}

int ch_todo_run(chela_call *call, void *user) {
    CH_AUTOFREE struct order *o = ch_alloc(sizeof(*o));
    struct todo *t = ch_session_state_get(ch_call_state(call), &kind);

    (void)user;
    int rc = read_order(call, o);
    if (rc < 0)
        return rc;
    if (o->action == REPLACE)
        todo_replace(t, o);
    else if (o->action == UPDATE)
        rc = update(call, t, o);
    if (rc == 0)
        todo_show(call, t);
    return rc;
}
