/* approval_binding.c -- see approval_binding.h. */
#include "tool/call/approval_binding.h"

#include <stdio.h>

#include <stdlib.h>
#include <sys/stat.h>

#include "base/say.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "tool/call/bound_files.h"
#include "tool/call/call.h"
#include "tool/call/outgoing.h"
#include "tool/call/special_writes.h"
#include "tool/result/display.h"
#include "tool/process/executable.h"
#include "json/writer.h"

#define MANY_LINES 20 /* more lines than a terminal may show at once */

/* --- arguments ------------------------------------------------------------------ */

static int approval_binding_by_name(const void *a, const void *b) {
    const struct ch_json *x = *(const struct ch_json *const *)a;
    const struct ch_json *y = *(const struct ch_json *const *)b;
    int order = memcmp(x->s, y->s, CH_MIN(x->n, y->n));

    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    return order ? order : x < y ? -1 : 1; /* stable for equal names */
}

/* Canonical text of the arguments: no white space, members sorted by name. Nested objects
 * keep their order; at worst, equal arguments need a second approval. */
static void approval_binding_write_arguments(struct ch_arena *arena, const struct ch_json *args,
                                             struct ch_buf *out) {
    const struct ch_json **keys = ch_arena_alloc(arena, (args->n + 1) * sizeof(*keys));
    struct ch_jw w = ch_jw(out);
    size_t n = 0;

    for (CH_JSON_MEMBERS(key, value, args)) {
        (void)value;
        keys[n++] = key;
    }
    qsort(keys, n, sizeof(*keys), approval_binding_by_name);
    ch_jw_begin(&w, '{');
    for (size_t i = 0; i < n; i++) {
        ch_jw_key_sv(&w, ch_json_str(keys[i]));
        ch_jw_value(&w, keys[i] + 1);
    }
    ch_jw_end(&w, '}');
}

/* --- the digest ------------------------------------------------------------------- */

/* Hash each part with its length, so that different lists of parts have different digests. */
static void approval_binding_add(struct ch_sha256 *h, struct ch_sv part) {
    uint64_t n = part.n;

    ch_sha256_add(h, &n, sizeof(n));
    ch_sha256_add(h, part.p, part.n);
}

/* Hash the identity of a file and its ctime, which, unlike mtime, cannot be set by users. */
static void add_identity(struct ch_sha256 *h, const char *file) {
    struct stat st;
    uint64_t id[7] = {0};

    if (file && stat(file, &st) == 0) {
        id[0] = 1;
        id[1] = (uint64_t)st.st_dev;
        id[2] = (uint64_t)st.st_ino;
        id[3] = st.st_mode;
        if (S_ISREG(st.st_mode)) {
            id[4] = (uint64_t)st.st_size;
            id[5] = (uint64_t)st.st_ctim.tv_sec;
            id[6] = (uint64_t)st.st_ctim.tv_nsec;
        }
    }
    ch_sha256_add(h, id, sizeof(id));
}

/* Hash the script files of an interpreter, because they determine its effect. */
static void add_scripts(struct ch_sha256 *h, struct ch_arena *arena, const struct ch_bound *b,
                        const char *const *words) {
    for (size_t i = 1; words[0] && words[i]; i++) {
        const char *file =
            *words[i] == '/' ? words[i] : ch_arena_printf(arena, "%s/%s", b->cwd, words[i]);
        add_identity(h, file);
    }
}

/* Nobody can say what a shell, an interpreter or a build tool reads: every file of the workspace
 * that the command names, directly or through another file, stays as the person saw it. */
static void add_bound_files(struct ch_sha256 *h, struct ch_arena *arena, const struct ch_bound *b,
                            const char *workspace) {
    struct ch_bound_files files;

    ch_bound_files_find(arena, b->plan.command, b->cwd, workspace, &files);
    for (size_t i = 0; i < files.n; i++) {
        approval_binding_add(h, ch_sv_str(files.v[i]));
        add_identity(h, files.v[i]);
    }
}

