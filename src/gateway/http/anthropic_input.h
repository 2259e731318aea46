/* anthropic_input.h -- reads a request of Anthropic's Messages: history, tools, settings. */
#ifndef CH_GATEWAY_ANTHROPIC_INPUT_H
#define CH_GATEWAY_ANTHROPIC_INPUT_H
#include "gateway/http/client_tools.h"
#include "gateway/lane/client_history.h"
#include "gateway/request/request.h"

/* `system` and `messages`. */
int ch_anthropic_input_history(const struct ch_json *request, struct ch_client_history *h,
                               struct chela_error *err);
/* `tools`. Tools that Anthropic defines are left out. */
int ch_anthropic_input_tools(const struct ch_json *request, struct ch_client_tools *t,
                             struct chela_error *err);
/* Sampling, `thinking`, `output_config`, `tool_choice`. Reads after the tools. */
int ch_anthropic_input_settings(struct ch_request *req, struct ch_client_tools *t,
                                struct ch_lane_opts *o, struct chela_error *err);

#endif
