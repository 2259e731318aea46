/* learnt.c -- see learnt.h. */
#include "model/catalog/learnt.h"

void ch_learnt_correct(const struct ch_learnt *l, struct ch_model_facts *f) {
    f->flags = (f->flags | l->flags_on) & ~l->flags_off;
    f->efforts = l->efforts ? l->efforts : f->efforts;
}

void ch_learnt_omit(struct ch_model_request *req) {
    unsigned omit = req->endpoint->learnt.omit;
    if (!omit)
        return;
    req->has_temperature &= !(omit & CH_PART_TEMPERATURE);
    req->has_top_p &= !(omit & CH_PART_TOP_P);
    req->has_seed &= !(omit & CH_PART_SEED);
    req->no_parallel &= !(omit & CH_PART_PARALLEL);
    req->no_stream |= (omit & CH_PART_STREAM) != 0;
    if (omit & CH_PART_TOP_K)
        req->top_k = 0;
    if (omit & CH_PART_STOP)
        req->nstop = 0;
    if (omit & CH_PART_LOGPROBS)
        req->logprobs = 0;
    if (omit & CH_PART_MAX_OUTPUT)
        req->max_output_tokens = 0;
    if (omit & CH_PART_EFFORT)
        req->effort = CH_EFFORT_DEFAULT;
    if (omit & CH_PART_CACHE_KEY)
        req->cache_key = CH_SV("");
    if (omit & CH_PART_COMPACTION)
        req->compact_at = 0;
    if (omit & CH_PART_CACHE_LONG && req->cache == CH_CACHE_LONG)
        req->cache = CH_CACHE_SHORT;
}
