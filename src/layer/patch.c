/* patch.c -- see patch.h. The format is that of `git diff --binary --full-index`. A binary file is
 * its whole content, in a zlib stream of stored blocks. */
#include "layer/patch.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha1.h"

#define BINARY_LOOK 8000 /* bytes in which git looks for a NUL */
#define LINE_BYTES 52    /* of a line of a binary patch */
#define STORED_MAX 65535 /* of a stored block */
#define ADLER 65521
#define NO_BLOB "0000000000000000000000000000000000000000"

/* --- contents */

static bool is_binary(const struct ch_buf *text) {
    return text->n && memchr(text->p, '\0', CH_MIN(text->n, (size_t)BINARY_LOOK));
}

int ch_content_read(const struct ch_work_layer *l, const struct ch_layer_change *c,
                    struct ch_content *out, struct chela_error *err) {
    *out = (struct ch_content){.before = {.max = CH_LIMIT_LAYER_DIFF + 1},
                               .after = {.max = CH_LIMIT_LAYER_DIFF + 1}};
    int64_t most = CH_MAX(c->before_size, c->after_size);
    out->large = most > (int64_t)CH_LIMIT_LAYER_DIFF;
    if (out->large)
        return 0;
    int rc = ch_change_read(l->real, c->path, c->before, CH_LIMIT_LAYER_DIFF, &out->before, err);
    if (rc == 0)
        rc = ch_change_read(l->upper, c->path, c->after, CH_LIMIT_LAYER_DIFF, &out->after, err);
    out->binary = is_binary(&out->before) || is_binary(&out->after);
    if (rc < 0)
        ch_content_release(out);
    return rc;
}

void ch_content_release(struct ch_content *c) {
    ch_buf_release(&c->before);
    ch_buf_release(&c->after);
}

static bool is_file_or_none(enum ch_node_type t) {
    return t == CH_NODE_FILE || t == CH_NODE_NONE;
}

bool ch_change_has_hunks(const struct ch_layer_change *c, const struct ch_content *content) {
    return is_file_or_none(c->before) && is_file_or_none(c->after) && !content->binary &&
           !content->large;
}

/* --- names and ids */

static bool needs_quotes(const char *path) {
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || (unsigned char)*path >= 0x7f || *path == '"' ||
            *path == '\\')
            return true;
    return false;
}

/* Git quotes names as strings of C. */
static void add_name(struct ch_buf *out, const char *prefix, const char *path) {
    if (!needs_quotes(path)) {
        ch_buf_addf(out, "%s%s", prefix, path);
        return;
    }
    ch_buf_addf(out, "\"%s", prefix);
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || (unsigned char)*path >= 0x7f)
            ch_buf_addf(out, "\\%03o", (unsigned)(unsigned char)*path);
        else
            ch_buf_addf(out, "%s%c", *path == '"' || *path == '\\' ? "\\" : "", *path);
    ch_buf_addc(out, '"');
}

static void add_blob(struct ch_buf *out, enum ch_node_type type, const struct ch_buf *content) {
    unsigned char id[CH_SHA1_SIZE];
    CH_BUF_AUTO text = {0};

    if (type == CH_NODE_NONE) {
        ch_buf_add_str(out, NO_BLOB);
        return;
    }
    ch_buf_addf(&text, "blob %zu", content->n);
    ch_buf_addc(&text, '\0');
    ch_buf_add_sv(&text, ch_buf_sv(content));
    ch_sha1(ch_buf_sv(&text), id);
    for (size_t i = 0; i < sizeof(id); i++)
        ch_buf_addf(out, "%02x", id[i]);
}

/* Git knows three modes. */
static const char *mode_name(enum ch_node_type type, unsigned mode) {
    return type == CH_NODE_LINK ? "120000" : mode & 0100 ? "100755" : "100644";
}

/* --- binary files */

static void add_zlib(struct ch_buf *out, struct ch_sv data) {
    uint32_t a = 1, b = 0;

    ch_buf_add(out, "\x78\x01", 2);
    for (size_t from = 0; from == 0 || from < data.n;) {
        size_t n = CH_MIN(data.n - from, (size_t)STORED_MAX);
        const unsigned char head[] = {from + n == data.n, n & 255, (unsigned char)(n >> 8),
                                      ~n & 255, (unsigned char)(~n >> 8)};
        ch_buf_add(out, head, sizeof(head));
        ch_buf_add(out, data.p + from, n);
        from += n;
        if (!n)
            break;
    }
    for (size_t i = 0; i < data.n; i++) {
        a = (a + (unsigned char)data.p[i]) % ADLER;
        b = (b + a) % ADLER;
    }
    const unsigned char sum[] = {(unsigned char)(b >> 8), b & 255, (unsigned char)(a >> 8),
                                 a & 255};
    ch_buf_add(out, sum, sizeof(sum));
}

