/* acp_update.c -- see acp_update.h. */
#include "acp/acp_update.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "json/writer.h"

/* --- calls --------------------------------------------------------------------------- */

static const struct {
    const char *tool, *kind, *verb;
} kinds[] = {
    {"read", "read", "Read"},
    {"ls", "read", "List"},
    {"find", "search", "Find"},
    {"grep", "search", "Search"},
    {"write", "edit", "Write"},
    {"edit", "edit", "Edit"},
    {"apply_patch", "edit", "Patch"},
    {"exec", "execute", ""},
    {"process", "execute", "Process"},
    {"web_fetch", "fetch", "Fetch"},
    {"web_search", "search", "Search the web for"},
    {"memory_search", "search", "Search memory for"},
    {"memory_get", "read", "Recall"},
    {"http_request", "fetch", "Request"},
};

/* Names of arguments that best describe a call. */
static const char *const subjects[] = {"command", "file_path", "path", "url",   "pattern",
                                       "query",   "goal",      "task", "action"};

enum { TITLE_MAX = 160 };

static void write_title(struct ch_jw *w, struct ch_sv name, const char *verb,
                        const struct ch_json *args) {
    CH_BUF_AUTO title = {0};
    struct ch_sv subject = {0};
    for (size_t i = 0; i < CH_LEN(subjects) && !subject.n; i++)
        subject = ch_json_get_str(args, subjects[i]);
    if (!verb)
        ch_buf_addf(&title, "%.*s%s", CH_SV_FMT(name), subject.n ? ": " : "");
    else if (*verb)
        ch_buf_addf(&title, "%s%s", verb, subject.n ? " " : "");
    for (size_t i = 0; i < subject.n && i < TITLE_MAX; i++)
        ch_buf_addc(&title, (unsigned char)subject.p[i] < ' ' ? ' ' : subject.p[i]);
    if (subject.n > TITLE_MAX)
        ch_buf_add_str(&title, " ...");
    if (title.n == 0)
        ch_buf_add_sv(&title, name);
    ch_jw_kstr(w, "title", ch_buf_sv(&title));
}

static void add_path(struct ch_buf *out, const char *cwd, struct ch_sv path) {
    if (cwd && (path.n == 0 || path.p[0] != '/'))
        ch_buf_addf(out, "%s/", cwd);
    if (ch_sv_starts(path, "./"))
        path = ch_sv(path.p + 2, path.n - 2);
    ch_buf_add_sv(out, path);
}

static struct ch_sv path_of(const struct ch_json *args) {
    struct ch_sv path = ch_json_get_str(args, "file_path");
    return path.n ? path : ch_json_get_str(args, "path");
}

static void write_locations(struct ch_jw *w, const struct ch_acp_shown *shown,
                            const struct ch_json *args) {
    CH_BUF_AUTO path = {0};
    if (!path_of(args).n)
        return;
    add_path(&path, shown->cwd, path_of(args));
    ch_jw_kbegin(w, "locations", '[');
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "path", ch_buf_sv(&path));
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
}

void ch_acp_update_text(struct ch_jw *w, struct ch_sv text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "content");
    ch_jw_kbegin(w, "content", '{');
    ch_jw_kcstr(w, "type", "text");
    ch_jw_kstr(w, "text", text);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static void write_diff(struct ch_jw *w, struct ch_sv path, const struct ch_sv *before,
                       struct ch_sv after) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "diff");
    ch_jw_kstr(w, "path", path);
    if (before)
        ch_jw_kstr(w, "oldText", *before);
    ch_jw_kstr(w, "newText", after);
    ch_jw_end(w, '}');
}

