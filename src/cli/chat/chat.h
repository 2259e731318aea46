/* chat.h -- a conversation at a terminal: what its parts share.
 *
 * One thread, one libuv loop: the keyboard, the clock and the runtime live in
 * it. chat.c owns the loop and the life of runs, chat_show.c says what events
 * look like, chat_slash.c has the commands, chat_complete.c what Tab offers. */
#ifndef CH_CLI_CHAT_H
#define CH_CLI_CHAT_H
#include <pthread.h>
#include <uv.h>

#include "chela.h"
#include "cli/term/console.h"
#include "cli/term/edit.h"
#include "cli/term/markdown.h"
#include "cli/term/screen.h"
#include "cli/setup/setup.h"

enum {
    CH_CHAT_CALLS = 64,    /* tool calls that are shown as running */
    CH_CHAT_UNFOLD = 65536 /* bytes of a result that can be unfolded */
};

struct ch_chat_call {
    char *id, *name, *label; /* owned; label: safe, one line */
    char *arguments;         /* owned: as the model wrote them */
    char *progress;          /* owned: safe; NULL */
};

/* Something that only the person can say; a list, the oldest first. */
struct ch_chat_ask {
    struct ch_chat_ask *next;
    char *id;        /* owned: of the approval, or of the call */
    char *arguments; /* owned: of the question; NULL: it is an approval */
    char *text;      /* owned: what is shown, not yet safe */
    bool can_remember;
};

/* A message that /undo can take back. */
struct ch_chat_undo {
    char *text;    /* owned */
    int64_t turns; /* of the session before it */
};

/* What stands above: things of another kind are set off by a blank line. */
enum ch_chat_kind { CH_CHAT_NOTHING, CH_CHAT_USER, CH_CHAT_ANSWER, CH_CHAT_CALL, CH_CHAT_NOTE };

struct ch_chat {
    struct ch_console *console; /* borrowed */
    struct ch_setup *setup;     /* borrowed */
    /* Called once the prompt is shown: all but the agent, and the session's key;
     * then, until there is one, the agent. */
    int (*set_up)(void *user, const char **key, struct chela_error *err);
    int (*make_agent)(void *user, const char *model, chela_agent **out, struct chela_error *err);
    void *user;
    const char *key;     /* borrowed: of the session; NULL: a fresh one */
    chela_agent *agent;  /* the runtime's, as the session; NULL: not yet possible */
    chela_session *session;
    chela_run *run;   /* owned; NULL: none is in progress */
    char *model;      /* owned: what /model chose; NULL: the agent's */
    const char *approve; /* what /approve chose; NULL: the agent's */
    char *asked_model;   /* owned: the one that was asked last; NULL */

    uv_loop_t loop;
    uv_poll_t keyboard;
    uv_timer_t tick, escape;
    uv_prepare_t before_wait;
    uv_signal_t resized, told[3];
    uv_async_t from_elsewhere;
    int tty; /* owned: a description of our own, for it does not block */
    struct ch_screen screen;
    struct ch_edit edit;
    struct ch_history history;
    char *typed; /* owned: the text that an urgent question put aside; NULL */
    bool dirty, leaving;
    unsigned interrupts; /* Ctrl-C at an empty prompt, in a row */
    int code;

    pthread_t thread;
    pthread_mutex_t lock; /* of what follows: lines of other threads */
    char *lines;
    size_t nlines;

    enum ch_chat_kind last;
    struct ch_markdown *answer;
    bool saying;      /* the answer has unfinished text or is to be closed */
    bool said;        /* text of this turn was shown */
    char *thought;    /* owned: the last line of the reasoning, safe; NULL */
    struct ch_chat_call calls[CH_CHAT_CALLS];
    size_t ncalls;
    struct ch_chat_ask *asks;
    struct ch_chat_undo *undo; /* owned, and the texts */
    size_t nundo;
    char *folded; /* owned: the last result, to be unfolded; NULL */

    unsigned turn;
    uint64_t started; /* ms of the loop */
    struct chela_usage used, spent; /* of the run; of all runs here */
    unsigned runs, turns, tool_calls;
};

/* Returns the exit code; what could not even begin is in *err (negative). */
int ch_chat_run(struct ch_chat *c, struct chela_error *err);
/* Make the agent if there is none. False: that cannot be, and it was said why. */
bool ch_chat_ready(struct ch_chat *c);
/* A message of the person; typed: what it was made of. */
void ch_chat_say(struct ch_chat *c, const char *text, const char *typed);
void ch_chat_switch(struct ch_chat *c, const char *key); /* to another session */
void ch_chat_resume(struct ch_chat *c);
void ch_chat_compact(struct ch_chat *c, const char *focus);
void ch_chat_forget_undo(struct ch_chat *c);
void ch_chat_leave(struct ch_chat *c);

#endif
