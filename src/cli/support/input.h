/* input.h -- reads whole files and standard input, with a size limit. */
#ifndef CH_CLI_INPUT_H
#define CH_CLI_INPUT_H
#include <stdbool.h>
#include <stddef.h>

#include "chela/error.h"

enum {
    CH_INPUT_PROMPT = 16 << 20, /* the library's limit of a prompt */
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
 * CHELA_ECANCELED. `waiting` (may be NULL) is called once if no input arrives for a while,
 * so that the user can be told. */
int ch_input_stdin(size_t max, int cancel_fd, void (*waiting)(void *user), void *user,
                   struct ch_cli_input *out, struct chela_error *err);

/* True if standard input is a pipe or a redirected file; not a terminal, a device or a
 * socket, which may stay open without sending anything. */
bool ch_input_piped(void);

/* TEXT itself, or the contents of the file for "@FILE". */
int ch_input_text(const char *text, size_t max, struct ch_cli_input *out, struct chela_error *err);

void ch_input_release(struct ch_cli_input *in);

#endif