/* Five digits of base 85 for four bytes; missing bytes are zero. */
static void add_85(struct ch_buf *out, struct ch_sv bytes) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "!#$%&()*+-;<=>?@^_`{|}~";

    for (size_t from = 0; from < bytes.n; from += 4) {
        char word[5];
        uint32_t n = 0;
        for (size_t i = 0; i < 4; i++)
            n = n << 8 | (from + i < bytes.n ? (unsigned char)bytes.p[from + i] : 0);
        for (size_t i = sizeof(word); i-- > 0; n /= 85)
            word[i] = digits[n % 85];
        ch_buf_add(out, word, sizeof(word));
    }
}

static void add_literal(struct ch_buf *out, const struct ch_buf *content) {
    CH_BUF_AUTO packed = {0};

    add_zlib(&packed, ch_buf_sv(content));
    ch_buf_addf(out, "literal %zu\n", content->n);
    for (size_t from = 0; from < packed.n; from += LINE_BYTES) {
        size_t n = CH_MIN(packed.n - from, (size_t)LINE_BYTES);
        ch_buf_addc(out, (char)(n <= 26 ? 'A' + n - 1 : 'a' + n - 27));
        add_85(out, ch_sv(packed.p + from, n));
        ch_buf_addc(out, '\n');
    }
    ch_buf_addc(out, '\n');
}

/* --- a change */

static void add_head(const struct ch_layer_change *c, const struct ch_content *content,
                     struct ch_buf *out) {
    const char *old = mode_name(c->before, c->before_mode);
    const char *new = mode_name(c->after, c->after_mode);
    bool both = c->before != CH_NODE_NONE && c->after != CH_NODE_NONE;

    ch_buf_add_str(out, "diff --git ");
    add_name(out, "a/", c->path);
    ch_buf_addc(out, ' ');
    add_name(out, "b/", c->path);
    ch_buf_addc(out, '\n');
    if (c->before == CH_NODE_NONE)
        ch_buf_addf(out, "new file mode %s\n", new);
    else if (c->after == CH_NODE_NONE)
        ch_buf_addf(out, "deleted file mode %s\n", old);
    else if (strcmp(old, new) != 0)
        ch_buf_addf(out, "old mode %s\nnew mode %s\n", old, new);
    if (both && ch_sv_eq(ch_buf_sv(&content->before), ch_buf_sv(&content->after)))
        return;
    ch_buf_add_str(out, "index ");
    add_blob(out, c->before, &content->before);
    ch_buf_add_str(out, "..");
    add_blob(out, c->after, &content->after);
    if (both && strcmp(old, new) == 0)
        ch_buf_addf(out, " %s", old);
    ch_buf_addc(out, '\n');
}

static void add_texts(const struct ch_layer_change *c, const struct ch_line_diff *diff,
                      struct ch_buf *out) {
    if (!diff->nhunks)
        return;
    ch_buf_add_str(out, "--- ");
    if (c->before == CH_NODE_NONE)
        ch_buf_add_str(out, "/dev/null");
    else
        add_name(out, "a/", c->path);
    ch_buf_add_str(out, "\n+++ ");
    if (c->after == CH_NODE_NONE)
        ch_buf_add_str(out, "/dev/null");
    else
        add_name(out, "b/", c->path);
    ch_buf_addc(out, '\n');
    for (size_t i = 0; i < diff->nhunks; i++)
        ch_hunk_write(diff, &diff->hunks[i], out);
}

static void write_one(const struct ch_layer_change *c, const struct ch_content *content,
                      const struct ch_line_diff *diff, struct ch_buf *out) {
    CH_ARENA_AUTO a = {0};
    struct ch_line_diff own;

    add_head(c, content, out);
    if (content->binary && !ch_sv_eq(ch_buf_sv(&content->before), ch_buf_sv(&content->after))) {
        ch_buf_add_str(out, "GIT binary patch\n");
        add_literal(out, &content->after);
        add_literal(out, &content->before);
        return;
    }
    if (!diff) {
        ch_line_diff(&a, ch_buf_sv(&content->before), ch_buf_sv(&content->after), &own);
        diff = &own;
    }
    add_texts(c, diff, out);
}

static bool is_content(enum ch_node_type t) {
    return t == CH_NODE_FILE || t == CH_NODE_LINK;
}

void ch_patch_write(const struct ch_layer_change *c, const struct ch_content *content,
                    const struct ch_line_diff *diff, struct ch_buf *out) {
    struct ch_layer_change removed = *c, made = *c;
    struct ch_content nothing = *content;

    if (c->repository || content->large || c->before == CH_NODE_OTHER ||
        c->after == CH_NODE_OTHER || (!is_content(c->before) && !is_content(c->after)))
        return;
    if (c->before == c->after || !is_content(c->before) || !is_content(c->after)) {
        write_one(c, content, diff, out);
        return;
    }
    /* a file became a link, or the reverse: git removes the one and makes the other */
    removed.after = CH_NODE_NONE;
    nothing.after = (struct ch_buf){0};
    write_one(&removed, &nothing, NULL, out);
    made.before = CH_NODE_NONE;
    nothing = *content;
    nothing.before = (struct ch_buf){0};
    write_one(&made, &nothing, NULL, out);
}
