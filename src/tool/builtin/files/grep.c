/* grep.c -- the tool `grep`: matching lines in the files below a directory.
 *
 * A file is read whole, up to CH_LIMIT_FILE_READ, and matched line by line, so a pattern
 * cannot match across lines. The output has grep's format: "path:12:text" for matches,
 * "path-13-text" for context lines, "--" between separate pieces. */
#include "tool/builtin/files/grep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "tool/builtin/files/file.h"
#include "tool/builtin/files/glob.h"
#include "tool/builtin/files/page.h"
#include "tool/builtin/files/regex.h"
#include "tool/builtin/files/walk.h"
#include "tool/call/call.h"
#include "tool/call/call_path.h"
#include "json/writer.h"
#include "tool/call/call_view.h"

#define NOTES 700        /* characters reserved for notes after the lines */
#define LINE_BEFORE 120  /* bytes shown before the match in a long line */
#define LOOK_EVERY 1024  /* lines between checks for cancellation */
#define GIVE_UP_LINES 10 /* lines that exceeded the match limits before the search stops */

static const char *const path_names[] = {"path", "directory", "dir", "file_path", NULL};
static const char *const glob_names[] = {"glob", "include", "file_pattern", NULL};
static const char *const case_names[] = {"ignore_case", "ignoreCase", "case_insensitive", "-i",
                                         NULL};
static const char *const literal_names[] = {"literal", "fixed_strings", "-F", NULL};
static const char *const context_names[] = {"context", "context_lines", "-C", NULL};
static const char *const before_names[] = {"before", "-B", NULL};
static const char *const after_names[] = {"after", "-A", NULL};
static const char *const limit_names[] = {"limit", "max_results", "head_limit", NULL};
static const char *const mode_names[] = {"output_mode", "mode", NULL};
static const char *const hidden_names[] = {"hidden", "include_hidden", NULL};
static const char *const ignored_names[] = {"include_ignored", "no_ignore", NULL};

enum mode { CONTENT, FILES, COUNT };

struct query {
    const char *pattern, *path, *glob;
    bool ignore_case, literal, not_glob;
    enum mode mode;
    int64_t before, after, limit;
    struct ch_globs globs;
    struct ch_walk_opts walk;
};

struct search {
    chela_call *call;
    const struct query *q;
    struct ch_regex *regex;
    struct ch_buf file; /* current file */
    struct ch_page page;
    struct ch_buf json;
    struct ch_jw out;
    int64_t matches, files; /* shown so far */
    size_t partly, given_up;
    bool full; /* the limit is reached, or the page is full */
};

/* --- arguments ----------------------------------------------------------- */

static int read_mode(chela_call *call, struct query *q) {
    static const struct {
        const char *name;
        enum mode mode;
    } names[] = {
        {"content", CONTENT}, {"files_with_matches", FILES}, {"files", FILES}, {"count", COUNT}};
    const char *mode = "content";

    int rc = chela_arg_string_opt(call, ch_arg_name(call, mode_names), &mode);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (strcmp(mode, names[i].name) == 0) {
            q->mode = names[i].mode;
            return 0;
        }
    chela_result_error(call, "invalid_arguments",
                       "The argument \"output_mode\" must be content, files_with_matches or "
                       "count.");
    return CHELA_EINVAL;
}

static int read_numbers(chela_call *call, struct query *q) {
    int64_t context = 0;

    int rc = chela_arg_int_opt(call, ch_arg_name(call, context_names), &context);
    q->before = q->after = context;
    if (rc == 0)
        rc = chela_arg_int_opt(call, ch_arg_name(call, before_names), &q->before);
    if (rc == 0)
        rc = chela_arg_int_opt(call, ch_arg_name(call, after_names), &q->after);
    q->limit = q->mode == CONTENT ? CH_DEFAULT_GREP_MATCHES : CH_LIMIT_GREP_MATCHES;
    if (rc == 0)
        rc = chela_arg_int_opt(call, ch_arg_name(call, limit_names), &q->limit);
    q->before = q->before < 0 ? 0 : CH_MIN(q->before, CH_LIMIT_GREP_CONTEXT);
    q->after = q->after < 0 ? 0 : CH_MIN(q->after, CH_LIMIT_GREP_CONTEXT);
    q->limit = q->limit < 1 ? 1 : CH_MIN(q->limit, CH_LIMIT_GREP_MATCHES);
    return rc;
}

