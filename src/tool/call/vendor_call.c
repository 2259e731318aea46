/* vendor_call.c -- see vendor_call.h. */
#include "tool/call/vendor_call.h"

#include "base/wild.h"
#include "json/json.h"
#include "json/writer.h"

/* The root of the vendor's memory, and the folder of notes here (tool/memory/notes.h). */
#define MEMORIES "/memories"
#define NOTES "memory"

/* Writes the arguments of the tool here. Returns its name. NULL: the call has not the arguments of
 * the vendor's tool. */
typedef const char *vendor_translate_fn(const struct ch_json *args, struct ch_jw *w);

/* --- paths ---------------------------------------------------------------- */

static void write_path(struct ch_jw *w, struct ch_sv path, bool memory) {
    static const struct ch_sv root = CH_SV(MEMORIES);
    CH_BUF_AUTO text = {0};
    if (memory && ch_sv_starts(path, MEMORIES) && (path.n == root.n || path.p[root.n] == '/'))
        ch_buf_addf(&text, NOTES "%.*s", (int)(path.n - root.n), path.p + root.n);
    else
        ch_buf_add_sv(&text, path);
    ch_jw_kstr(w, "file_path", ch_buf_sv(&text));
}

static bool is_text(const struct ch_json *args, const char *key) {
    return ch_json_is(ch_json_get(args, key), CH_JSON_STRING);
}

/* --- the editor and the memory of Anthropic ------------------------------ */

/* A directory is named by its end, or is the root of the memory. */
static bool names_directory(struct ch_sv path, bool memory) {
    return path.n == 0 || path.p[path.n - 1] == '/' || ch_sv_is(path, ".") ||
           (memory && ch_sv_is(path, MEMORIES));
}

static const char *view(const struct ch_json *args, bool memory, struct ch_jw *w) {
    struct ch_sv path = ch_json_get_str(args, "path");
    const struct ch_json *range = ch_json_get(args, "view_range");
    bool directory = names_directory(path, memory);
    write_path(w, path, memory);
    if (directory || !ch_json_is(range, CH_JSON_ARRAY) || range->n != 2)
        return directory ? "ls" : "read";
    int64_t line[2] = {1, -1};
    size_t i = 0;
    for (CH_JSON_EACH(v, range))
        line[i++] = ch_json_int(v, -1);
    ch_jw_kint(w, "offset", CH_MAX(line[0], 1));
    if (line[1] >= line[0])
        ch_jw_kint(w, "limit", line[1] - CH_MAX(line[0], 1) + 1);
    return "read";
}

static const char *replace(const struct ch_json *args, bool memory, struct ch_jw *w) {
    if (!is_text(args, "old_str"))
        return NULL;
    write_path(w, ch_json_get_str(args, "path"), memory);
    ch_jw_kbegin(w, "edits", '[');
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "old_text", ch_json_get_str(args, "old_str"));
    ch_jw_kstr(w, "new_text", is_text(args, "new_str") ? ch_json_get_str(args, "new_str")
                                                       : CH_SV(""));
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
    return "edit";
}

static const char *insert(const struct ch_json *args, bool memory, struct ch_jw *w) {
    const char *key = is_text(args, "insert_text") ? "insert_text" : "new_str";
    const struct ch_json *line = ch_json_get(args, "insert_line");
    if (!is_text(args, key) || !ch_json_is(line, CH_JSON_NUMBER))
        return NULL;
    write_path(w, ch_json_get_str(args, "path"), memory);
    ch_jw_kvalue(w, "insert_line", line);
    ch_jw_kstr(w, "new_text", ch_json_get_str(args, key));
    return "edit";
}

static const char *create(const struct ch_json *args, bool memory, struct ch_jw *w) {
    if (!is_text(args, "file_text"))
        return NULL;
    write_path(w, ch_json_get_str(args, "path"), memory);
    ch_jw_kstr(w, "content", ch_json_get_str(args, "file_text"));
    return "write";
}

static const char *file_command(const struct ch_json *args, bool memory, struct ch_jw *w) {
    struct ch_sv command = ch_json_get_str(args, "command");
    if (!is_text(args, "path"))
        return NULL;
    return ch_sv_is(command, "view")          ? view(args, memory, w)
           : ch_sv_is(command, "str_replace") ? replace(args, memory, w)
           : ch_sv_is(command, "insert")      ? insert(args, memory, w)
           : ch_sv_is(command, "create")      ? create(args, memory, w)
                                              : NULL;
}

static const char *editor(const struct ch_json *args, struct ch_jw *w) {
    return file_command(args, false, w);
}

/* --- patches -------------------------------------------------------------- */

/* A path in a patch ends with its line. */
static bool add_path(struct ch_buf *patch, const char *before, struct ch_sv path, bool memory) {
    size_t root = memory && ch_sv_starts(path, MEMORIES "/") ? strlen(MEMORIES) : 0;
    if (!path.n || memchr(path.p, '\n', path.n))
        return false;
    ch_buf_addf(patch, "%s%s%.*s\n", before, root ? NOTES : "", (int)(path.n - root),
                path.p + root);
    return true;
}

static const char *write_patch(struct ch_buf *patch, struct ch_jw *w) {
    if (patch->n && patch->p[patch->n - 1] != '\n')
        ch_buf_addc(patch, '\n');
    ch_buf_add_str(patch, "*** End Patch\n");
    ch_jw_kstr(w, "input", ch_buf_sv(patch));
    return "apply_patch";
}

