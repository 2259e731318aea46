/* form.h -- write a body of the type multipart/form-data. */
#ifndef CH_BASE_FORM_H
#define CH_BASE_FORM_H
#include "base/buf.h"

struct ch_form {
    struct ch_buf body;
    char type[64]; /* Content-Type */
    char boundary[24];
};

void ch_form_init(struct ch_form *f);
void ch_form_release(struct ch_form *f);
void ch_form_field(struct ch_form *f, const char *name, const char *value);
/* The last component of path becomes the file name. */
void ch_form_file(struct ch_form *f, const char *name, const char *path, struct ch_sv bytes);
void ch_form_end(struct ch_form *f);
/* Append the file name without characters that a form header cannot contain. */
void ch_form_name(struct ch_buf *out, const char *path);

#endif