/* The present content of a small regular file below the session's directory. */
static bool read_before(const struct ch_acp_shown *shown, const char *path, struct ch_buf *out) {
    struct stat st;
    size_t n = shown->cwd ? strlen(shown->cwd) : 0;
    if (!n || strncmp(path, shown->cwd, n) != 0 || path[n] != '/' || strstr(path, "/../"))
        return false;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= (off_t)CH_LIMIT_ACP_DIFF;
    char *p = ok ? ch_buf_reserve(out, (size_t)st.st_size + 1) : NULL;
    ssize_t got = p ? read(fd, p, (size_t)st.st_size) : -1;
    if (got >= 0)
        ch_buf_commit(out, (size_t)got);
    close(fd);
    return got >= 0;
}

/* The change that a call of `write` or `edit` asks for. */
static void write_changes(struct ch_jw *w, const struct ch_acp_shown *shown, struct ch_sv name,
                          const struct ch_json *args) {
    CH_BUF_AUTO path = {0}, old = {0};
    add_path(&path, shown->cwd, path_of(args));
    if (ch_sv_is(name, "write")) {
        struct ch_sv before = {0};
        bool had = read_before(shown, ch_buf_str(&path), &old);
        before = ch_buf_sv(&old);
        write_diff(w, ch_buf_sv(&path), had ? &before : NULL, ch_json_get_str(args, "content"));
    }
    for (CH_JSON_EACH(e, ch_json_get(args, "edits"))) {
        struct ch_sv before = ch_json_get_str(e, "old_text");
        write_diff(w, ch_buf_sv(&path), &before, ch_json_get_str(e, "new_text"));
    }
}

static bool is_change(struct ch_sv name, const struct ch_json *args) {
    return path_of(args).n && (ch_sv_is(name, "write") || ch_sv_is(name, "edit"));
}

void ch_acp_update_call(struct ch_jw *w, const struct ch_acp_shown *shown, struct ch_sv id,
                        struct ch_sv name, struct ch_sv arguments, struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *args = NULL;
    const char *kind = "other", *verb = NULL;

    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_is(name, kinds[i].tool)) {
            kind = kinds[i].kind;
            verb = kinds[i].verb;
        }
    if (ch_json_parse(&a, arguments, CH_JSON_REPLACE, &args, NULL, NULL) < 0)
        args = NULL;
    ch_jw_kstr(w, "toolCallId", id);
    write_title(w, name, verb, args);
    ch_jw_kcstr(w, "kind", kind);
    write_locations(w, shown, args);
    if (args) {
        ch_jw_kvalue(w, "rawInput", args);
    }
    bool change = is_change(name, args);
    if (!change && !text.n)
        return;
    ch_jw_kbegin(w, "content", '[');
    if (change)
        write_changes(w, shown, name, args);
    else
        ch_acp_update_text(w, text);
    ch_jw_end(w, ']');
}

/* --- updates ------------------------------------------------------------------------- */

struct update { /* one object being written */
    struct ch_buf buf;
    struct ch_jw w;
};

static void update_begin(struct update *u, const char *kind) {
    u->buf = (struct ch_buf){0};
    u->w = ch_jw(&u->buf);
    ch_jw_begin(&u->w, '{');
    ch_jw_kcstr(&u->w, "sessionUpdate", kind);
}

static void update_send(struct update *u, ch_acp_update_fn *fn, void *user) {
    ch_jw_end(&u->w, '}');
    fn(ch_buf_sv(&u->buf), user);
    ch_buf_release(&u->buf);
}

static void send_chunk(const char *kind, struct ch_sv text, const char *message,
                       ch_acp_update_fn *fn, void *user) {
    struct update u;
    update_begin(&u, kind);
    ch_jw_kbegin(&u.w, "content", '{');
    ch_jw_kcstr(&u.w, "type", "text");
    ch_jw_kstr(&u.w, "text", text);
    ch_jw_end(&u.w, '}');
    if (message)
        ch_jw_kcstr(&u.w, "messageId", message);
    update_send(&u, fn, user);
}

static struct ch_sv sv(struct chela_str s) {
    return ch_sv(s.p, s.n);
}

