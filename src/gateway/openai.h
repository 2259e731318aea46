/* openai.h -- what the two OpenAI protocols have in common. */
#ifndef CH_GATEWAY_OPENAI_H
#define CH_GATEWAY_OPENAI_H
#include "gateway/history.h"
#include "gateway/lane.h"
#include "gateway/routes.h"

/* Room for what struct ch_lane_opts points to; lives as long as it is used. */
struct ch_openai_params {
    double temperature, top_p;
    int64_t seed;
    const char **stop;
};

/* Find the agent that `model` names. CHELA_ENOENT lists those there are. */
int ch_openai_agent(struct ch_visit *v, struct ch_lane_opts *o, struct chela_error *err);
/* temperature, top_p, seed, stop and the longest reply. */
int ch_openai_sampling(struct ch_visit *v, struct ch_openai_params *p, struct ch_lane_opts *o,
                       struct chela_error *err);
/* One tool of the caller's from {name, description, parameters}. */
int ch_openai_tool(struct ch_visit *v, const struct ch_json *f, struct chela_tool_opts *tools,
                   size_t *n, struct chela_error *err);
/* auto, none, required, or the one that is named. */
int ch_openai_choice(struct ch_visit *v, struct ch_lane_opts *o, struct chela_error *err);

/* openai_messages.c: the `messages` of Chat Completions. */
int ch_openai_messages(const struct ch_json *messages, struct ch_history *h,
                       struct chela_error *err);

#endif