static const char *memory(const struct ch_json *args, struct ch_jw *w) {
    struct ch_sv command = ch_json_get_str(args, "command");
    CH_BUF_AUTO patch = {0};
    ch_buf_add_str(&patch, "*** Begin Patch\n");
    if (ch_sv_is(command, "delete"))
        return add_path(&patch, "*** Delete File: ", ch_json_get_str(args, "path"), true)
                   ? write_patch(&patch, w)
                   : NULL;
    if (!ch_sv_is(command, "rename"))
        return file_command(args, true, w);
    return add_path(&patch, "*** Update File: ", ch_json_get_str(args, "old_path"), true) &&
                   add_path(&patch, "*** Move to: ", ch_json_get_str(args, "new_path"), true)
               ? write_patch(&patch, w)
               : NULL;
}

static const char *patch(const struct ch_json *operation, struct ch_jw *w) {
    static const struct {
        const char *type, *section;
    } kinds[] = {{"create_file", "*** Add File: "},
                 {"update_file", "*** Update File: "},
                 {"delete_file", "*** Delete File: "}};
    CH_BUF_AUTO text = {0};
    ch_buf_add_str(&text, "*** Begin Patch\n");
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_is(ch_json_get_str(operation, "type"), kinds[i].type)) {
            if (!add_path(&text, kinds[i].section, ch_json_get_str(operation, "path"), false))
                return NULL;
            ch_buf_add_sv(&text, ch_json_get_str(operation, "diff"));
            return write_patch(&text, w);
        }
    return NULL;
}

/* --- shells --------------------------------------------------------------- */

static const char *bash(const struct ch_json *args, struct ch_jw *w) {
    if (!is_text(args, "command") && !ch_json_bool(ch_json_get(args, "restart"), false))
        return NULL;
    /* Each command has a shell of its own, so there is none to restart. */
    ch_jw_kstr(w, "command", is_text(args, "command") ? ch_json_get_str(args, "command")
                                                      : CH_SV(":"));
    return "exec";
}

static void write_timeout(const struct ch_json *action, struct ch_jw *w) {
    int64_t ms = ch_json_int(ch_json_get(action, "timeout_ms"), 0);
    if (ms > 0)
        ch_jw_kdouble(w, "timeout", (double)ms / 1000);
}

static const char *shell(const struct ch_json *action, struct ch_jw *w) {
    CH_BUF_AUTO script = {0};
    for (CH_JSON_EACH(command, ch_json_get(action, "commands"))) {
        if (script.n)
            ch_buf_addc(&script, '\n');
        ch_buf_add_sv(&script, ch_json_str(command));
    }
    if (!script.n)
        return NULL;
    ch_jw_kstr(w, "command", ch_buf_sv(&script));
    write_timeout(action, w);
    return "exec";
}

static const char *local_shell(const struct ch_json *action, struct ch_jw *w) {
    const struct ch_json *argv = ch_json_get(action, "command"), *env = ch_json_get(action, "env");
    if (!ch_json_is(argv, CH_JSON_ARRAY))
        return NULL;
    ch_jw_kvalue(w, "argv", argv);
    if (ch_json_get_str(action, "working_directory").n)
        ch_jw_kstr(w, "cwd", ch_json_get_str(action, "working_directory"));
    if (ch_json_is(env, CH_JSON_OBJECT) && env->n)
        ch_jw_kvalue(w, "env", env);
    write_timeout(action, w);
    return "exec";
}

/* --- the tools ------------------------------------------------------------ */

static const struct {
    const char *type;     /* in a request */
    const char *name;     /* of the call */
    const char *replaces; /* the tool that does the same work, and gets what cannot be translated */
    vendor_translate_fn *translate;
} tools[] = {
    {"bash_*", "bash", "exec", bash},
    {"text_editor_*", "str_replace_based_edit_tool", "edit", editor},
    {"memory_*", "memory", "memory_write", memory},
    {"shell", "shell", "exec", shell},
    {"local_shell", "local_shell", "exec", local_shell},
    {"apply_patch", "apply_patch", "apply_patch", patch},
};

/* The only argument of a custom tool's call is its text, which no other tool here has alone. */
static bool is_custom(const struct ch_json *args) {
    return args->n == 1 && is_text(args, "input");
}

bool ch_vendor_call(const struct ch_block *block, struct ch_arena *arena, struct ch_block *out) {
    const struct ch_json *args = NULL;
    CH_BUF_AUTO text = {0};
    if (block->runner != CH_RUN_RUNTIME || block->flags & (CH_F_CUT | CH_F_INVALID) ||
        ch_json_parse(arena, block->text, CH_JSON_STRICT, &args, NULL, NULL) < 0 ||
        !ch_json_is(args, CH_JSON_OBJECT))
        return false;
    *out = *block;
    for (size_t i = 0; i < CH_LEN(tools) && !is_custom(args); i++) {
        if (!ch_sv_is(block->name, tools[i].name))
            continue;
        struct ch_jw w = ch_jw(&text);
        ch_jw_begin(&w, '{');
        const char *name = tools[i].translate(args, &w);
        ch_jw_end(&w, '}');
        out->name = ch_sv_str(name ? name : tools[i].replaces);
        out->text = name ? ch_arena_sv(arena, ch_buf_sv(&text)) : block->text;
        break;
    }
    return true;
}

bool ch_vendor_call_replaces(struct ch_sv server_tools, struct ch_sv name) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *list = NULL;
    if (server_tools.n)
        ch_json_parse(&arena, server_tools, CH_JSON_STRICT, &list, NULL, NULL);
    for (CH_JSON_EACH(t, list)) {
        if (ch_sv_eq(ch_json_get_str(t, "name"), name))
            return true;
        for (size_t i = 0; i < CH_LEN(tools); i++)
            if (ch_wild(ch_sv_str(tools[i].type), ch_json_get_str(t, "type")) &&
                ch_sv_is(name, tools[i].replaces))
                return true;
    }
    return false;
}
