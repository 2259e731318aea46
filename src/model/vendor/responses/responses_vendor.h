/* responses_vendor.h -- calls of tools that OpenAI defined, or that take free text.
 *
 * Such a call is an item of its own type, and so is its result. In the history it is an ordinary
 * call with CH_RUN_RUNTIME, whose arguments are the member of the item that says what to do, or
 * {"input": the free text}; `extra` keeps the type of the item. To a service that does not know
 * the tool it is sent as the call of a function. */
#ifndef CH_MODEL_RESPONSES_VENDOR_H
#define CH_MODEL_RESPONSES_VENDOR_H
#include "model/codec/codec.h"

struct ch_responses_vendor {
    const char *item;   /* type of the call's item; that of its result has "_output" added */
    const char *tool;   /* type of the tool in a request */
    const char *name;   /* of the call in the history; NULL: the item has a name */
    const char *member; /* of the item: what to do */
};

/* The row of an item type; NULL: none. */
const struct ch_responses_vendor *ch_responses_vendor(struct ch_sv item);
/* True if such a call in an answer to this request is for the client: the request declares the
 * tool, and a shell of the client's machine. ep NULL: the request is not known; only custom tools
 * are the client's. name: of a custom tool. */
bool ch_responses_vendor_is_ours(const struct ch_responses_vendor *v, const struct ch_endpoint *ep,
                                 struct ch_sv server_tools, struct ch_sv name);
/* The row of a call in a history that is sent as an item of the vendor's to this request; NULL:
 * as the call of a function. own: the message is of this service. */
const struct ch_responses_vendor *ch_responses_vendor_of(const struct ch_model_request *req,
                                                         const struct ch_block *call, bool own);
/* Write the members of such an item that say what to do, or what came of it. */
void ch_responses_vendor_call(const struct ch_responses_vendor *v, const struct ch_block *call,
                              struct ch_jw *w);
void ch_responses_vendor_output(const struct ch_responses_vendor *v, const struct ch_block *call,
                                const struct ch_block *result, struct ch_jw *w);

#endif
