/* stream_input.h -- messages and answers for a run, as lines of JSON on standard input.
 *
 * The form is that of the headless mode of Claude Code: lines of type user are messages, one run
 * each; lines of type control_request ask this program (initialize, interrupt), lines of type
 * control_response answer its questions about calls that need approval. One thread reads the lines:
 * it cancels the run that was told to it, and stores messages until they are taken. */
#ifndef CH_CLI_STREAM_INPUT_H
#define CH_CLI_STREAM_INPUT_H
#include "chela/hooks.h"
#include "chela/session.h"
#include "cli/term/console.h"

struct ch_stream_input;

enum { CH_STREAM_MEDIA = 20 }; /* images and documents of a message: the library's limit */

/* A message of a person. */
struct ch_stream_message {
    char *text;    /* owned */
    char *content; /* owned: the member `content` as JSON */
    struct chela_media media[CH_STREAM_MEDIA];
    char *urls[CH_STREAM_MEDIA]; /* owned */
    size_t nmedia;
};

/* Starts the thread. NULL: no thread could be created. console: borrowed. */
struct ch_stream_input *ch_stream_input_new(struct ch_console *console, int cancel_fd);
/* Waits for the thread, which does not outlive a signal or the end of the input. */
void ch_stream_input_free(struct ch_stream_input *in);

/* Waits for the next message. 1: there is one; 0: the input has ended, or a signal came; negative:
 * a line is wrong, and err says which. The caller releases the message. */
int ch_stream_input_next(struct ch_stream_input *in, struct ch_stream_message *m,
                         struct chela_error *err);
void ch_stream_message_release(struct ch_stream_message *m);

/* The run that a request to interrupt cancels; NULL: none. The caller holds the handle. */
void ch_stream_input_attach(struct ch_stream_input *in, chela_run *run);

/* Asks the other side about a call and waits for its decision. Without an answer, because the
 * input has ended, the approval stays undecided. The hook `approve`. */
enum chela_flow ch_stream_input_approve(struct ch_stream_input *in, chela_run *run,
                                        struct chela_approval *a);

#endif