static void add_program(struct ch_sha256 *h, struct ch_arena *arena, const struct ch_bound *b) {
    const char *const *words = b->plan.argv ? b->plan.argv : b->words.v;

    approval_binding_add(h, ch_sv_str(b->program));
    approval_binding_add(h, ch_sv_str(b->real));
    add_identity(h, b->program);
    approval_binding_add(h, ch_sv_str(b->cwd));
    add_identity(h, b->cwd);
    for (size_t i = 0; b->plan.argv && b->plan.argv[i]; i++)
        approval_binding_add(h, ch_sv_str(b->plan.argv[i]));
    if (words && b->program &&
        (ch_executable_runs_others(b->program, words) || ch_executable_runs_others(b->real, words)))
        add_scripts(h, arena, b, words);
}

/* --- resolving the plan ------------------------------------------------------------- */

static const char *real_path(struct ch_arena *arena, const char *path) {
    char *real = path ? realpath(path, NULL) : NULL;
    const char *copy = real ? ch_arena_str(arena, ch_sv_str(real)) : NULL;

    free(real);
    return copy;
}

static const char *find_obstacle(const struct ch_bound *b) {
    if (!b->plan.command.n)
        return NULL; /* the operator chose the program */
    if (!b->words.v)
        return b->words.why;
    if (!b->program || !b->real)
        return "a program that is not there";
    if (ch_executable_runs_others(b->program, b->words.v) ||
        ch_executable_runs_others(b->real, b->words.v))
        return "a program that runs others";
    return NULL;
}

static void approval_binding_resolve(chela_call *call, struct ch_bound *b) {
    struct ch_arena *arena = &call->arena;
    const char *cwd = b->plan.cwd ? b->plan.cwd : call->workspace;
    const char *name = b->plan.argv ? b->plan.argv[0] : NULL;

    if (b->plan.command.n) {
        b->words = ch_shell_words(arena, b->plan.command, CH_WORDS_COMMAND);
        name = b->words.v ? b->words.v[0] : NULL;
    }
    b->cwd = real_path(arena, cwd);
    if (!b->cwd)
        b->cwd = cwd;
    b->program = name ? ch_executable_find(arena, name, b->plan.path, b->cwd) : NULL;
    b->real = real_path(arena, b->program);
    b->obstacle = find_obstacle(b);
}

static const char *approval_binding_show(chela_call *call) {
    CH_BUF_AUTO text = {0};

    call->tool->show(call, &text);
    return text.n ? ch_arena_str(&call->arena, ch_buf_sv(&text)) : NULL;
}

/* The digest has the destination even if nobody has to agree to it any more. */
static void bind_destination(chela_call *call, struct ch_bound *out, struct ch_sha256 *h) {
    struct ch_outgoing to;

    ch_outgoing_judge(call, &to);
    if (to.url)
        approval_binding_add(h, ch_sv_str(to.url));
    if (to.verdict != CH_OUTGOING_ASK)
        return;
    out->sends = to.unlisted ? to.url : NULL;
    out->met_source = to.met.source;
    out->met_data = to.met.data;
    if (to.unlisted)
        memcpy(out->places[out->nplaces++], to.digest, CH_SHA256_SIZE);
    if (to.met.source)
        memcpy(out->places[out->nplaces++], to.met_digest, CH_SHA256_SIZE);
}

