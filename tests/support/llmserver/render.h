/* render.h -- the state of a reply that is being written, for the files of the protocols. */
#ifndef LLMSERVER_RENDER_H
#define LLMSERVER_RENDER_H
#include "server.h"

struct render {
    struct out *out;   /* streaming, or NULL */
    struct text *body; /* whole replies, or NULL */
    const struct request *rq;
    const struct json *reply;
    const char *model;
    unsigned index; /* index of the next content block */
    unsigned calls;
    bool stopped; /* an error was written: nothing follows */
    bool malformed; /* the model wrote a malformed call */

    unsigned sequence; /* Responses: number of the next event, */
    struct text items; /* all items (steps) so far, comma separated, */
    bool refused;      /* and whether one is a refusal */
    bool signed_thought; /* Interactions: the reply has one */
};

/* Appends the bytes of all pieces; a piece, or all of them, as a JSON string. */
void add_all(struct text *t, const struct json *pieces);
void quote_piece(struct text *t, const struct json *piece);
void quote_all(struct text *t, const struct json *pieces);

void add_call_id(struct text *t, const struct render *r, const struct json *call);

/* responses.c. Writes one block, streamed or kept for the whole reply; false: this protocol
 * has no special form for the block. */
bool responses_block(struct render *r, const char *kind, const struct json *v);
void responses_begin(struct render *r);
void responses_finish(struct render *r);

/* interactions.c, likewise */
bool interactions_block(struct render *r, const char *kind, const struct json *v);
void interactions_begin(struct render *r);
void interactions_finish(struct render *r);
int interactions_error(struct text *body, int status, const char *message);

/* gemini.c */
void gemini_pieces(struct render *r, const struct json *pieces, bool thought);
void gemini_call(struct render *r, const struct json *call);
void gemini_unknown(struct render *r);
void gemini_finish(struct render *r);
void gemini_whole(struct render *r);
int gemini_error(struct text *body, const struct json *error, int status, const char *message);

#endif
