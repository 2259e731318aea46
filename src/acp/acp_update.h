/* acp_update.h -- events and stored messages as notifications of protocol version 1.
 *
 * The encoder writes the object `update` of a session/update. Another version of the protocol
 * is another encoder. */
#ifndef CH_ACP_UPDATE_H
#define CH_ACP_UPDATE_H
#include "base/buf.h"
#include "chela/event.h"
#include "json/json.h"

/* A call that runs: the editor gets its output as a whole each time. */
struct ch_acp_call {
    struct ch_acp_call *next;
    char *id; /* owned */
    struct ch_buf output;
};

/* What the editor has been shown of the current run. */
struct ch_acp_shown {
    const char *cwd; /* borrowed: paths in arguments are relative to it */
    unsigned turn;
    size_t window;             /* context window of the model in tokens; 0: unknown */
    bool compactions;          /* the editor shows compactions */
    bool notices;              /* the editor shows notices */
    struct ch_acp_call *calls; /* owned */
};

/* Receives the object `update`; borrowed until the function returns. */
typedef void ch_acp_update_fn(struct ch_sv update, void *user);

void ch_acp_update_event(struct ch_acp_shown *shown, const struct chela_event *ev,
                         ch_acp_update_fn *fn, void *user);
/* A message of the store, as model/message/message_json.h writes it. */
void ch_acp_update_message(struct ch_acp_shown *shown, const struct ch_json *message,
                           ch_acp_update_fn *fn, void *user);
/* The run has ended: forget its calls. */
void ch_acp_shown_release(struct ch_acp_shown *shown);

/* The fields of a call: toolCallId, title, kind, locations, rawInput and content. arguments:
 * JSON text. The content is the change of a file, else `text`; an empty text is left out. */
struct ch_jw;
void ch_acp_update_call(struct ch_jw *w, const struct ch_acp_shown *shown, struct ch_sv id,
                        struct ch_sv name, struct ch_sv arguments, struct ch_sv text);
/* {"type":"content","content":{"type":"text","text":...}} */
void ch_acp_update_text(struct ch_jw *w, struct ch_sv text);

#endif