static void send_call(struct ch_acp_shown *shown, struct ch_sv id, struct ch_sv name,
                      struct ch_sv arguments, ch_acp_update_fn *fn, void *user) {
    struct update u;
    update_begin(&u, "tool_call");
    ch_acp_update_call(&u.w, shown, id, name, arguments, ch_sv(NULL, 0));
    ch_jw_kcstr(&u.w, "status", "pending");
    update_send(&u, fn, user);
}

static void send_status(struct ch_sv id, const char *status, ch_acp_update_fn *fn, void *user) {
    struct update u;
    update_begin(&u, "tool_call_update");
    ch_jw_kstr(&u.w, "toolCallId", id);
    ch_jw_kcstr(&u.w, "status", status);
    update_send(&u, fn, user);
}

/* changes: the diff that the call was announced with stays its content. */
static void send_result(struct ch_sv id, bool failed, bool changes, struct ch_sv content,
                        ch_acp_update_fn *fn, void *user) {
    struct update u;
    update_begin(&u, "tool_call_update");
    ch_jw_kstr(&u.w, "toolCallId", id);
    ch_jw_kcstr(&u.w, "status", failed ? "failed" : "completed");
    if (failed || !changes) {
        ch_jw_kbegin(&u.w, "content", '[');
        ch_acp_update_text(&u.w, content);
        ch_jw_end(&u.w, ']');
    }
    ch_jw_kbegin(&u.w, "rawOutput", '{');
    ch_jw_kstr(&u.w, "content", content);
    ch_jw_end(&u.w, '}');
    update_send(&u, fn, user);
}

/* --- output of running calls ------------------------------------------------------------ */

static struct ch_acp_call *find_call(struct ch_acp_shown *shown, struct ch_sv id) {
    struct ch_acp_call *c = shown->calls;
    while (c && !ch_sv_is(id, c->id))
        c = c->next;
    return c;
}

static void add_call(struct ch_acp_shown *shown, struct ch_sv id) {
    struct ch_acp_call *c = ch_alloc(sizeof(*c));
    *c = (struct ch_acp_call){.next = shown->calls, .id = ch_strndup(id.p, id.n)};
    shown->calls = c;
}

void ch_acp_shown_release(struct ch_acp_shown *shown) {
    for (struct ch_acp_call *c; (c = shown->calls);) {
        shown->calls = c->next;
        ch_free(c->id);
        ch_buf_release(&c->output);
        ch_free(c);
    }
    shown->turn = 0;
}

/* Show one more line of a running call; the newest lines are kept. */
static void send_progress(struct ch_acp_shown *shown, struct ch_sv id, struct ch_sv line,
                          ch_acp_update_fn *fn, void *user) {
    struct ch_acp_call *c = find_call(shown, id);
    struct update u;
    if (!c)
        return;
    ch_buf_add_sv(&c->output, line);
    if (line.n == 0 || line.p[line.n - 1] != '\n')
        ch_buf_addc(&c->output, '\n');
    if (c->output.n > CH_LIMIT_ACP_OUTPUT) {
        size_t cut = c->output.n - CH_LIMIT_ACP_OUTPUT;
        const char *nl = memchr(c->output.p + cut, '\n', c->output.n - cut);
        ch_buf_consume(&c->output, nl ? (size_t)(nl + 1 - c->output.p) : cut);
    }
    update_begin(&u, "tool_call_update");
    ch_jw_kstr(&u.w, "toolCallId", id);
    ch_jw_kcstr(&u.w, "status", "in_progress");
    ch_jw_kbegin(&u.w, "content", '[');
    ch_acp_update_text(&u.w, ch_buf_sv(&c->output));
    ch_jw_end(&u.w, ']');
    update_send(&u, fn, user);
}

/* --- events --------------------------------------------------------------------------- */

