/* edit.c -- the tool `edit`: reads a file, applies replace.c, and writes the result if the
 * file has not changed in between. A byte order mark is kept and is not part of the text. */
#include "tool/call/call_path.h"
#include "tool/builtin/files/edit.h"

#include <errno.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "tool/builtin/files/file.h"
#include "tool/builtin/files/replace.h"
#include "tool/call/call.h"
#include "json/json.h"
#include "json/writer.h"

#define BOM "\xef\xbb\xbf"

static const char *const old_names[] = {"old_text", "old_string", "oldText", "oldString", NULL};
static const char *const new_names[] = {"new_text", "new_string", "newText", "newString", NULL};

struct job {
    struct ch_replacement edits[CH_LIMIT_EDITS];
    size_t n;
};

/* --- arguments ----------------------------------------------------------- */

static const struct ch_json *files_edit_member(const struct ch_json *object,
                                               const char *const *names) {
    for (size_t i = 0; names[i]; i++) {
        const struct ch_json *v = ch_json_get(object, names[i]);
        if (ch_json_is(v, CH_JSON_STRING))
            return v;
    }
    return NULL;
}

static int files_edit_add(chela_call *call, struct job *job, const struct ch_json *item) {
    const struct ch_json *old = files_edit_member(item, old_names),
                         *new = files_edit_member(item, new_names);
    const struct ch_json *after = ch_json_get(item, "insert_line"); /* as some editors have it */
    bool placed = new && !old && ch_json_is(after, CH_JSON_NUMBER);

    if (job->n == CH_LIMIT_EDITS) {
        chela_result_error(call, "invalid_arguments", "More than %d edits in one call.",
                           CH_LIMIT_EDITS);
        return CHELA_EINVAL;
    }
    if (!new || (!old && !placed)) {
        chela_result_error(call, "invalid_arguments",
                           "Edit %zu needs the strings old_text and new_text.", job->n + 1);
        return CHELA_EINVAL;
    }
    job->edits[job->n++] = (struct ch_replacement){
        .old_text = placed ? CH_SV("") : ch_json_str(old),
        .new_text = ch_json_str(new),
        .placed = placed,
        .line = placed ? (unsigned)CH_MIN(CH_MAX(ch_json_int(after, 0), 0), INT32_MAX) : 0,
    };
    return 0;
}

/* Some models send the array inside a string. */
static const struct ch_json *edits_argument(chela_call *call) {
    const struct ch_json *v = ch_json_get(call->args, "edits"), *inner;

    if (ch_json_is(v, CH_JSON_STRING) &&
        ch_json_parse(&call->arena, ch_json_str(v), CH_JSON_STRICT, &inner, NULL, NULL) == 0)
        return inner;
    return v;
}

static int read_edits(chela_call *call, struct job *job) {
    const struct ch_json *edits = edits_argument(call);
    int rc = 0;

    if (!ch_json_is(edits, CH_JSON_ARRAY)) /* a single edit given beside file_path */
        return files_edit_add(call, job, ch_json_is(edits, CH_JSON_OBJECT) ? edits : call->args);
    for (CH_JSON_EACH(item, edits))
        if (rc == 0)
            rc = files_edit_add(call, job, item);
    if (rc == 0 && job->n == 0) {
        chela_result_error(call, "invalid_arguments", "edits is empty.");
        return CHELA_EINVAL;
    }
    return rc;
}

int ch_edit_check(chela_call *call, void *user) {
    CH_AUTOFREE struct job *job = ch_alloc(sizeof(*job));
    int rc = ch_file_check(call, user);

    return rc < 0 ? rc : read_edits(call, job);
}

/* --- the work ------------------------------------------------------------ */

static int files_edit_load(chela_call *call, const char *path, struct ch_buf *file,
                           struct stat *st) {
    int fd = ch_file_open(call, path, st);

    if (fd < 0)
        return fd;
    int rc = (uint64_t)st->st_size > CH_LIMIT_FILE_READ
                 ? -EFBIG
                 : ch_file_read(call, fd, CH_LIMIT_FILE_READ, file);
    close(fd);
    return rc;
}

static int save(chela_call *call, const char *path, const struct stat *st, struct ch_sv content) {
    struct ch_place place;
    int rc = ch_call_path_place(call, path, CH_MAKING_FILE, false, &place);

    if (rc == 0)
        rc = ch_file_replace(call, &place, st, content);
    ch_place_release(&place);
    return rc;
}

static void files_edit_report(chela_call *call, const char *path, struct ch_sv text,
                              const struct job *job, size_t bytes) {
    CH_BUF_AUTO diff = {0}, json = {0};
    struct ch_jw w = ch_jw(&json);
    size_t tolerant = 0;

    for (size_t i = 0; i < job->n; i++)
        tolerant += job->edits[i].tolerant;
    ch_replace_diff(text, job->edits, job->n, &diff);
    chela_result_printf(
        call, "Edited %s (%zu replacement%s%s)\n%s", path, job->n, job->n == 1 ? "" : "s",
        tolerant ? ", matched despite different white space or quotes" : "", ch_buf_str(&diff));
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "path", path);
    ch_jw_kint(&w, "edits", (int64_t)job->n);
    ch_jw_kint(&w, "firstChangedLine", job->edits[0].line);
    ch_jw_kint(&w, "bytesWritten", (int64_t)bytes);
    ch_jw_kstr(&w, "diff", ch_buf_sv(&diff));
    ch_jw_end(&w, '}');
    chela_result_details(call, ch_buf_str(&json));
}

static int files_edit_apply(chela_call *call, const char *path, struct job *job) {
    CH_BUF_AUTO file = {0}, out = {0};
    struct chela_error err = {0};
    struct stat st;

    int rc = files_edit_load(call, path, &file, &st);
    if (rc < 0)
        return ch_call_path_missing(call, "edit", path, rc);
    struct ch_sv text = ch_buf_sv(&file);
    if (!ch_file_is_text(text))
        return chela_result_error(call, "invalid_arguments", "Cannot edit %s: it is not text.",
                                  path);
    if (ch_sv_starts(text, BOM)) {
        ch_buf_add_str(&out, BOM);
        text = ch_sv(text.p + strlen(BOM), text.n - strlen(BOM));
    }
    if (ch_replace(text, job->edits, job->n, &out, &err) < 0)
        return chela_result_error(call, "invalid_arguments", "Cannot edit %s: %s.", path,
                                  err.message);
    rc = save(call, path, &st, ch_buf_sv(&out));
    if (rc < 0)
        return ch_call_path_refuse(call, "edit", path, rc);
    files_edit_report(call, path, text, job, out.n);
    return 0;
}

int ch_edit_run(chela_call *call, void *user) {
    CH_AUTOFREE struct job *job = ch_alloc(sizeof(*job));
    const char *path;

    (void)user;
    int rc = ch_file_arg(call, &path);
    if (rc == 0)
        rc = read_edits(call, job);
    if (rc == 0)
        rc = files_edit_apply(call, path, job);
    ch_edits_release(job->edits, job->n);
    return rc;
}
