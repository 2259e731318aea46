/* openai.h -- what the two OpenAI protocols have in common. */
#ifndef CH_GATEWAY_OPENAI_H
#define CH_GATEWAY_OPENAI_H
#include "gateway/lane/history.h"
#include "gateway/lane/lane.h"
#include "gateway/http/routes.h"

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
/* The caller's tools, `tools`: each a {name, description, parameters}, or holding one
 * under `member`. */
int ch_openai_tools(struct ch_visit *v, const char *member, struct ch_lane_opts *o,
                    struct chela_error *err);
/* The form of the answer: text, json_object or, with its schema, json_schema. name: of
 * the member that f is, for messages. */
int ch_openai_format(struct ch_visit *v, const char *name, const struct ch_json *f,
                     const struct ch_json *schema, struct ch_lane_opts *o,
                     struct chela_error *err);
/* auto, none, required, or the one that is named. */
int ch_openai_choice(struct ch_visit *v, struct ch_lane_opts *o, struct chela_error *err);

/* --- openai_completion.c: an answer, from the request to its end. The protocols' own
 * structs begin with it. */
struct ch_completion {
    const struct ch_completion_ops *ops;
    struct ch_visit *visit;
    struct ch_watcher watcher;
    struct ch_lane_wait wait;
    struct ch_lane *lane; /* NULL: not yet. Ours, unless it is kept */
    struct ch_history history;
    char id[40];
    char *agent; /* owned: its id */
    int64_t created;
    bool stream; /* it was asked for in pieces */
    bool begun;  /* and some was sent: set by the protocol */
};

struct ch_completion_ops {
    size_t size;        /* of the protocol's struct */
    const char *prefix; /* of its id */
    /* What is special in the request: history, tools, form. */
    int (*read)(struct ch_completion *r, struct ch_lane_opts *o, struct chela_error *err);
    void (*event)(struct ch_completion *r, const struct chela_event *ev); /* all but the last */
    /* RUN_END: answer the visit. If it failed, some was sent. */
    void (*end)(struct ch_completion *r, const struct chela_event *ev);
    void (*release)(struct ch_completion *r); /* what the protocol has added */
};

/* Answer v; everything else follows. */
void ch_completion_begin(struct ch_visit *v, const struct ch_completion_ops *ops);
bool ch_completion_failed(const struct chela_event *end);

/* openai_messages.c: the `messages` of Chat Completions. */
int ch_openai_messages(const struct ch_json *messages, struct ch_history *h,
                       struct chela_error *err);

#endif