static int read_glob(chela_call *call, struct query *q) {
    struct ch_sv glob = ch_sv_str(q->glob);

    if (glob.n == 0)
        return 0;
    q->not_glob = glob.p[0] == '!';
    if (q->not_glob)
        glob = ch_sv(glob.p + 1, glob.n - 1);
    while (ch_sv_starts(glob, "./"))
        glob = ch_sv(glob.p + 2, glob.n - 2);
    if (glob.n <= CH_LIMIT_PATH && ch_globs_read(&q->globs, &call->arena, glob) == 0)
        return 0;
    chela_result_error(call, "invalid_arguments", "The glob stands for more than %d patterns.",
                       CH_LIMIT_GLOBS);
    return CHELA_EINVAL;
}

static int read_query(chela_call *call, struct query *q) {
    *q = (struct query){.path = "."};
    int rc = chela_arg_string(call, "pattern", &q->pattern);
    if (rc == 0)
        rc = chela_arg_string_opt(call, ch_arg_name(call, path_names), &q->path);
    if (rc == 0)
        rc = chela_arg_string_opt(call, ch_arg_name(call, glob_names), &q->glob);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, case_names), &q->ignore_case);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, literal_names), &q->literal);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, hidden_names), &q->walk.hidden);
    if (rc == 0)
        rc = chela_arg_bool_opt(call, ch_arg_name(call, ignored_names), &q->walk.ignored);
    if (rc == 0)
        rc = read_mode(call, q);
    if (rc == 0)
        rc = read_numbers(call, q);
    if (rc == 0)
        rc = read_glob(call, q);
    if (q->path[0] == '\0')
        q->path = ".";
    return rc;
}

static int grep_read_pattern(chela_call *call, const struct query *q, struct ch_regex **out) {
    struct chela_error err = {0};
    unsigned flags = (q->ignore_case ? CH_REGEX_NOCASE : 0) | (q->literal ? CH_REGEX_LITERAL : 0);

    if (q->pattern[0] == '\0')
        chela_result_error(call, "invalid_arguments", "The pattern is empty.");
    else if (strchr(q->pattern, '\n'))
        chela_result_error(call, "invalid_arguments",
                           "The pattern has a line break, but only single lines are searched.");
    else if (ch_regex_new(ch_sv_str(q->pattern), flags, out, &err) < 0)
        chela_result_error(call, "invalid_arguments",
                           "The pattern is no regular expression: %s. To look for the text as it "
                           "is, set literal to true.",
                           err.message);
    else
        return 0;
    return CHELA_EINVAL;
}

int ch_grep_check(chela_call *call, void *user) {
    struct ch_regex *regex = NULL;
    struct query q;

    (void)user;
    int rc = read_query(call, &q);
    if (rc == 0)
        rc = grep_read_pattern(call, &q, &regex);
    ch_regex_free(regex);
    return rc;
}

/* --- one file ------------------------------------------------------------ */

/* Position and number of a line. */
struct line {
    size_t from, to; /* without its line end */
    int64_t number;
};

struct file { /* the file being searched; its contents are in `text` */
    struct ch_sv path, text;
    int64_t count;       /* matching lines */
    size_t shown_to;     /* text before this offset was shown or skipped */
    int64_t shown_lines; /* number of the last line shown */
    int64_t after;       /* context lines still to show after a match */
};

/* A long line is shown around its match. */
static void grep_add_text(struct ch_buf *out, struct ch_sv line, size_t match) {
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    size_t from = 0;
    if (line.n > CH_LIMIT_GREP_LINE && match > LINE_BEFORE)
        from = match - LINE_BEFORE;
    while (from < line.n && from > 0 && ((unsigned char)line.p[from] & 0xc0) == 0x80)
        from++;
    struct ch_sv shown = ch_utf8_cut(ch_sv(line.p + from, line.n - from), CH_LIMIT_GREP_LINE);
    ch_buf_add_str(out, from ? "..." : "");
    ch_buf_add_sv(out, shown);
    ch_buf_add_str(out, from + shown.n < line.n ? "..." : "");
}

static bool grep_show_line(struct search *s, struct file *f, const struct line *l, char sign,
                           size_t match) {
    CH_BUF_AUTO text = {0};

    ch_buf_add_sv(&text, f->path);
    ch_buf_addf(&text, "%c%lld%c", sign, (long long)l->number, sign);
    grep_add_text(&text, ch_sv(f->text.p + l->from, l->to - l->from), match);
    f->shown_to = l->to + 1;
    f->shown_lines = l->number;
    return ch_page_add(&s->page, ch_buf_sv(&text));
}