/* A call that the vendor's service made and answered itself. */
static void send_server_tool(struct ch_acp_shown *shown, const struct chela_event *ev,
                             ch_acp_update_fn *fn, void *user) {
    struct update u;
    update_begin(&u, "tool_call");
    ch_acp_update_call(&u.w, shown, sv(ev->server.id), sv(ev->server.name),
                       sv(ev->server.arguments), sv(ev->server.result));
    ch_jw_kcstr(&u.w, "status", "completed");
    update_send(&u, fn, user);
}

/* Sends a picture or sound that the model made: small ones inline, others as a link. */
static void send_media(struct ch_acp_shown *shown, const struct chela_event *ev,
                       ch_acp_update_fn *fn, void *user) {
    struct ch_sv type = sv(ev->made.media_type), data = sv(ev->made.data);
    bool image = ch_sv_starts(type, "image/"), audio = ch_sv_starts(type, "audio/");
    CH_BUF_AUTO uri = {0};
    struct update u;

    if (ev->made.path.n) {
        ch_buf_add_str(&uri, "file://");
        add_path(&uri, shown->cwd, sv(ev->made.path));
    } else {
        ch_buf_add_sv(&uri, sv(ev->made.url));
    }
    bool whole = (image || audio) && data.n && data.n <= CH_LIMIT_ACP_DIFF;
    if (!whole && !uri.n)
        return;
    update_begin(&u, "agent_message_chunk");
    ch_jw_kbegin(&u.w, "content", '{');
    ch_jw_kcstr(&u.w, "type", !whole ? "resource_link" : image ? "image" : "audio");
    ch_jw_kstr(&u.w, "mimeType", type);
    if (whole)
        ch_jw_kstr(&u.w, "data", data);
    if (!whole)
        ch_jw_kstr(&u.w, "name", ev->made.path.n ? sv(ev->made.path) : type);
    if (uri.n && (image || !whole))
        ch_jw_kstr(&u.w, "uri", ch_buf_sv(&uri));
    ch_jw_end(&u.w, '}');
    update_send(&u, fn, user);
}

static void send_plan(struct ch_sv steps, ch_acp_update_fn *fn, void *user) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *list = NULL;
    struct update u;
    ch_json_parse(&a, steps, CH_JSON_REPLACE, &list, NULL, NULL);
    update_begin(&u, "plan");
    ch_jw_kbegin(&u.w, "entries", '[');
    for (CH_JSON_EACH(step, list)) {
        struct ch_sv status = ch_json_get_str(step, "status");
        ch_jw_begin(&u.w, '{');
        ch_jw_kstr(&u.w, "content", ch_json_get_str(step, "description"));
        ch_jw_kcstr(&u.w, "priority", "medium");
        ch_jw_kcstr(&u.w, "status",
                    ch_sv_is(status, "running")                              ? "in_progress"
                    : ch_sv_is(status, "done") || ch_sv_is(status, "failed") ? "completed"
                                                                             : "pending");
        ch_jw_end(&u.w, '}');
    }
    ch_jw_end(&u.w, ']');
    update_send(&u, fn, user);
}

static void send_usage(const struct ch_acp_shown *shown, const struct chela_usage *usage,
                       ch_acp_update_fn *fn, void *user) {
    struct update u;
    if (!shown->window)
        return;
    update_begin(&u, "usage_update");
    ch_jw_kint(&u.w, "used", usage->input + usage->output);
    ch_jw_kint(&u.w, "size", (int64_t)shown->window);
    update_send(&u, fn, user);
}

static void send_compaction(const struct chela_event *ev, ch_acp_update_fn *fn, void *user) {
    struct update u;
    CH_BUF_AUTO id = {0};
    ch_buf_addf(&id, "%s-%llu", ev->run, (unsigned long long)ev->seq);
    update_begin(&u, "compaction_update");
    ch_jw_kstr(&u.w, "compactionId", ch_buf_sv(&id));
    ch_jw_kcstr(&u.w, "status", "completed");
    update_send(&u, fn, user);
}

