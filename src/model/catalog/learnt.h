/* learnt.h -- what the refusals of a service correct.
 *
 * Facts may be older than a service, and say nothing about a deployment with a name of its own. A
 * service that refuses a request says what it takes instead (struct ch_learnt): other facts, other
 * quirks, or a request without some parts. */
#ifndef CH_MODEL_LEARNT_H
#define CH_MODEL_LEARNT_H
#include "model/catalog/model_facts.h"
#include "model/catalog/model_request.h"

/* Parts of a request that a service may refuse. */
enum ch_refusable {
    CH_PART_TEMPERATURE = 1 << 0,
    CH_PART_TOP_P = 1 << 1,
    CH_PART_TOP_K = 1 << 2,
    CH_PART_STOP = 1 << 3,
    CH_PART_SEED = 1 << 4,
    CH_PART_LOGPROBS = 1 << 5,
    CH_PART_PARALLEL = 1 << 6,   /* no two calls at the same time */
    CH_PART_MAX_OUTPUT = 1 << 7,
    CH_PART_EFFORT = 1 << 8,
    CH_PART_OFF = 1 << 9,        /* no reasoning */
    CH_PART_SUMMARY = 1 << 10,   /* OpenAI: the text of reasoning is asked for */
    CH_PART_CACHE_KEY = 1 << 11,
    CH_PART_CACHE_LONG = 1 << 12,
    CH_PART_STREAM = 1 << 13,
    CH_PART_FORCED = 1 << 14,    /* a forced tool choice */
    CH_PART_CHOICE = 1 << 15,    /* any tool choice */
    CH_PART_STRICT = 1 << 16,    /* a strict tool */
    CH_PART_SCHEMA = 1 << 17,    /* a native output schema */
    CH_PART_COMPACTION = 1 << 18, /* the service shall condense the conversation */
};

enum ch_learnt_api { CH_LEARNT_API_NONE, CH_LEARNT_API_CHAT, CH_LEARNT_API_RESPONSES };

/* Corrects the facts of a model. */
void ch_learnt_correct(const struct ch_learnt *l, struct ch_model_facts *f);

/* Leaves out what the service does not accept. Later settings of the request may not bring a
 * part back. */
void ch_learnt_omit(struct ch_model_request *req);

#endif
