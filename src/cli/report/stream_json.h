/* stream_json.h -- the events of a run as the lines that the headless mode of Claude Code prints,
 * so that programs made for that form can start chela.
 *
 * A run is a line of type system (subtype init), a line of type assistant for each block of a
 * reply, a line of type user for each tool result, and a line of type result. The blocks of a
 * reply are printed when the reply is complete; `partial` also prints its pieces. Functions are
 * called on the loop thread. */
#ifndef CH_CLI_STREAM_JSON_H
#define CH_CLI_STREAM_JSON_H
#include "chela/config.h"
#include "chela/event.h"
#include "chela/session.h"
#include "cli/support/draft.h"
#include "cli/term/console.h"

enum { CH_STREAM_MODELS = 8 }; /* models of a run whose use is counted apart */

struct ch_stream_use {
    char *model; /* owned */
    struct chela_usage usage;
};

struct ch_stream_json {
    struct ch_console *console; /* borrowed */
    bool partial;               /* print pieces of replies, as lines of type stream_event */
    /* What the first line tells. Set by the caller before the first event; borrowed. */
    const char *permission_mode;
    chela_runtime *rt;
    const chela_agent *agent;
    const chela_config *configs[3]; /* with MCP servers; NULL: none */

    char *session, *model, *run; /* owned */
    unsigned turn;
    int64_t began, asked, api_ms;
    /* the reply in progress */
    struct ch_draft blocks; /* finished blocks, each a line */
    struct ch_draft block;  /* text of the block that grows */
    enum { CH_STREAM_NO_BLOCK, CH_STREAM_TEXT, CH_STREAM_THINKING, CH_STREAM_CALL } kind;
    unsigned at;  /* number of the block, from 0 */
    bool opened;  /* message_start was printed */
    /* the run so far */
    struct ch_stream_use uses[CH_STREAM_MODELS];
    struct ch_draft denials; /* calls that were refused, each a line */
    struct ch_draft calls;   /* calls of this turn, each a line */
    enum chela_stop stop;    /* of the last reply */
};

void ch_stream_json_init(struct ch_stream_json *s, struct ch_console *console);
void ch_stream_json_release(struct ch_stream_json *s);

void ch_stream_json_event(struct ch_stream_json *s, const struct chela_event *ev);

/* The line of type result of a run that did not begin. */
void ch_stream_json_failure(struct ch_stream_json *s, const char *message);

/* Print the message of a person again, as a line of type user. content: JSON. */
void ch_stream_json_echo(struct ch_stream_json *s, const char *content);

#endif
