/* form.c -- see form.h. */
#include "base/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/limits.h"

/* The boundary is random, so no file contains the boundary. */
void ch_form_init(struct ch_form *f) {
    unsigned long long r;
    if (getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
        abort();
    ch_buf_init(&f->body, CH_LIMIT_CHANNEL_FILE + 64 * CH_KB);
    snprintf(f->boundary, sizeof(f->boundary), "chela-%016llx", r);
    snprintf(f->type, sizeof(f->type), "multipart/form-data; boundary=%s", f->boundary);
}

void ch_form_release(struct ch_form *f) {
    ch_buf_release(&f->body);
}

void ch_form_field(struct ch_form *f, const char *name, const char *value) {
    ch_buf_addf(&f->body, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n",
                f->boundary, name, value);
}

/* The model chose the name: remove quotes and line breaks. */
void ch_form_name(struct ch_buf *out, const char *path) {
    const char *slash = strrchr(path, '/');
    for (const char *p = slash ? slash + 1 : path; *p; p++)
        ch_buf_addc(out, (unsigned char)*p < ' ' || *p == '"' || *p == '\\' ? '_' : *p);
}

void ch_form_file(struct ch_form *f, const char *name, const char *path, struct ch_sv bytes) {
    ch_buf_addf(&f->body, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"",
                f->boundary, name);
    ch_form_name(&f->body, path);
    ch_buf_add_str(&f->body, "\"\r\nContent-Type: application/octet-stream\r\n\r\n");
    ch_buf_add_sv(&f->body, bytes);
    ch_buf_add_str(&f->body, "\r\n");
}

void ch_form_end(struct ch_form *f) {
    ch_buf_addf(&f->body, "--%s--\r\n", f->boundary);
}
