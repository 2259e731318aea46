/* input.h -- whole files and standard input, up to a bound. */
#ifndef CH_CLI_INPUT_H
#define CH_CLI_INPUT_H
#include <stdbool.h>
#include <stddef.h>

#include "chela/error.h"

enum {
    CH_INPUT_PROMPT = 16 << 20, /* what the library takes as one prompt */
    CH_INPUT_SYSTEM = 4 << 20,  /* instructions read from a file */
    CH_INPUT_BODY = 64 << 20,   /* a recorded response or a request */
};

struct ch_cli_input {
    char *p; /* owned, NUL-terminated (n does not count it) */
    size_t n;
};

/* Read path to its end; "-" is standard input. More than max bytes are
 * CHELA_ELIMIT. Messages name the path. */
int ch_input_file(const char *path, size_t max, struct ch_cli_input *out, struct chela_error *err);

/* The same for standard input, until cancel_fd (-1: none) becomes readable:
 * CHELA_ECANCELED. `waiting` (may be NULL) is called once when nothing has
 * come for a while, so that the user can be told what is waited for. */
int ch_input_stdin(size_t max, int cancel_fd, void (*waiting)(void *user), void *user,
                   struct ch_cli_input *out, struct chela_error *err);

/* Is standard input something somebody piped or redirected into us? Not a
 * terminal, a device or a socket: those stay open without meaning to speak. */
bool ch_input_piped(void);

/* TEXT, or the contents of the file when it says "@FILE". */
int ch_input_text(const char *text, size_t max, struct ch_cli_input *out, struct chela_error *err);

void ch_input_release(struct ch_cli_input *in);

#endif
