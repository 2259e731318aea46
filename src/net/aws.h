/* aws.h -- whose key signs requests to Amazon, and for which region.
 *
 * As Amazon's own tools look for them: keys in the environment
 * (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), else those of
 * the profile AWS_PROFILE, or "default", in ~/.aws/credentials and
 * ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE); the region in
 * AWS_REGION or AWS_DEFAULT_REGION, else the profile's. Keys that somebody has
 * to be asked for (single sign-on, roles, programs, the machine's own) are not
 * fetched. */
#ifndef CH_NET_AWS_H
#define CH_NET_AWS_H
#include "base/buf.h"

typedef const char *ch_env_fn(const char *name, void *user);

struct ch_aws { /* all owned, NULL where nothing was found */
    char *access_key, *secret_key, *session_token;
    char *region;
    char *missing; /* without keys: why, as one line */
};

/* Blocking: reads two small files. Finding nothing is no failure; a file that
 * cannot be read is, CHELA_EIO or CHELA_ELIMIT, and so is half a key
 * (CHELA_EAUTH). Secrets are registered for redaction. */
int ch_aws_load(struct ch_aws *aws, ch_env_fn *env, void *user, struct chela_error *err);
void ch_aws_release(struct ch_aws *aws);

#endif