static void send_notice(const char *severity, struct ch_sv title, ch_acp_update_fn *fn,
                        void *user) {
    struct update u;
    update_begin(&u, "notice");
    ch_jw_kcstr(&u.w, "severity", severity);
    ch_jw_kstr(&u.w, "title", title);
    update_send(&u, fn, user);
}

/* How the run ended is a message of its own, below the text so far. */
static void send_ending(const struct chela_event *ev, ch_acp_update_fn *fn, void *user) {
    CH_BUF_AUTO message = {0}, text = {0};
    if (ev->end.ending.n == 0)
        return;
    ch_buf_addf(&message, "%s-end", ev->run);
    ch_buf_addf(&text, "%s%.*s", ev->end.text.n ? "\n\n" : "", CH_SV_FMT(sv(ev->end.ending)));
    send_chunk("agent_message_chunk", ch_buf_sv(&text), ch_buf_str(&message), fn, user);
}

/* An agent that was called: its calls are lines of the call that started it. */
static void send_child(struct ch_acp_shown *shown, const struct chela_event *ev,
                       ch_acp_update_fn *fn, void *user) {
    const struct chela_event *inner = ev->child.event;
    CH_BUF_AUTO line = {0};
    if (inner->type == CHELA_EV_TOOL_CALL)
        ch_buf_addf(&line, "%s: %.*s %.*s", ev->child.agent, CH_SV_FMT(inner->call.name),
                    (int)CH_MIN(inner->call.arguments.n, (size_t)TITLE_MAX),
                    inner->call.arguments.p);
    if (line.n > 0)
        send_progress(shown, ch_sv_str(ev->child.call), ch_buf_sv(&line), fn, user);
}

void ch_acp_update_event(struct ch_acp_shown *shown, const struct chela_event *ev,
                         ch_acp_update_fn *fn, void *user) {
    CH_BUF_AUTO message = {0};
    CH_BUF_AUTO text = {0};

    switch (ev->type) {
    case CHELA_EV_TURN_START:
        shown->turn = ev->turn.turn;
        break;
    case CHELA_EV_TEXT_DELTA:
    case CHELA_EV_REASONING_DELTA:
        ch_buf_addf(&message, "%s-%u%s", ev->run, shown->turn,
                    ev->type == CHELA_EV_TEXT_DELTA ? "" : "-thought");
        send_chunk(ev->type == CHELA_EV_TEXT_DELTA ? "agent_message_chunk" : "agent_thought_chunk",
                   sv(ev->delta.text), ch_buf_str(&message), fn, user);
        break;
    case CHELA_EV_TOOL_CALL:
        if (!find_call(shown, sv(ev->call.id)))
            add_call(shown, sv(ev->call.id));
        send_call(shown, sv(ev->call.id), sv(ev->call.name), sv(ev->call.arguments), fn, user);
        break;
    case CHELA_EV_TOOL_START:
        send_status(sv(ev->call.id), "in_progress", fn, user);
        break;
    case CHELA_EV_TOOL_PROGRESS:
        send_progress(shown, sv(ev->note.id), sv(ev->note.text), fn, user);
        break;
    case CHELA_EV_TOOL_RESULT:
        send_result(sv(ev->result.id), ev->result.is_error,
                    ch_sv_is(sv(ev->result.name), "write") || ch_sv_is(sv(ev->result.name), "edit"),
                    sv(ev->result.content), fn, user);
        break;
    case CHELA_EV_SERVER_TOOL:
        send_server_tool(shown, ev, fn, user);
        break;
    case CHELA_EV_MEDIA:
        send_media(shown, ev, fn, user);
        break;
    case CHELA_EV_PLAN:
        send_plan(sv(ev->plan.steps), fn, user);
        break;
    case CHELA_EV_TURN_END:
        send_usage(shown, &ev->turn.usage, fn, user);
        break;
    case CHELA_EV_COMPACTION:
        if (shown->compactions)
            send_compaction(ev, fn, user);
        break;
    case CHELA_EV_RETRY:
        ch_buf_addf(&text, "The model call failed and is repeated: %.*s",
                    CH_SV_FMT(ev->retry.reason));
        break;
    case CHELA_EV_FALLBACK:
        ch_buf_addf(&text, "%s does not answer; %s takes over", ev->fallback.from, ev->fallback.to);
        break;
    case CHELA_EV_HANDOFF:
        ch_buf_addf(&text, "%s takes the conversation over", ev->fallback.to);
        break;
    case CHELA_EV_WARNING:
    case CHELA_EV_SYSTEM_EVENT:
        ch_buf_add_sv(&text, sv(ev->note.text));
        break;
    case CHELA_EV_CHILD:
        send_child(shown, ev, fn, user);
        break;
    case CHELA_EV_RUN_END:
        if (ev->end.status != CHELA_STATUS_CANCELLED)
            send_ending(ev, fn, user);
        break;
    default: /* states and decisions have no notification */
        break;
    }
    if (text.n > 0 && shown->notices)
        send_notice(ev->type == CHELA_EV_HANDOFF || ev->type == CHELA_EV_SYSTEM_EVENT ? "info"
                                                                                      : "warning",
                    ch_buf_sv(&text), fn, user);
}

