/* read.c -- the tool `read`: lines of a text file, or an image.
 *
 * The file is read in chunks and only the requested lines are kept, so a large file costs
 * time but no memory. The result fits the result limit and tells the model which lines it
 * contains and how to get the next ones. */
#include "tool/call/call_path.h"
#include "tool/builtin/files/read.h"

#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tool/builtin/files/file.h"
#include "tool/call/call.h"
#include "json/writer.h"
#include "tool/call/call_view.h"

#define CHUNK (64 * CH_KB)
#define SNIFF (8 * CH_KB)
#define NOTES 1000 /* characters reserved for notes after the lines */

struct reading {
    int64_t first, limit; /* requested lines */
    int64_t line;         /* the line being read, from 1 */
    struct ch_shape_room room; /* room left */
    size_t characters;    /* characters kept so far */
    int64_t last;         /* last complete line kept, 0: none */
    size_t last_end;      /* end of that line in text */
    bool full;            /* keep nothing more */
    bool open_line;       /* the last line had no line feed */
    uint64_t bytes;       /* bytes of the file read */
    struct ch_buf text;
};

/* --- kinds of files ------------------------------------------------------ */

enum sort { IMAGE, BINARY, MAYBE /* binary only if its content looks binary */ };

static const struct kind {
    const char *type, *magic;
    size_t n, at;
    const char *also; /* second magic number, at byte 8 */
    enum sort sort;
} kinds[] = {
    {"image/png", "\x89PNG\r\n\x1a\n", 8, 0, NULL, IMAGE},
    {"image/jpeg", "\xff\xd8\xff", 3, 0, NULL, IMAGE},
    {"image/gif", "GIF87a", 6, 0, NULL, IMAGE},
    {"image/gif", "GIF89a", 6, 0, NULL, IMAGE},
    {"image/webp", "RIFF", 4, 0, "WEBP", IMAGE},
    {"a PDF document", "%PDF-", 5, 0, NULL, BINARY},
    {"a ZIP archive or an office document", "PK\x03\x04", 4, 0, NULL, BINARY},
    {"a gzip archive", "\x1f\x8b", 2, 0, NULL, BINARY},
    {"an xz archive", "\xfd\x37zXZ", 5, 0, NULL, BINARY},
    {"a zstd archive", "\x28\xb5\x2f\xfd", 4, 0, NULL, BINARY},
    {"an ELF program",
     "\x7f"
     "ELF",
     4, 0, NULL, BINARY},
    {"an SQLite database", "SQLite format 3", 16, 0, NULL, BINARY},
    {"UTF-16 text", "\xff\xfe", 2, 0, NULL, MAYBE},
    {"UTF-16 text", "\xfe\xff", 2, 0, NULL, MAYBE},
    {"a video", "ftyp", 4, 4, NULL, MAYBE},
    {"audio", "ID3", 3, 0, NULL, MAYBE},
    {"audio or video", "RIFF", 4, 0, NULL, MAYBE},
    {"binary data", "", 0, 0, NULL, MAYBE},
};

static bool is_kind(const struct kind *k, struct ch_sv head) {
    if (head.n < k->at + k->n || memcmp(head.p + k->at, k->magic, k->n) != 0)
        return false;
    return !k->also || (head.n >= 12 && memcmp(head.p + 8, k->also, 4) == 0);
}

static const struct kind *files_read_kind_of(struct ch_sv head) {
    const struct kind *k = kinds;

    while (!is_kind(k, head))
        k++; /* the last row matches anything */
    return k;
}

static int files_read_show_image(chela_call *call, const char *path, int fd, const struct stat *st,
                                 const char *type) {
    CH_BUF_AUTO data = {0};

    if ((uint64_t)st->st_size > CH_LIMIT_IMAGE_READ)
        return chela_result_error(call, "invalid_arguments",
                                  "Cannot read %s: the image has %lld bytes, the limit is %zu.",
                                  path, (long long)st->st_size, CH_LIMIT_IMAGE_READ);
    int rc =
        lseek(fd, 0, SEEK_SET) < 0 ? -errno : ch_file_read(call, fd, CH_LIMIT_IMAGE_READ, &data);
    if (rc < 0)
        return ch_call_path_refuse(call, "read", path, rc);
    chela_result_printf(call, "%s: %s, %zu bytes", path, type, data.n);
    chela_result_media(call, type, data.p, data.n);
    return 0;
}

static int refuse_binary(chela_call *call, const char *path, const struct stat *st,
                         const char *hint) {
    return chela_result_error(call, "invalid_arguments",
                              "Cannot read %s: it is not text but %s (%lld bytes).", path, hint,
                              (long long)st->st_size);
}

/* --- lines --------------------------------------------------------------- */

/* Keep as much of this piece of the current line as fits. */
static void files_read_keep(struct reading *r, struct ch_sv piece) {
    size_t n = 0;

    while (n < piece.n) {
        bool starts = ((unsigned char)piece.p[n] & 0xc0) != 0x80;
        if (starts && !ch_room_spend(&r->room, piece.p[n])) {
            r->full = true;
            break;
        }
        r->characters += starts;
        n++;
    }
    ch_buf_add(&r->text, piece.p, n);
}

static void files_read_end_line(struct reading *r) {
    if (r->line >= r->first && !r->full) {
        r->last = r->line;
        r->last_end = r->text.n;
        if (r->line - r->first + 1 >= r->limit || r->room.chars == 0)
            r->full = true;
    }
    r->line++;
}

static void files_read_feed(struct reading *r, struct ch_sv data) {
    r->bytes += data.n;
    while (data.n > 0) {
        const char *nl = memchr(data.p, '\n', data.n);
        size_t n = nl ? (size_t)(nl - data.p) + 1 : data.n;
        if (r->line >= r->first && !r->full)
            files_read_keep(r, ch_sv(data.p, n));
        r->open_line = !nl;
        if (nl)
            files_read_end_line(r);
        data = ch_sv(data.p + n, data.n - n);
    }
}

