/* proof.c -- see proof.h. Secrets are compared by their digests, so that the
 * time reveals neither their length nor their content. */
#include "base/proof.h"

#include "base/sha256.h"

bool ch_proof_same(struct ch_sv shown, const char *secret) {
    unsigned char a[CH_SHA256_SIZE], b[CH_SHA256_SIZE];
    ch_sha256_of(shown.p ? shown : CH_SV(""), a);
    ch_sha256_of(ch_sv_str(secret), b);
    return ch_sha256_equal(a, b) && shown.n > 0;
}

bool ch_proof_fresh(struct ch_sv timestamp, int64_t now_s) {
    int64_t then = 0;
    if (!timestamp.n || timestamp.n > 12)
        return false;
    for (size_t i = 0; i < timestamp.n; i++) {
        if (timestamp.p[i] < '0' || timestamp.p[i] > '9')
            return false;
        then = 10 * then + (timestamp.p[i] - '0');
    }
    return then >= now_s - CH_PROOF_WINDOW_S && then <= now_s + CH_PROOF_WINDOW_S;
}
