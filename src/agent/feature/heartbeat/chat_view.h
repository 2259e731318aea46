/* chat_view.h -- the view of a chat that a companion gets in one beat.
 *
 * The conversation is a transcript like any other: lines of others are input, own lines are
 * calls of an action. A beat does not send that list. It sends a view of the chat: earlier
 * lines, new lines, the participants, and the results of the companion's tool calls in this
 * turn. The view is made from the transcript for every request.
 *
 * A line is "[10:02 om_1] Ann: text". The conversation keeps the sender's id with it, as in
 * "[10:02 om_1 by ou_1] Ann: text"; the view shows the id beside a name that two senders
 * have: "[10:02 om_1] Ann (ou_1): text". Further lines of a text are indented, so that no
 * text can imitate another sender's line. Own lines have "you" in the brackets. A line that
 * answers another one says so in the brackets, which no text can imitate either: "[10:03
 * om_2 answers om_1 of Ann, "text"] Bob: yes". */
#ifndef CH_AGENT_CHAT_VIEW_H
#define CH_AGENT_CHAT_VIEW_H
#include "base/buf.h"
#include "model/message/message.h"

/* Names of actions. CH_SEND_ACTION has its text in "content". */
#define CH_SEND_ACTION "send_message"
#define CH_REACT_ACTION "react"
#define CH_SILENT_ACTION "stay_silent"
#define CH_SEPARATOR "<sep/>" /* between the parts of a message */

struct ch_chat_line {
    int64_t at;             /* ms */
    struct ch_sv id, name;  /* id may be empty */
    struct ch_sv sender;    /* the sender's id; kept only with an id of the line; may be empty */
    struct ch_sv text;
    struct ch_sv quoted, quoted_name, quoted_text; /* message that it answers; quoted empty: none */
};

/* Appends a line. */
void ch_chat_view_line(const struct ch_chat_line *l, int utc_offset, struct ch_buf *out);
/* Appends an id as it appears in a line. */
void ch_chat_view_id(struct ch_sv id, struct ch_buf *out);
/* Appends a time such as "10:02". */
void ch_chat_view_time(int64_t at, int utc_offset, struct ch_buf *out);

struct ch_chat_view_opts {
    const struct ch_transcript *transcript;
    size_t begin;   /* index of the message that this turn began with */
    unsigned lines; /* number of earlier lines to show */
    int utc_offset; /* minutes */
    const char *name;
};

struct ch_chat_view { /* zeroed: empty */
    struct ch_buf seen, fresh; /* earlier lines, new lines */
    struct ch_buf members;     /* names of participants, with their ids if known */
    struct ch_buf working;     /* thoughts, calls and results of this turn */
};

void ch_chat_view_make(const struct ch_chat_view_opts *o, struct ch_chat_view *out);
void ch_chat_view_release(struct ch_chat_view *v);

/* Number of lines that the companion said since the last input. */
unsigned ch_chat_view_said(const struct ch_transcript *t);

/* Thoughts since the last input on one line, shortened for a log. */
void ch_chat_view_thoughts(const struct ch_transcript *t, struct ch_buf *out);
/* Calls fn for the ids of the newest lines of others, oldest first. */
void ch_chat_view_ids(const struct ch_transcript *t, size_t lines,
                      void (*fn)(struct ch_sv id, void *user), void *user);

/* Takes the next part of a message: trimmed, not empty. False: no more. */
bool ch_chat_view_part(struct ch_sv *rest, struct ch_sv *part);

#endif
