/* target_aws.c -- targets of Amazon Bedrock: region and signature.
 *
 * With an API key requests are not signed. Otherwise they are signed with the keys that
 * net/aws.h finds when the target is made; a server whose URL was configured may have no
 * keys. The region comes from the model's ARN, else from the URL, else from the environment
 * or the profile. */
#include "model/provider/target_aws.h"

#include "net/aws.h"
#include "base/error.h"
#include "base/mem.h"
#include "net/sigv4.h"

#define PLACEHOLDER "$AWS_REGION"
#define USUAL_REGION "us-east-1" /* region of signatures if the URL names none */

static const char *service_of(const struct ch_target *t) {
    const struct ch_codec *c = t->ep.codec;
    return c->inner ? c->inner->aws_service : c->aws_service;
}

/* "arn:aws:bedrock:REGION:account:..." */
static struct ch_sv region_of_arn(struct ch_sv model) {
    struct ch_sv part = {0};
    if (!ch_sv_starts(model, "arn:"))
        return part;
    for (int i = 0; i < 4 && model.p; i++)
        part = ch_sv_split(&model, ':');
    return part;
}

/* "https://bedrock-runtime.REGION.amazonaws.com" */
static struct ch_sv region_of_url(const char *url) {
    const char *at = strstr(url, "bedrock-runtime");
    const char *dot = at && strstr(at, ".amazonaws.com") ? strchr(at, '.') : NULL;
    struct ch_sv region = dot ? ch_sv(dot + 1, strcspn(dot + 1, "./")) : ch_sv(NULL, 0);
    return region.n && *region.p != '$' ? region : ch_sv(NULL, 0);
}

static bool is_region(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-')
            return false;
    return s.n > 0;
}

static void set_region(struct ch_aws *aws, struct ch_sv region) {
    if (!region.n)
        return;
    char *copy = ch_strndup(region.p, region.n);
    ch_free(aws->region);
    aws->region = copy;
}

/* Replaces the placeholder in the URL by the region. */
static int place(struct ch_target *t, const struct ch_aws *aws, struct chela_error *err) {
    const char *at = strstr(t->base_url, PLACEHOLDER);
    if (!at)
        return CHELA_OK;
    if (!aws->region)
        return ch_fail(err, CHELA_ECONFIG, "no AWS region for %s: set AWS_REGION", t->provider);
    if (!is_region(ch_sv_str(aws->region)))
        return ch_fail(err, CHELA_ECONFIG, "'%s' is no AWS region", aws->region);
    struct ch_buf url = {0};
    ch_buf_addf(&url, "%.*s%s%s", (int)(at - t->base_url), t->base_url, aws->region,
                at + strlen(PLACEHOLDER));
    ch_free(t->base_url);
    t->base_url = ch_buf_take(&url);
    return CHELA_OK;
}

static int target_aws_settle(struct ch_target *t, const struct ch_providers *ps, struct ch_aws *aws,
                             bool by_hand, struct chela_error *err) {
    set_region(aws, region_of_url(t->base_url));
    set_region(aws, region_of_arn(ch_sv_str(t->model)));
    int rc = place(t, aws, err);
    if (rc < 0 || t->nkeys > 0)
        return rc;
    if (!aws->access_key && !by_hand && !ch_cassette_plays(ps->cassette))
        return ch_fail(err, CHELA_EAUTH, "no credentials for %s: %s", t->provider, aws->missing);
    if (!aws->access_key)
        return CHELA_OK;
    if (!aws->region)
        set_region(aws, CH_SV(USUAL_REGION));
    t->aws = ch_alloc(sizeof(*t->aws));
    *t->aws = *aws;
    *aws = (struct ch_aws){0};
    return CHELA_OK;
}

bool ch_target_aws_is_used(const struct ch_target *t) {
    return service_of(t) != NULL;
}

int ch_target_aws_find(struct ch_target *t, struct ch_providers *ps, bool by_hand,
                       struct chela_error *err) {
    struct ch_aws aws;
    int rc = ch_aws_load(&aws, ps->env, ps->user, err);
    if (rc < 0)
        return rc;
    rc = target_aws_settle(t, ps, &aws, by_hand, err);
    ch_aws_release(&aws);
    return rc;
}

void ch_target_aws_free(struct ch_aws *aws) {
    if (aws)
        ch_aws_release(aws);
    ch_free(aws);
}

int ch_target_aws_sign(const struct ch_target *t, int64_t now_ms, struct ch_arena *a,
                       struct ch_http_request *req, struct chela_error *err) {
    if (!t->aws || ch_header_find(req->headers, req->nheaders, "authorization").n)
        return CHELA_OK;
    struct ch_sigv4 who = {.access_key = t->aws->access_key,
                           .secret_key = t->aws->secret_key,
                           .session_token = t->aws->session_token,
                           .region = t->aws->region,
                           .service = service_of(t)};
    return ch_sigv4_sign(&who, now_ms, a, req, err);
}
