/* chat_view.h -- a chat as a companion sees it in one beat.
 *
 * Its conversation is a transcript like any other: what was heard is input, what
 * was said are calls of an action. A beat does not send that list. It is shown
 * the chat: the lines before, the new ones, who takes part, and what it found
 * out in this turn. All of it is made from the transcript, each time anew.
 *
 * A line is "[10:02 om_1] Ann: text"; more lines of a text are indented, so that
 * nobody can write a line of somebody else. Its own have "you" in the brackets.
 * One that answers another says so in them, where nobody can write either:
 * "[10:03 om_2 answers om_1 of Ann, "text"] Bob: yes". */
#ifndef CH_AGENT_CHAT_VIEW_H
#define CH_AGENT_CHAT_VIEW_H
#include "base/buf.h"
#include "model/message/message.h"

/* The action that says something, with its text in "content". */
#define CH_SEND_ACTION "send_message"
#define CH_REACT_ACTION "react"
#define CH_SILENT_ACTION "stay_silent"
#define CH_SEPARATOR "<sep/>" /* between the parts of what is said */

struct ch_chat_line {
    int64_t at;             /* ms */
    struct ch_sv id, name;  /* id may be empty */
    struct ch_sv text;
    struct ch_sv quoted, quoted_name, quoted_text; /* what it answers; the id empty: nothing */
};

/* Appended, with a line break. */
void ch_chat_view_line(const struct ch_chat_line *l, int utc_offset, struct ch_buf *out);
/* An id as a line has it. */
void ch_chat_view_id(struct ch_sv id, struct ch_buf *out);
/* "10:02" */
void ch_chat_view_time(int64_t at, int utc_offset, struct ch_buf *out);

struct ch_chat_view_opts {
    const struct ch_transcript *transcript;
    size_t begin;   /* the message that this turn began with */
    unsigned lines; /* to show, of those before it */
    int utc_offset; /* minutes */
    const char *name;
};

struct ch_chat_view { /* zeroed: empty */
    struct ch_buf seen, fresh; /* lines */
    struct ch_buf members;     /* names */
    struct ch_buf working;     /* thoughts, calls and results of this turn */
    size_t nfresh;
};

void ch_chat_view_make(const struct ch_chat_view_opts *o, struct ch_chat_view *out);
void ch_chat_view_release(struct ch_chat_view *v);

/* How many lines it said since it was last told something. */
unsigned ch_chat_view_said(const struct ch_transcript *t);

/* What it thought meanwhile, on one line, as much as a log should have of it. */
void ch_chat_view_thoughts(const struct ch_transcript *t, struct ch_buf *out);
/* The ids of the last so many lines of others, the oldest first. */
void ch_chat_view_ids(const struct ch_transcript *t, size_t lines,
                      void (*fn)(struct ch_sv id, void *user), void *user);

/* The next part of what is to be said: trimmed, never empty; false: no more. */
bool ch_chat_view_part(struct ch_sv *rest, struct ch_sv *part);

#endif
