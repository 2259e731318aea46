/* target_aws.h -- signs requests for AWS. */
#ifndef CH_MODEL_TARGET_AWS_H
#define CH_MODEL_TARGET_AWS_H
#include "model/provider/target.h"

bool ch_target_aws_is_used(const struct ch_target *t);
/* Finds region and keys. CHELA_EAUTH, CHELA_ECONFIG: not found. by_hand: the URL was configured. */
int ch_target_aws_find(struct ch_target *t, struct ch_providers *ps, bool by_hand,
                       struct chela_error *err);
void ch_target_aws_free(struct ch_aws *aws);
/* Signs a complete request, if the target's requests are signed. */
int ch_target_aws_sign(const struct ch_target *t, int64_t now_ms, struct ch_arena *a,
                       struct ch_http_request *req, struct chela_error *err);

#endif