/* Show the context lines before l, as far as not shown already. */
static bool show_before(struct search *s, struct file *f, const struct line *l) {
    struct line at[CH_LIMIT_GREP_CONTEXT];
    size_t from = l->from;
    int64_t n = 0;

    while (n < s->q->before && from > f->shown_to && from > 0) {
        size_t to = from - 1;
        const char *nl = to ? memrchr(f->text.p, '\n', to) : NULL;
        from = nl ? (size_t)(nl - f->text.p) + 1 : 0;
        at[n] = (struct line){.from = from, .to = to, .number = l->number - n - 1};
        n++;
    }
    bool apart = f->shown_lines ? l->number - n > f->shown_lines + 1 : s->matches > 0;
    if (apart && (s->q->before || s->q->after) && !ch_page_add(&s->page, CH_SV("--")))
        return false;
    while (n-- > 0)
        if (!grep_show_line(s, f, &at[n], '-', 0))
            return false;
    return true;
}

static void note_match(struct search *s, const struct file *f, int64_t line) {
    ch_jw_begin(&s->out, '{');
    ch_jw_kstr(&s->out, "path", f->path);
    ch_jw_kint(&s->out, s->q->mode == COUNT ? "count" : "line", line);
    ch_jw_end(&s->out, '}');
}

static void on_match(struct search *s, struct file *f, const struct line *l, size_t match) {
    f->count++;
    if (s->q->mode != CONTENT)
        return;
    if (s->matches == s->q->limit || !show_before(s, f, l) ||
        !grep_show_line(s, f, l, ':', match)) {
        s->full = true;
        return;
    }
    s->matches++;
    f->after = s->q->after;
    note_match(s, f, l->number);
}

static void on_other(struct search *s, struct file *f, const struct line *l) {
    if (f->after > 0) {
        f->after--;
        s->full |= !grep_show_line(s, f, l, '-', 0);
    }
}

static int look_at_line(struct search *s, struct file *f, const struct line *l) {
    size_t start, end;

    if (l->number % LOOK_EVERY == 0 && chela_call_cancelled(s->call))
        return -ECANCELED;
    int hit = ch_regex_find(s->regex, ch_sv(f->text.p + l->from, l->to - l->from), &start, &end);
    if (hit > 0)
        on_match(s, f, l, start);
    else
        on_other(s, f, l);
    s->given_up += hit < 0;
    return s->given_up == GIVE_UP_LINES ? -ETIME : 0;
}

static int look_at_lines(struct search *s, struct file *f) {
    struct line l = {.number = 1};

    while (l.from < f->text.n && !s->full) {
        const char *nl = memchr(f->text.p + l.from, '\n', f->text.n - l.from);
        l.to = nl ? (size_t)(nl - f->text.p) : f->text.n;
        int rc = look_at_line(s, f, &l);
        if (rc < 0)
            return rc;
        if (f->count && s->q->mode == FILES)
            break;
        l.from = l.to + 1;
        l.number++;
    }
    return 0;
}

static void grep_add_file(struct search *s, struct file *f) {
    CH_BUF_AUTO line = {0};

    s->files++;
    if (s->q->mode == CONTENT)
        return;
    ch_buf_add_sv(&line, f->path);
    if (s->q->mode == COUNT)
        ch_buf_addf(&line, ":%lld", (long long)f->count);
    if (s->files > s->q->limit || !ch_page_add(&s->page, ch_buf_sv(&line))) {
        s->files--;
        s->full = true;
        return;
    }
    s->matches += f->count;
    note_match(s, f, f->count);
}

/* Takes ownership of fd. Binary and unreadable files have no lines. */
static int look_at_file(struct search *s, struct ch_sv path, int fd) {
    struct stat st;

    if (fd < 0)
        return 0;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ch_buf_clear(&s->file);
    int rc = regular ? ch_file_read(s->call, fd, CH_LIMIT_FILE_READ, &s->file) : 0;
    close(fd);
    if (rc == -ECANCELED)
        return rc;
    if (rc == -EFBIG) {
        s->partly++;
        s->file.n = CH_MIN(s->file.n, CH_LIMIT_FILE_READ);
    } else if (rc < 0) {
        return 0;
    }
    struct file f = {.path = path, .text = ch_buf_sv(&s->file)};
    if (!ch_file_is_text(f.text))
        return 0;
    rc = look_at_lines(s, &f);
    if (f.count)
        grep_add_file(s, &f);
    return rc;
}

