/* refusals.h -- what a service's refusal of a request says about the requests that it takes.
 *
 * A service that refuses an effort, a parameter, a tool choice or an endpoint usually says so in
 * words. The table of refusals.c lists the words of the vendors and what changes for the model at
 * that service. A message that the table cannot read changes nothing. */
#ifndef CH_MODEL_REFUSALS_H
#define CH_MODEL_REFUSALS_H
#include "json/json.h"
#include "json/writer.h"
#include "model/catalog/learnt.h"
#include "model/codec/codec.h"

/* What a refusal teaches. */
struct ch_refusal {
    unsigned rule;    /* number of the rule, from 0 */
    unsigned efforts; /* efforts that are accepted from now on; 0: the rule is about others */
};

/* The parts of a request that a service may refuse, as CH_PART_*. */
unsigned ch_refusal_parts(const struct ch_model_request *req);

/* Reads the message of a refused request to a model at an endpoint. parts: of that request.
 * False: nothing is learnt, because no rule fits or what it says has been done already. */
bool ch_refusal_read(struct ch_sv message, const struct ch_endpoint *ep, struct ch_sv model,
                     unsigned parts, struct ch_refusal *out);
/* Adds what a refusal teaches. */
void ch_refusal_learn(struct ch_learnt *l, const struct ch_refusal *r);

/* The name of a rule, as the file and the journal have it; NULL past the last. */
const char *ch_refusal_name(unsigned rule);
/* The change, for people: "without temperature". */
const char *ch_refusal_change(unsigned rule);
/* The number of the rule; -1: there is none of this name. */
int ch_refusal_find(struct ch_sv name);
/* Writes the members "rules" and "efforts" of an object, and adds what such an object teaches.
 * Rules of another version of the program are left out. */
void ch_refusal_write_all(const struct ch_learnt *l, struct ch_jw *w);
void ch_refusal_read_all(const struct ch_json *v, struct ch_learnt *out);

#endif
