/* apply_patch.c -- the tool `apply_patch`: changes several files in one step.
 *
 * The patch is first applied to copies in memory, file by file in order (a file may occur
 * twice). Only if every hunk matches are the files changed, through a stage (stage.h) that
 * restores all of them if one fails. */
#include "tool/builtin/files/patch_apply.h"
#include "tool/call/call_path.h"
#include "tool/builtin/files/apply_patch.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/files/patch.h"
#include "tool/builtin/files/stage.h"
#include "tool/call/buffers.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/call/resource_locks.h"
#include "json/writer.h"

static const char *const input_names[] = {"input", "patch", "diff", NULL};

/* The old and the new content of a file. */
struct slot {
    char *path; /* owned; relative to the workspace, normalized */
    bool was, is;
    struct stat st;   /* valid if the file existed */
    struct stat like; /* source of the mode, if `moved` */
    bool moved;       /* the content came from another file */
    bool touched;
    struct ch_buf text; /* valid if the file shall exist */
};

struct job {
    chela_call *call;
    struct ch_patch patch;
    struct slot *slots; /* owned; 2 for each file of the patch */
    size_t n;
    size_t bytes; /* total size of all texts */
    struct ch_buf report, json;
    struct ch_jw w;
    size_t tolerant;
};

static void apply_patch_release(struct job *j) {
    for (size_t i = 0; i < j->n; i++) {
        ch_free(j->slots[i].path);
        ch_buf_release(&j->slots[i].text);
    }
    ch_free(j->slots);
    ch_patch_release(&j->patch);
    ch_buf_release(&j->report);
    ch_buf_release(&j->json);
}

static int apply_patch_read_input(chela_call *call, struct ch_patch *patch) {
    struct chela_error err = {0};
    const char *text;

    int rc = chela_arg_string(call, ch_arg_name(call, input_names), &text);
    if (rc < 0)
        return rc;
    rc = ch_patch_read(patch, ch_sv_str(text), &err);
    if (rc < 0)
        chela_result_error(call, "invalid_arguments", "Nothing was changed: %s.", err.message);
    return rc;
}

int ch_apply_patch_check(chela_call *call, void *user) {
    struct ch_patch patch = {0};

    (void)user;
    int rc = apply_patch_read_input(call, &patch);
    ch_patch_release(&patch);
    return rc;
}

void ch_apply_patch_uses(chela_call *call, void *user) {
    struct ch_patch patch = {0};
    struct ch_sv text = ch_json_str(ch_json_get(call->args, ch_arg_name(call, input_names)));

    (void)user;
    if (text.n && ch_patch_read(&patch, text, NULL) == 0)
        for (size_t i = 0; i < patch.nfiles; i++) {
            ch_use_path(call, patch.files[i].path, CHELA_USE_ALONE);
            if (patch.files[i].to)
                ch_use_path(call, patch.files[i].to, CHELA_USE_ALONE);
        }
    ch_patch_release(&patch);
}

/* --- the files ----------------------------------------------------------- */

/* All of these return CHELA_EINVAL after setting the error result. */
static int refuse_path(struct job *j, const char *verb, const char *path, int error) {
    ch_call_path_missing(j->call, verb, path, error);
    return CHELA_EINVAL;
}

static int apply_patch_refuse(struct job *j, const char *path, const char *why) {
    chela_result_error(j->call, "invalid_arguments", "Nothing was changed: %s %s.", path, why);
    return CHELA_EINVAL;
}

static int apply_patch_load(struct job *j, struct slot *s, const char *verb) {
    int fd = ch_file_open(j->call, s->path, &s->st);

    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return refuse_path(j, verb, s->path, fd);
    int rc = ch_file_read(j->call, fd, CH_LIMIT_FILE_READ, &s->text);
    close(fd);
    if (rc < 0)
        return refuse_path(j, verb, s->path, rc);
    s->was = s->is = true;
    j->bytes += s->text.n;
    if (j->bytes > CH_LIMIT_PATCH_BYTES)
        return apply_patch_refuse(j, s->path,
                                  "and the files before it are too large for one patch");
    return 0;
}

