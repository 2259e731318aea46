/* options.h -- the command line, along one table. */
#ifndef CH_SANDBOX_OPTIONS_H
#define CH_SANDBOX_OPTIONS_H
#include "sandbox/box.h"

/* Read the command line, "--name=value" words, then "--", then the command.
 * Everything stays a pointer into it. */
void ch_box_parse(struct ch_box *box, int argc, char **argv);
void ch_argv_add(struct ch_argv *w, const char *word);

/* Texts that live until the process ends. */
char *ch_text(const char *fmt, ...) CHELA_PRINTF(1, 2);

char *ch_real_path(const char *path); /* NULL: there is no such file */

#endif