/* --- all files ----------------------------------------------------------- */

static bool grep_is_wanted(const struct query *q, const struct ch_walk_entry *e) {
    if (e->kind != CH_WALK_FILE)
        return false;
    return q->globs.n == 0 || ch_globs_match(&q->globs, e->below) != q->not_glob;
}

static int look_below(struct search *s, struct ch_walk *w) {
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct ch_walk_entry e;
    int rc = 1;

    while (!s->full && (rc = ch_walk_next(w, &e)) > 0) {
        if (!grep_is_wanted(s->q, &e))
            continue;
        int fd = openat(e.dir, e.name, flags);
        if (fd >= 0 && ch_path_is_listed(s->call->guard.hide, fd)) {
            close(fd);
            continue;
        }
        rc = look_at_file(s, e.path, fd);
        if (rc < 0)
            return rc;
    }
    return CH_MIN(rc, 0);
}

static void grep_add_notes(struct search *s, const struct ch_walk *w) {
    struct ch_buf *out = &s->page.text;

    if (s->matches == 0 && !s->full)
        ch_buf_addf(out, "No line matches%s%s.\n",
                    !w || s->q->walk.hidden ? "" : "; hidden files were not searched",
                    !w || s->q->walk.ignored ? "" : "; what .gitignore rules out was not searched");
    if (s->full && s->q->mode == CONTENT)
        ch_buf_addf(out,
                    "[Stopped after %lld matches; there are more. Use a narrower pattern, path or "
                    "glob.]\n",
                    (long long)s->matches);
    else if (s->full)
        ch_buf_addf(out,
                    "[Stopped after %lld files; there are more. Use a narrower path or "
                    "glob.]\n",
                    (long long)s->files);
    if (s->partly)
        ch_buf_addf(out, "[Of %zu large files only the first %zu MB were searched.]\n", s->partly,
                    CH_LIMIT_FILE_READ / CH_MB);
    if (s->given_up)
        ch_buf_addf(out, "[%zu lines were too much work for this pattern and count as no match.]\n",
                    s->given_up);
    if (w)
        ch_walk_notes(w, out);
}

static void grep_finish(struct search *s, const struct ch_walk *w) {
    ch_jw_end(&s->out, ']');
    ch_jw_kint(&s->out, "files", s->files);
    ch_jw_kbool(&s->out, "truncated", s->full);
    ch_jw_end(&s->out, '}');
    grep_add_notes(s, w);
    chela_result_text(s->call, ch_buf_str(&s->page.text), s->page.text.n);
    chela_result_details(s->call, ch_buf_str(&s->json));
}

/* Returns 0, or a negative errno for the path that the model named. */
static int grep_look(struct search *s) {
    struct ch_walk *w = NULL;
    int rc = ch_walk_new(s->call, s->q->path, &s->q->walk, &w);

    if (rc == 0) {
        rc = look_below(s, w);
    } else if (rc == -ENOTDIR) { /* a file, or a path that cannot be opened */
        CH_BUF_AUTO rel = {0};
        int fd = ch_path_open_shown(&s->call->guard, s->q->path, 0);
        ch_path_inside(chela_call_workspace(s->call), s->q->path, &rel);
        rc = fd < 0 ? fd : look_at_file(s, ch_buf_sv(&rel), fd);
    }
    if (rc == 0)
        grep_finish(s, w);
    ch_walk_free(w);
    return rc;
}

int ch_grep_run(chela_call *call, void *user) {
    struct query q;
    struct search s = {.call = call, .q = &q};

    (void)user;
    int rc = read_query(call, &q);
    if (rc == 0)
        rc = grep_read_pattern(call, &q, &s.regex);
    if (rc < 0)
        return rc;
    ch_page_init(&s.page, ch_call_room(call), NOTES);
    s.out = ch_jw(&s.json);
    ch_jw_begin(&s.out, '{');
    ch_jw_kbegin(&s.out, "matches", '[');
    rc = grep_look(&s);
    if (rc == -ETIME)
        chela_result_error(call, "invalid_arguments",
                           "The search was given up: the pattern takes too long on too many "
                           "lines. Use one without nested repetition, or literal text.");
    else if (rc < 0)
        ch_call_path_missing(call, "search", q.path, rc);
    ch_page_release(&s.page);
    ch_buf_release(&s.json);
    ch_buf_release(&s.file);
    ch_regex_free(s.regex);
    return 0;
}
