/* memory.c -- the tools `memory_search` and `memory_write`: notes of the workspace, and
 * past conversations.
 *
 * Search results may have been written by the user, by the model or by quoted strangers, so
 * they are returned as data with their source. memory_write appends a line to a file that
 * people can read and edit. A line that exists already is not added again, so a repeated
 * call is harmless. */
#include "tool/call/call_path.h"
#include "tool/builtin/chat/memory.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "base/calendar.h"
#include "tool/builtin/files/file.h"
#include "tool/call/call.h"
#include "tool/memory/notes.h"
#include "tool/memory/memory_search.h"

#define MOST 20
#define USUAL 5
#define LONGEST_QUERY 2000

/* --- searching -------------------------------------------------------------------------- */

int ch_memory_search_check(chela_call *call, void *user) {
    const char *query;
    (void)user;
    int rc = chela_arg_string(call, "query", &query);
    if (rc == 0 && !*query) {
        chela_result_error(call, "invalid_arguments", "query: expected some words");
        return CHELA_EINVAL;
    }
    return rc;
}

static void chat_memory_describe(chela_call *call, const struct ch_notes *found,
                                 const char *warning) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "sources", '[');
    for (size_t i = 0; i < found->n; i++)
        ch_jw_cstr(&w, found->list[i].source);
    ch_jw_end(&w, ']');
    if (warning)
        ch_jw_kcstr(&w, "warning", warning);
    ch_jw_end(&w, '}');
    chela_result_details(call, ch_buf_str(&json));
}

static void chat_memory_answer(const struct ch_notes *found, const char *warning, void *user) {
    chela_call *call = user;
    CH_BUF_AUTO text = {0};
    chela_call_on_cancel(call, NULL, NULL);
    ch_notes_write(found, CH_LIMIT_RESULT_CHARS, &text);
    if (text.n)
        chela_result_text(call, text.p, text.n);
    else
        chela_result_printf(call, "Nothing is written down about that.");
    if (warning)
        ch_log(CH_LOG_WARN, "tool", "memory_search: %s", warning);
    chat_memory_describe(call, found, warning);
    chela_call_finish(call);
}

static void cancel_search(chela_call *call, void *seeking) {
    ch_seek_cancel(seeking);
    chela_call_finish(call);
}

static void chat_memory_count(int64_t tokens, void *user) {
    chela_call *call = user;
    if (call->env && call->env->used)
        call->env->used(call, tokens);
}

int ch_memory_search_run(chela_call *call, void *user) {
    const char *query;
    int64_t limit = USUAL;
    int rc = chela_arg_string(call, "query", &query);
    if (rc == 0)
        rc = chela_arg_int_opt(call, "limit", &limit);
    if (rc < 0)
        return rc;
    limit = CH_MAX(CH_MIN(limit, MOST), 1);
    struct ch_seek_opts opts = {.loop = call->env->loop,
                                .workers = call->env->workers,
                                .settings = user,
                                .workspace = call->workspace,
                                .hide = call->guard.hide,
                                .session = call->session,
                                .run = call->env->run,
                                .call = call->id,
                                .sessions = true,
                                .query = ch_utf8_cut(ch_sv_str(query), LONGEST_QUERY),
                                .notes = (size_t)limit,
                                .turns = (size_t)limit,
                                .used = chat_memory_count,
                                .used_user = call};
    chela_call_defer(call);
    chela_call_on_cancel(call, cancel_search, ch_seek_start(&opts, chat_memory_answer, call));
    return 0;
}

/* --- writing ----------------------------------------------------------------------------- */

int ch_memory_write_check(chela_call *call, void *user) {
    const char *text;
    (void)user;
    int rc = chela_arg_string(call, "text", &text);
    if (rc == 0 && (!*text || strlen(text) > CH_LIMIT_NOTE_TEXT)) {
        chela_result_error(call, "invalid_arguments", "text: expected 1 to %d bytes",
                           CH_LIMIT_NOTE_TEXT);
        return CHELA_EINVAL;
    }
    return rc;
}

static int choose_file(chela_call *call, struct ch_buf *path) {
    struct ch_date d = ch_date_of(ch_now_ms(&ch_clock_system) / 1000);
    const char *kind = "day";
    int rc = chela_arg_string_opt(call, "kind", &kind);
    if (strcmp(kind, "lasting") == 0)
        ch_buf_add_str(path, CH_NOTES_LASTING);
    else
        ch_buf_addf(path, CH_NOTES_DIR "/%04d-%02d-%02d.md", d.year, d.month, d.day);
    return rc;
}

static bool chat_memory_has_line(struct ch_sv text, struct ch_sv line) {
    while (text.n)
        if (ch_sv_eq(ch_sv_trim(ch_sv_split(&text, '\n')), line))
            return true;
    return false;
}

/* Append each line of text as a list item, except lines that exist already. */
static size_t chat_memory_add_lines(struct ch_buf *file, struct ch_sv text) {
    size_t added = 0;
    while (text.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&text, '\n'));
        CH_BUF_AUTO item = {0};
        if (!line.n)
            continue;
        ch_buf_addf(&item, "%s%.*s", ch_sv_starts(line, "- ") ? "" : "- ", CH_SV_FMT(line));
        if (chat_memory_has_line(ch_buf_sv(file), ch_buf_sv(&item)))
            continue;
        if (file->n && file->p[file->n - 1] != '\n')
            ch_buf_addc(file, '\n');
        ch_buf_add_sv(file, ch_buf_sv(&item));
        ch_buf_addc(file, '\n');
        added++;
    }
    return added;
}

static int read_old(chela_call *call, const char *path, struct stat *st, struct ch_buf *out) {
    int fd = ch_file_open(call, path, st);
    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return fd;
    int rc = ch_file_read(call, fd, CH_LIMIT_NOTE_FILE, out);
    close(fd);
    return rc < 0 ? rc : 1;
}

int ch_memory_write_run(chela_call *call, void *user) {
    struct ch_place place = {.dir = -1};
    struct stat st;
    CH_BUF_AUTO path = {0};
    CH_BUF_AUTO file = {0};
    const char *text;
    (void)user;
    int rc = chela_arg_string(call, "text", &text);
    if (rc == 0)
        rc = choose_file(call, &path);
    if (rc < 0)
        return rc;
    int there = read_old(call, ch_buf_str(&path), &st, &file);
    size_t added = there < 0 ? 0 : chat_memory_add_lines(&file, ch_sv_str(text));
    rc = there < 0 ? there : 0;
    if (rc == 0 && file.n > CH_LIMIT_NOTE_FILE)
        rc = -EFBIG;
    if (rc == 0 && added)
        rc = ch_call_path_place(call, ch_buf_str(&path), CH_MAKING_FILE, true, &place);
    if (rc == 0 && added)
        rc = ch_file_replace(call, &place, there ? &st : NULL, ch_buf_sv(&file));
    ch_place_release(&place);
    if (rc < 0)
        return ch_call_path_refuse(call, "write", ch_buf_str(&path), rc);
    chela_result_printf(call, added ? "Noted in %s." : "%s has that already.", ch_buf_str(&path));
    return 0;
}