/* The slot of a path, created and loaded on first use. */
static int find_slot(struct job *j, const char *verb, const char *given, struct slot **out) {
    CH_BUF_AUTO rel = {0};

    int rc = ch_path_inside(chela_call_workspace(j->call), given, &rel);
    if (rc < 0)
        return refuse_path(j, verb, given, rc);
    for (size_t i = 0; i < j->n; i++)
        if (strcmp(j->slots[i].path, ch_buf_str(&rel)) == 0) {
            *out = &j->slots[i];
            return 0;
        }
    struct slot *s = &j->slots[j->n++];
    *s = (struct slot){.path = ch_strdup(ch_buf_str(&rel))};
    *out = s;
    return apply_patch_load(j, s, verb);
}

/* --- one file of the patch ----------------------------------------------- */

static void apply_patch_tell(struct job *j, const struct ch_patch_file *f,
                             const struct ch_patch_stat *st) {
    static const char *const actions[] = {"added", "updated", "deleted"};

    ch_buf_addf(&j->report, "%c %s", "AMD"[f->kind], f -> path);
    if (f->to)
        ch_buf_addf(&j->report, " -> %s", f->to);
    if (f->kind != CH_PATCH_DELETE)
        ch_buf_addf(&j->report, " (+%zu -%zu)", st->added, st->removed);
    ch_buf_addc(&j->report, '\n');
    ch_jw_begin(&j->w, '{');
    ch_jw_kcstr(&j->w, "path", f->path);
    ch_jw_kcstr(&j->w, "action", f->to ? "moved" : actions[f->kind]);
    if (f->to)
        ch_jw_kcstr(&j->w, "to", f->to);
    ch_jw_kint(&j->w, "added", (int64_t)st->added);
    ch_jw_kint(&j->w, "removed", (int64_t)st->removed);
    ch_jw_end(&j->w, '}');
    j->tolerant += st->tolerant;
}

static int apply_patch_to_file(struct job *j, const struct ch_patch_file *f, struct slot *s,
                               struct ch_buf *out) {
    struct ch_patch_stat st;
    struct chela_error err = {0};

    if (s->is && !ch_file_is_text(ch_buf_sv(&s->text)))
        return apply_patch_refuse(j, s->path, "is not text");
    struct ch_sv old = s->is ? ch_buf_sv(&s->text) : CH_SV("");
    if (ch_patch_apply(j->call, &j->patch, f, old, out, &st, &err) < 0) {
        chela_result_error(j->call, "invalid_arguments", "Nothing was changed: %s.", err.message);
        return CHELA_EINVAL;
    }
    apply_patch_tell(j, f, &st);
    return 0;
}

static void apply_patch_set_text(struct job *j, struct slot *s, struct ch_buf *text) {
    j->bytes += text->n;
    ch_buf_release(&s->text);
    s->text = *text;
    *text = (struct ch_buf){0};
    s->is = s->touched = true;
}

static void set_gone(struct slot *s) {
    s->is = false;
    s->touched = true;
}

static int apply_patch_add_file(struct job *j, const struct ch_patch_file *f, struct slot *s,
                                struct ch_buf *text) {
    if (s->is)
        return apply_patch_refuse(j, s->path,
                                  "is to be added but is there already; update it, or use write "
                                  "to replace it");
    int rc = apply_patch_to_file(j, f, s, text);
    if (rc == 0)
        apply_patch_set_text(j, s, text);
    return rc;
}

/* Delete a file. If a diff lists the removed lines, they must be the whole content;
 * otherwise the file is not the one that the patch was made for. */
static int delete_file(struct job *j, const struct ch_patch_file *f, struct slot *s,
                       struct ch_buf *text) {
    if (f->nhunks == 0) {
        apply_patch_tell(j, f, &(struct ch_patch_stat){0});
    } else {
        int rc = apply_patch_to_file(j, f, s, text);
        if (rc < 0)
            return rc;
        if (text->n)
            return apply_patch_refuse(j, s->path,
                                      "is to be deleted but has more lines than the patch shows");
    }
    set_gone(s);
    return 0;
}

static int update_file(struct job *j, const struct ch_patch_file *f, struct slot *s,
                       struct ch_buf *text) {
    struct slot *to = s;

    int rc = apply_patch_to_file(j, f, s, text);
    if (rc == 0 && f->to)
        rc = find_slot(j, "write", f->to, &to);
    if (rc < 0)
        return rc;
    if (to != s && to->is)
        return apply_patch_refuse(j, to->path, "is there already, so no file can be moved to it");
    if (to != s) {
        to->moved = s->was || s->moved; /* a file that the patch adds has no mode yet */
        to->like = s->moved ? s->like : s->st;
        set_gone(s);
    }
    apply_patch_set_text(j, to, text);
    return 0;
}

