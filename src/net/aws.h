/* aws.h -- find the key and the region for signing requests to Amazon.
 *
 * The lookup order is that of Amazon's own tools. Keys: the environment
 * (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), else the
 * profile AWS_PROFILE or "default" in ~/.aws/credentials and ~/.aws/config
 * (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE). Region: AWS_REGION or
 * AWS_DEFAULT_REGION, else the profile's. Keys that need a request (single
 * sign-on, roles, credential programs, instance metadata) are not fetched. */
#ifndef CH_NET_AWS_H
#define CH_NET_AWS_H
#include "base/buf.h"

typedef const char *ch_env_fn(const char *name, void *user);

struct ch_aws { /* all owned; NULL if not found */
    char *access_key, *secret_key, *session_token;
    char *region;
    char *missing; /* without keys: the reason, one line */
};

/* Blocks: reads two small files. Finding no key is not a failure. CHELA_EIO or
 * CHELA_ELIMIT: a file cannot be read. CHELA_EAUTH: only half of a key was
 * found. Secrets are registered for redaction. */
int ch_aws_load(struct ch_aws *aws, ch_env_fn *env, void *user, struct chela_error *err);
void ch_aws_release(struct ch_aws *aws);

#endif