void ch_bind(chela_call *call, struct ch_bound *out) {
    CH_BUF_AUTO arguments = {0};
    struct ch_sha256 h;

    *out = (struct ch_bound){0};
    if (call->tool->plan) {
        call->tool->plan(call, &out->plan);
        approval_binding_resolve(call, out);
    }
    out->kind = ch_special_writes(call, &out->writes);
    if (out->kind == CH_KIND_EXECUTED)
        out->obstacle = "a file that another program executes";
    if (call->tool->show)
        out->shown = approval_binding_show(call);
    approval_binding_write_arguments(&call->arena, call->args, &arguments);
    ch_sha256_init(&h);
    approval_binding_add(&h, ch_sv_str(call->tool->name));
    approval_binding_add(&h, ch_buf_sv(&arguments));
    approval_binding_add(&h, out->plan.command);
    if (out->cwd)
        add_program(&h, &call->arena, out);
    if (out->cwd && out->plan.command.n && out->obstacle)
        add_bound_files(&h, &call->arena, out, call->workspace);
    if (out->shown)
        approval_binding_add(&h, ch_sv_str(out->shown));
    if (out->writes)
        approval_binding_add(&h, ch_sv_str(out->writes));
    bind_destination(call, out, &h);
    ch_sha256_end(&h, out->digest);
}

/* --- text for the person --------------------------------------------------------------- */

static void show_cut(struct ch_buf *out, struct ch_sv text, enum chela_language to) {
    struct ch_sv shown = ch_utf8_cut(text, CH_LIMIT_SUMMARY);
    char left[24], all[24];

    ch_display_add(out, shown, CH_DISPLAY_TEXT);
    if (shown.n == text.n)
        return;
    snprintf(left, sizeof(left), "%zu", text.n - shown.n);
    snprintf(all, sizeof(all), "%zu", text.n);
    ch_buf_add_str(out, "\n  ");
    ch_say_add(out, CH_SAY_SHOWN_CUT, to, CH_SAY_VALUES(ch_sv_str(left), ch_sv_str(all)));
}

static void show_line(struct ch_buf *out, enum ch_say label, enum chela_language to,
                      const char *text) {
    if (!text)
        return;
    ch_buf_addf(out, "\n  %s: ", ch_say(label, to));
    ch_display_add(out, ch_sv_str(text), CH_DISPLAY_LINE);
}

static void show_lines(struct ch_buf *out, struct ch_sv text, enum chela_language to) {
    size_t lines = 1;

    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    if (lines > MANY_LINES)
        ch_buf_addf(out, "\n  %s: %zu", ch_say(CH_SAY_SHOWN_LINES, to), lines);
}

/* Arguments are shown in canonical form, so white space cannot push a part out of view. */
void ch_bound_show(chela_call *call, const struct ch_bound *b, struct ch_buf *out) {
    bool command = b->plan.command.n > 0;
    enum chela_language to = call->env->language;
    CH_BUF_AUTO arguments = {0};

    approval_binding_write_arguments(&call->arena, call->args, &arguments);
    ch_buf_addf(out, "%s: ", call->tool->name);
    show_cut(out, command ? b->plan.command : ch_buf_sv(&arguments), to);
    if (b->writes)
        show_cut(out, ch_sv_str(b->writes), to);
    if (b->sends) {
        struct ch_outgoing target = {.url = b->sends};
        if (ch_url_parse(ch_sv_str(b->sends), &target.to, NULL) == 0)
            ch_outgoing_show(&target, to, out);
    }
    if (b->met_source)
        ch_outgoing_show_met(b->met_source, b->met_data, to, out);
    show_line(out, CH_SAY_SHOWN_PROGRAM, to, b->program);
    show_line(out, CH_SAY_SHOWN_DIRECTORY, to, b->cwd);
    if (command)
        show_lines(out, b->plan.command, to);
    if (command && !b->obstacle) {
        ch_buf_add_str(out, "\n  ");
        ch_say_add(out, CH_SAY_SHOWN_ALWAYS, to,
                   CH_SAY_VALUES(ch_sv_str(ch_executable_reads(b->real))));
    }
    show_line(out, CH_SAY_SHOWN_LACKS, to, call->lacks);
    if (command && !b->plan.plain)
        show_line(out, CH_SAY_SHOWN_ARGUMENTS, to, ch_buf_str(&arguments));
    if (b->shown) {
        ch_buf_addc(out, '\n');
        show_cut(out, ch_sv_str(b->shown), to);
    }
}
