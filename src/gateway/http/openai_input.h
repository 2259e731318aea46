/* openai_input.h -- the `input` of Responses as a history. */
#ifndef CH_GATEWAY_OPENAI_INPUT_H
#define CH_GATEWAY_OPENAI_INPUT_H
#include "gateway/http/completion.h"

/* Reads `input`, after the items of previous_response_id. items: receives all items with
 * references resolved, JSON, comma separated, for the response that follows. Tools among
 * the items are added to r->tools. Items that are the vendor's own are kept if the agent's
 * model is of that vendor; otherwise they are left out and named in the warning. */
int ch_openai_input(struct ch_completion *r, struct ch_buf *items, struct chela_error *err);

#endif
