/* vectors_file.c -- see vectors_file.h.
 *
 *   head   magic, size of a vector, number of vectors
 *   each   digest of the text, scale, one signed byte per number
 *   end    checksum of everything before */
#include "search/vectors_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/random_id.h"

#define MAGIC 0x63687631u /* a number, so that it differs in another byte order */
#define STEPS 127

struct head {
    uint32_t magic, dim, n;
};

/* --- reading ---------------------------------------------------------------------------- */

static size_t entry_size(size_t dim) {
    return 16 + sizeof(float) + dim;
}

static bool vectors_file_take(struct ch_sv *rest, void *to, size_t n) {
    if (rest->n < n)
        return false;
    memcpy(to, rest->p, n);
    *rest = ch_sv(rest->p + n, rest->n - n);
    return true;
}

static bool is_sound(struct ch_sv file, struct head *head) {
    uint32_t sum;
    struct ch_sv rest = file;

    if (!vectors_file_take(&rest, head, sizeof(*head)) || head->magic != MAGIC || head->dim == 0 ||
        head->dim > CH_LIMIT_EMBED_SIZE || head->n > CH_LIMIT_VECTORS ||
        rest.n != head->n * entry_size(head->dim) + sizeof(sum))
        return false;
    memcpy(&sum, file.p + file.n - sizeof(sum), sizeof(sum));
    return sum == ch_crc32(0, file.p, file.n - sizeof(sum));
}

static bool read_entry(struct ch_sv *rest, size_t dim, unsigned char digest[16], float *row) {
    float scale;

    if (!vectors_file_take(rest, digest, 16) || !vectors_file_take(rest, &scale, sizeof(scale)) ||
        !isfinite(scale))
        return false;
    for (size_t i = 0; i < dim; i++)
        row[i] = (float)(signed char)rest->p[i] * scale;
    *rest = ch_sv(rest->p + dim, rest->n - dim);
    return true;
}

void ch_vectors_load(struct ch_vectors *vs, const char *path) {
    CH_BUF_AUTO file = {0};
    struct chela_error ignored = {0};
    unsigned char digest[16];
    struct head head;

    if (ch_file_load(path, CH_LIMIT_VECTORS_FILE, &file, &ignored) < 0 ||
        !is_sound(ch_buf_sv(&file), &head))
        return;
    CH_AUTOFREE float *row = ch_malloc(head.dim * sizeof(*row));
    struct ch_sv rest = ch_sv(file.p + sizeof(head), file.n - sizeof(head));
    for (size_t i = 0; i < CH_MIN(head.n, CH_LIMIT_VECTORS - CH_LIMIT_MEANT); i++)
        if (read_entry(&rest, head.dim, digest, row))
            ch_vectors_put(vs, digest, row, head.dim);
}

/* --- writing ----------------------------------------------------------------------------- */

static void vectors_file_add_entry(struct ch_buf *out, const struct ch_vector *v, size_t dim) {
    float most = 0;

    for (size_t i = 0; i < dim; i++)
        most = CH_MAX(most, fabsf(v->row[i]));
    float scale = most / STEPS;
    ch_buf_add(out, v->digest, sizeof(v->digest));
    ch_buf_add(out, &scale, sizeof(scale));
    for (size_t i = 0; i < dim; i++)
        ch_buf_addc(out, scale > 0 ? (char)lrintf(v->row[i] / scale) : 0);
}

static void add_entries(struct ch_buf *out, const struct ch_vectors *vs, bool used) {
    for (size_t i = 0; i < vs->cap; i++)
        if (vs->slots[i].row && vs->slots[i].used == used)
            vectors_file_add_entry(out, &vs->slots[i], vs->dim);
}

static void make_folders(const char *path) {
    CH_BUF_AUTO part = {0};

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        ch_buf_clear(&part);
        ch_buf_add(&part, path, (size_t)(slash - path));
        mkdir(ch_buf_str(&part), 0700); /* open reports a failure */
    }
}

static int vectors_file_replace(const char *path, struct ch_sv text) {
    CH_BUF_AUTO temp = {0};
    char id[CH_RANDOM_ID];

    make_folders(path);
    ch_random_id("new_", id);
    ch_buf_addf(&temp, "%s.%s", path, id);
    int fd = open(ch_buf_str(&temp), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int rc = ch_file_write(fd, text);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && rename(ch_buf_str(&temp), path) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(ch_buf_str(&temp));
    return rc;
}

int ch_vectors_save(const struct ch_vectors *vs, const char *path) {
    struct head head = {MAGIC, (uint32_t)vs->dim, (uint32_t)vs->n};
    CH_BUF_AUTO file = {0};

    ch_buf_add(&file, &head, sizeof(head));
    add_entries(&file, vs, true);
    add_entries(&file, vs, false);
    uint32_t sum = ch_crc32(0, ch_buf_str(&file), file.n);
    ch_buf_add(&file, &sum, sizeof(sum));
    return vectors_file_replace(path, ch_buf_sv(&file));
}
