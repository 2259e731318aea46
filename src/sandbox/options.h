/* options.h -- parse the command line with one table. */
#ifndef CH_SANDBOX_OPTIONS_H
#define CH_SANDBOX_OPTIONS_H
#include "sandbox/box.h"

/* Parse the command line: "--name=value" words, "--", the command. The box
 * keeps pointers into argv. */
void ch_box_parse(struct ch_box *box, int argc, char **argv);
void ch_argv_add(struct ch_argv *w, const char *word);

/* Format a text that lives until the process ends. */
char *ch_text(const char *fmt, ...) CHELA_PRINTF(1, 2);

char *ch_real_path(const char *path); /* NULL: no such file */

#endif