static int files_read_lines(const chela_call *call, int fd, struct reading *r) {
    CH_AUTOFREE char *chunk = ch_malloc(CHUNK);

    while (r->bytes < CH_LIMIT_FILE_READ) {
        if (chela_call_cancelled(call))
            return -ECANCELED;
        ssize_t n = read(fd, chunk, CH_MIN(CHUNK, CH_LIMIT_FILE_READ - r->bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        files_read_feed(r, ch_sv(chunk, (size_t)n));
    }
    if (r->open_line)
        files_read_end_line(r);
    if (r->last) /* a partial line is kept only if it is the only one */
        r->text.n = r->last_end;
    return 0;
}

static void files_read_add_note(struct reading *r, const struct stat *st) {
    int64_t lines = r->line - 1;
    const char *of = r->bytes < (uint64_t)st->st_size ? "at least " : "";
    CH_BUF_AUTO note = {0};

    if (r->last < r->first)
        ch_buf_addf(&note, "[Line %lld is too long: only its first %zu characters are shown.",
                    (long long)r->first, r->characters);
    else if (r->last < lines)
        ch_buf_addf(&note, "[Lines %lld to %lld of %s%lld.", (long long)r->first,
                    (long long)r->last, of, (long long)lines);
    else if (of[0])
        ch_buf_addf(&note, "[Only the first %zu MB of the file's %lld bytes can be read.",
                    CH_LIMIT_FILE_READ / CH_MB, (long long)st->st_size);
    if (CH_MAX(r->last, r->first) < lines)
        ch_buf_addf(&note, " Use offset=%lld to read on.",
                    (long long)CH_MAX(r->last, r->first) + 1);
    if (note.n == 0)
        return;
    if (r->text.n && r->text.p[r->text.n - 1] != '\n')
        ch_buf_addc(&r->text, '\n');
    ch_buf_addf(&r->text, "%s]\n", ch_buf_str(&note));
}

static int show_text(chela_call *call, const char *path, struct reading *r, const struct stat *st) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    if (st->st_size == 0 && r->bytes == 0) {
        chela_result_printf(call, "(The file is empty.)");
        return 0;
    }
    if (r->first > r->line - 1)
        return chela_result_error(call, "invalid_arguments",
                                  "offset %lld is past the end: %s has %lld lines.",
                                  (long long)r->first, path, (long long)r->line - 1);
    files_read_add_note(r, st);
    chela_result_text(call, ch_buf_str(&r->text), r->text.n);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "path", path);
    ch_jw_kint(&w, "firstLine", r->first);
    ch_jw_kint(&w, "lastLine", CH_MAX(r->last, r->first));
    ch_jw_kint(&w, "totalLines", r->line - 1);
    ch_jw_end(&w, '}');
    chela_result_details(call, ch_buf_str(&json));
    return 0;
}

/* --- the tool ------------------------------------------------------------ */

static int files_read_range(chela_call *call, struct reading *r) {
    r->first = 1;
    r->limit = CH_LIMIT_READ_LINES;
    int rc = chela_arg_int_opt(call, "offset", &r->first);
    if (rc == 0)
        rc = chela_arg_int_opt(call, "limit", &r->limit);
    if (rc < 0)
        return rc;
    if (r->first < 0 || r->limit < 1) {
        chela_result_error(call, "invalid_arguments",
                           "offset and limit count lines and must be at least 1.");
        return CHELA_EINVAL;
    }
    r->first = CH_MAX(r->first, 1); /* some models count lines from 0 */
    r->limit = CH_MIN(r->limit, CH_LIMIT_READ_LINES);
    return 0;
}

int ch_read_check(chela_call *call, void *user) {
    struct reading r;
    int rc = ch_file_check(call, user);

    return rc < 0 ? rc : files_read_range(call, &r);
}

static int files_read_file(chela_call *call, const char *path, int fd, const struct stat *st,
                           struct reading *r) {
    CH_AUTOFREE char *head = ch_malloc(SNIFF);
    ssize_t n = pread(fd, head, SNIFF, 0);

    if (n < 0)
        return ch_call_path_refuse(call, "read", path, -errno);
    struct ch_sv start = ch_sv(head, (size_t)n);
    const struct kind *kind = files_read_kind_of(start);
    if (kind->sort == IMAGE)
        return files_read_show_image(call, path, fd, st, kind->type);
    if (kind->sort == BINARY || !ch_file_is_text(start))
        return refuse_binary(call, path, st, kind->type);
    int rc = files_read_lines(call, fd, r);
    if (rc < 0)
        return ch_call_path_refuse(call, "read", path, rc);
    return show_text(call, path, r, st);
}

int ch_read_run(chela_call *call, void *user) {
    struct reading r = {.line = 1, .room = ch_room_less(ch_call_room(call), NOTES)};
    const char *path;
    struct stat disk, st;

    (void)user;
    int rc = ch_file_arg(call, &path);
    if (rc == 0)
        rc = files_read_range(call, &r);
    if (rc < 0)
        return rc;
    int fd = ch_file_open(call, path, &disk);
    if (fd == -EISDIR)
        return chela_result_error(call, "invalid_arguments",
                                  "Cannot read %s: it is a directory; use ls.", path);
    if (fd < 0)
        return ch_call_path_missing(call, "read", path, fd);
    rc = fstat(fd, &st) < 0 ? ch_call_path_refuse(call, "read", path, -errno)
                            : files_read_file(call, path, fd, &st, &r);
    close(fd);
    ch_buf_release(&r.text);
    return rc;
}