static int apply_patch_carry_out(struct job *j, const struct ch_patch_file *f) {
    static const char *const verbs[] = {"write", "update", "delete"};
    CH_BUF_AUTO text = {0};
    struct slot *s;

    int rc = find_slot(j, verbs[f->kind], f->path, &s);
    if (rc < 0)
        return rc;
    if (f->kind == CH_PATCH_ADD)
        return apply_patch_add_file(j, f, s, &text);
    if (!s->is)
        return refuse_path(j, verbs[f->kind], f->path, -ENOENT);
    return f->kind == CH_PATCH_DELETE ? delete_file(j, f, s, &text) : update_file(j, f, s, &text);
}

/* --- all files of the patch ---------------------------------------------- */

static const struct stat *mode_of(const struct slot *s) {
    return s->was ? &s->st : s->moved ? &s->like : NULL;
}

static int stage_slot(struct ch_stage *stage, const struct slot *s) {
    const struct stat *expect = s->was ? &s->st : NULL;

    if (!s->touched || (!s->was && !s->is))
        return 0;
    if (!s->is)
        return ch_stage_remove(stage, s->path, expect);
    return ch_stage_write(stage, s->path, expect, mode_of(s), ch_buf_sv(&s->text));
}

/* Replacements are staged before removals. */
static int write_files(struct job *j) {
    struct ch_stage stage = {.call = j->call};
    const struct slot *order[2 * CH_LIMIT_PATCH_FILES];
    size_t n = 0, at = 0;
    int rc = 0;

    for (int gone = 0; gone < 2; gone++)
        for (size_t i = 0; i < j->n; i++) {
            const struct slot *s = &j->slots[i];
            bool changes = s->touched && (s->was || s->is);
            if (rc < 0 || !changes || s->is == gone)
                continue;
            order[n++] = s;
            at = n - 1;
            rc = stage_slot(&stage, s);
        }
    if (rc == 0)
        rc = ch_stage_commit(&stage, &at);
    ch_stage_release(&stage);
    if (rc == 0)
        return 0;
    ch_call_path_refuse(j->call, order[at]->is ? "write" : "delete", order[at]->path, rc);
    return CHELA_EINVAL;
}

/* Give an editor the new texts, so that its unsaved ones do not undo the patch. The files on
 * disk have them already. */
static void show_files(struct job *j) {
    for (size_t i = 0; i < j->n && j->call->buffers; i++) {
        const struct slot *s = &j->slots[i];
        struct ch_place place = {.dir = -1};

        if (s->touched && s->is &&
            ch_call_path_place(j->call, s->path, CH_MAKING_FILE, false, &place) == 0)
            ch_buffers_write(j->call->buffers, j->call, place.dir, place.leaf, ch_buf_sv(&s->text));
        ch_place_release(&place);
    }
}

static void apply_patch_report(struct job *j) {
    size_t n = j->patch.nfiles;

    ch_jw_end(&j->w, ']');
    ch_jw_end(&j->w, '}');
    chela_result_printf(
        j->call, "Applied the patch to %zu file%s%s:\n%s", n, n == 1 ? "" : "s",
        j->tolerant ? " (some lines matched despite different white space or quotes)" : "",
        ch_buf_str(&j->report));
    chela_result_details(j->call, ch_buf_str(&j->json));
}

int ch_apply_patch_run(chela_call *call, void *user) {
    struct job j = {.call = call};

    (void)user;
    j.w = ch_jw(&j.json);
    ch_jw_begin(&j.w, '{');
    ch_jw_kbegin(&j.w, "files", '[');
    int rc = apply_patch_read_input(call, &j.patch);
    j.slots = ch_alloc((2 * j.patch.nfiles + 1) * sizeof(*j.slots));
    for (size_t i = 0; i < j.patch.nfiles && rc == 0; i++) {
        rc = apply_patch_carry_out(&j, &j.patch.files[i]);
        if (rc == 0 && j.bytes > CH_LIMIT_PATCH_BYTES)
            rc = apply_patch_refuse(&j, j.patch.files[i].path,
                                    "and others are too large for one patch");
    }
    if (rc == 0)
        rc = write_files(&j);
    if (rc == 0) {
        show_files(&j);
        apply_patch_report(&j);
    }
    apply_patch_release(&j);
    return rc;
}
