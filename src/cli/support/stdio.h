/* stdio.h -- standard input and output in a loop, for commands that speak a protocol there.
 *
 * Bytes that arrive go to `take`, but not while the other side leaves much output unread. The
 * loop stops when the other side is gone, when a signal arrives, or when the input has ended,
 * `busy` returns false and the output is written. */
#ifndef CH_CLI_STDIO_H
#define CH_CLI_STDIO_H
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct ch_stdio {
    uv_loop_t loop; /* for the runtimes of the command */
    /* Returns an exit code to end with an error, or -1 to continue. */
    int (*take)(const char *p, size_t n, void *user);
    bool (*busy)(void *user);
    void *user;
    bool no_input; /* standard input is not read: the loop runs until a signal */
    int code;      /* exit code */
    union {
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
    } in, out;
    bool in_file, out_file; /* a regular file: read and written without the loop */
    uv_prepare_t before_wait;
    uv_idle_t more; /* a file is not read to its end: do not wait */
    uv_signal_t signals[2];
    bool began;
    bool ended; /* the other side has stopped writing */
    bool gone;  /* the other side has stopped reading */
    char bytes[65536];
};

/* Create the loop. */
void ch_stdio_init(struct ch_stdio *s);
/* Read standard input and run the loop until its end. */
void ch_stdio_run(struct ch_stdio *s);
void ch_stdio_write(struct ch_stdio *s, const char *p, size_t n);
/* Close the streams. Then the command closes its runtimes, and calls ch_stdio_release. */
void ch_stdio_close(struct ch_stdio *s);
void ch_stdio_release(struct ch_stdio *s);

#endif
