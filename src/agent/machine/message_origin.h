/* message_origin.h -- what a channel told about a message, as a model is told it.
 *
 * It goes where the message goes: waits with it, is written down with it, and
 * stands at the end of the requests that answer it. */
#ifndef CH_AGENT_MESSAGE_ORIGIN_H
#define CH_AGENT_MESSAGE_ORIGIN_H

struct ch_about { /* owned texts; NULL: nothing */
    char *blocks; /* for the model */
    char *id;     /* of the message */
};

struct ch_about ch_about_copy(const struct ch_about *about); /* NULL: of nothing */
void ch_about_release(struct ch_about *about);
/* Into *to, in the place of what is there, if there is anything in *from. */
void ch_about_move(struct ch_about *to, struct ch_about *from);

#endif
