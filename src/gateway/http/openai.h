/* openai.h -- agents as models, and the settings that OpenAI's two protocols share.
 *
 * Texts that struct ch_lane_opts points to live in the request's arena. */
#ifndef CH_GATEWAY_OPENAI_H
#define CH_GATEWAY_OPENAI_H
#include "gateway/lane/lane.h"
#include "gateway/request/request.h"

/* GET /v1/models and GET /v1/models/{id} */
ch_http_route_fn ch_openai_models, ch_openai_model;

/* Storage for values that struct ch_lane_opts points to. */
struct ch_openai_params {
    double temperature, top_p;
    int64_t seed;
    const char **stop;
};

/* Finds the agent that `model` names. CHELA_ENOENT: the error lists the known ones. */
int ch_openai_agent(struct ch_request *req, struct ch_lane_opts *o, struct chela_error *err);
/* Reads temperature, top_p, seed, stop and the limit of output tokens. */
int ch_openai_sampling(struct ch_request *req, struct ch_openai_params *p, struct ch_lane_opts *o,
                       struct chela_error *err);
/* Reads one tool of the caller, {name, description, parameters}. */
int ch_openai_tool(struct ch_request *req, const struct ch_json *f, struct chela_tool_opts *tools,
                   size_t *n, struct chela_error *err);
/* Reads `tools`; each is a {name, description, parameters}, or holds one as `member`. */
int ch_openai_tools(struct ch_request *req, const char *member, struct ch_lane_opts *o,
                    struct chela_error *err);
/* Reads the format of the reply: text, json_object, or json_schema with a schema. name: of
 * the member that f is, for errors. */
int ch_openai_format(struct ch_request *req, const char *name, const struct ch_json *f,
                     const struct ch_json *schema, struct ch_lane_opts *o,
                     struct chela_error *err);
/* Reads `tool_choice`: auto, none, required, or a tool by name. */
int ch_openai_choice(struct ch_request *req, struct ch_lane_opts *o, struct chela_error *err);

/* Writes the member "usage". in, out: the protocol's names for the two kinds of tokens. */
void ch_openai_write_usage(struct ch_jw *w, const char *in, const char *out,
                           const struct chela_usage *u);

#endif
