/* chat.h -- a conversation at a terminal: shared declarations.
 *
 * Keyboard, timers and the runtime share one thread and one libuv loop. chat.c owns the
 * loop, chat_runs.c the session and its runs; chat_show.c displays events, chat_slash.c
 * implements the commands, chat_complete.c the completion, chat_pick.c lists to choose
 * from, chat_attach.c the parts of a message, chat_child.c programs of the person. */
#ifndef CH_CLI_CHAT_H
#define CH_CLI_CHAT_H
#include <pthread.h>
#include <uv.h>

#include "chela.h"
#include "cli/term/console.h"
#include "cli/term/edit.h"
#include "cli/term/markdown.h"
#include "cli/term/pick.h"
#include "cli/term/screen.h"
#include "cli/setup/setup.h"

enum {
    CH_CHAT_CALLS = 64,    /* maximum number of running calls shown */
    CH_CHAT_UNFOLD = 65536, /* bytes of a result that can be unfolded */
    CH_CHAT_RESULTS = 100   /* results that can be unfolded */
};

struct ch_chat_call {
    char *id, *name, *label; /* owned; label: one safe line */
    char *arguments;         /* owned: the model's text */
    char *progress;          /* owned: the last lines, not yet safe; NULL: none */
};

/* A result that can be unfolded. */
struct ch_chat_result {
    char *title, *text; /* owned; not yet safe */
};

/* A question that only the person can answer; a list, oldest first. */
struct ch_chat_ask {
    struct ch_chat_ask *next;
    char *id;        /* owned: id of the approval, or of the call */
    char *arguments; /* owned: arguments of the question; NULL: an approval */
    char *text;      /* owned: text to show, not yet safe */
    bool can_remember;
    bool of_task;    /* asked by an agent in the background, which continues by itself */
};

/* A message that /undo can revert. */
struct ch_chat_undo {
    char *text;    /* owned */
    int64_t turns; /* turns of the session before it */
    uint64_t id;   /* id in the record of changes; 0: none */
};

/* A message that waits for the run. */
struct ch_chat_queued {
    char *text, *typed; /* owned; typed: before commands were expanded */
    char *outputs;      /* owned: outputs of commands in the text; NULL: none */
};

struct ch_chat;
/* Gets the id of the item that was chosen in a picker; NULL: none was. */
typedef void ch_chat_chosen_fn(struct ch_chat *c, const char *id);

/* Kind of the last output: a different kind is separated by a blank line. */
enum ch_chat_kind { CH_CHAT_NOTHING, CH_CHAT_USER, CH_CHAT_ANSWER, CH_CHAT_CALL, CH_CHAT_NOTE };

struct ch_chat {
    struct ch_console *console; /* borrowed */
    struct ch_setup *setup;     /* borrowed */
    /* Called once the prompt is shown: sets up everything but the agent, and the session's
     * key; then called again until the agent exists. */
    int (*set_up)(void *user, const char **key, struct chela_error *err);
    int (*make_agent)(void *user, const char *model, chela_agent **out, struct chela_error *err);
    void *user;
    const char *key;     /* borrowed: key of the session; NULL: a new session */
    chela_agent *agent;  /* owned by the runtime, like the session; NULL: not created yet */
    chela_session *session;
    chela_run *run;   /* owned; NULL: no run in progress */
    char *model;      /* owned: chosen by /model; NULL: the agent's */
    enum chela_approve approve; /* chosen by /approve */
    enum chela_reasoning reasoning; /* chosen by /reasoning; DEFAULT: as configured */
    const char *approve_name;   /* static: the agent's, until /approve chooses another */
    char *asked_model;   /* owned: model of the last request, at first of the agent; NULL: none */

    uv_loop_t loop;
    uv_poll_t keyboard;
    uv_timer_t tick, escape, frame;
    uv_prepare_t before_wait;
    uv_signal_t resized, continued, told[3];
    uv_async_t from_elsewhere;
    int tty; /* owned: a separate file description, because it is non-blocking */
    struct ch_screen screen;
    struct ch_edit edit;
    struct ch_history history;
    char *typed; /* owned: input set aside by an urgent question; NULL: none */
    bool dirty, leaving;
    bool completing; /* an MCP server was asked for completions */
    bool stale;     /* pieces of a reply arrived: drawn with the next frame */
    uint64_t drawn; /* time of the last drawing, in ms of the loop */
    uint64_t last_input; /* time of the last input, in ms of the loop */
    bool met; /* the conversation of the first session was shown */
    bool opening; /* the session is being read from the store */
    char *held_keys; /* owned: Enter and the keys after it, pressed meanwhile; NULL: none */
    size_t nheld_keys;
    struct ch_pick pick; /* valid while chosen is set */
    ch_chat_chosen_fn *chosen; /* NULL: no picker is open */
    char *chosen_key;          /* owned: the session that was picked first; NULL: none */
    bool pick_first;           /* begin with the picker of sessions */
    struct ch_chat_queued *queue; /* owned: messages that wait for the run */
    size_t nqueue;
    struct ch_chat_child *child; /* owned: a program that the person started; NULL: none */
    const char *command, *command_output; /* borrowed from child; NULL: no command is shown */
    bool away;                   /* the program has the terminal */
    char **pastes; /* owned: folded pastes; marks in the text refer to them */
    size_t npastes;
    char *outputs;      /* owned: outputs of commands for the next message; NULL: none */
    char *sent; /* owned: the message that may not be in the store yet, as typed; NULL: none */
    char *sent_outputs; /* owned: outputs of commands in that message; NULL: none */
    char *served;       /* owned: texts of MCP servers for the message being sent; NULL: none */
    size_t attach_from; /* position of the word that the picker of files replaces */
    bool compacting; /* the current run was started by /compact */
    size_t condensed[2]; /* tokens before its first step and after its last; zeroed: no step yet */
    unsigned interrupts; /* consecutive Ctrl-C at an empty prompt */
    int code;

    pthread_t thread;
    pthread_mutex_t lock; /* protects the following: lines of other threads */
    char *lines;
    size_t nlines;

    enum ch_chat_kind last;
    struct ch_markdown *answer;
    bool saying;      /* the answer has unfinished text or must be closed */
    bool said;        /* text of this turn was shown */
    char *thought;    /* owned: the last line of reasoning, safe; NULL: none */
    struct ch_chat_call calls[CH_CHAT_CALLS];
    size_t ncalls;
    struct ch_chat_ask *asks;
    struct ch_chat_undo *undo; /* owned, and the texts */
    size_t nundo;
    chela_undo *files; /* owned by the runtime: record of the files that runs change; NULL: none */
    size_t rewind;     /* the message that was chosen in the picker of /rewind */
    struct ch_chat_result results[CH_CHAT_RESULTS]; /* a ring */
    size_t nresults;                                /* since the beginning */
    char *plan; /* owned: steps of the plan or todo list, a line each; NULL: none */
    bool planned; /* the plan was shown above the prompt */

    int64_t context; /* tokens of the last request and its reply; 0: none */
    unsigned turn;
    uint64_t started; /* ms of the loop */
    struct chela_usage used, spent; /* usage of the run; usage of all runs in this chat */
    unsigned runs, turns, tool_calls;
    unsigned tasks; /* agents that work in the background */
};

/* Returns the exit code; if the chat could not start, *err is set (negative). */
int ch_chat_run(struct ch_chat *c, struct chela_error *err);
#endif