/* --- stored messages -------------------------------------------------------------------- */

/* A result with pictures is a list of blocks; its text is the first. */
static struct ch_sv result_text(const struct ch_json *content) {
    return ch_json_is(content, CH_JSON_ARRAY) ? ch_json_get_str(ch_json_at(content, 0), "text")
                                              : ch_json_str(content);
}

static void send_block(struct ch_acp_shown *shown, bool user_wrote, const struct ch_json *b,
                       ch_acp_update_fn *fn, void *user) {
    struct ch_sv type = ch_json_get_str(b, "type"), text = ch_json_get_str(b, "text");
    CH_BUF_AUTO json = {0};

    if (ch_sv_is(type, "text") || ch_sv_is(type, "refusal")) {
        send_chunk(user_wrote ? "user_message_chunk" : "agent_message_chunk", text, NULL, fn, user);
    } else if (ch_sv_is(type, "reasoning")) {
        if (text.n > 0)
            send_chunk("agent_thought_chunk", text, NULL, fn, user);
    } else if (ch_sv_is(type, "tool_call")) {
        struct ch_jw w = ch_jw(&json);
        ch_jw_value(&w, ch_json_get(b, "arguments"));
        send_call(shown, ch_json_get_str(b, "id"), ch_json_get_str(b, "name"), ch_buf_sv(&json), fn,
                  user);
    } else if (ch_sv_is(type, "tool_result")) {
        struct ch_sv name = ch_json_get_str(b, "name");
        send_result(ch_json_get_str(b, "id"),
                    ch_json_bool(ch_json_get(b, "is_error"), false) ||
                        ch_json_bool(ch_json_get(b, "denied"), false),
                    ch_sv_is(name, "write") || ch_sv_is(name, "edit"),
                    result_text(ch_json_get(b, "content")), fn, user);
    } else if (ch_sv_is(type, "image") || ch_sv_is(type, "document") || ch_sv_is(type, "audio")) {
        ch_buf_addf(&json, "[%.*s]", CH_SV_FMT(type));
        send_chunk(user_wrote ? "user_message_chunk" : "agent_message_chunk", ch_buf_sv(&json),
                   NULL, fn, user);
    }
}

void ch_acp_update_message(struct ch_acp_shown *shown, const struct ch_json *message,
                           ch_acp_update_fn *fn, void *user) {
    struct ch_sv role = ch_json_get_str(message, "role");
    bool user_wrote = !ch_sv_is(role, "assistant") && !ch_sv_is(role, "tool");
    for (CH_JSON_EACH(b, ch_json_get(message, "content")))
        send_block(shown, user_wrote, b, fn, user);
}
