/* trust_record.h -- records of a user's trust that are not those of configuration files. The rest
 * of trust_record.c is public (chela/trust.h). */
#ifndef CH_CONFIG_TRUST_RECORD_H
#define CH_CONFIG_TRUST_RECORD_H
#include "base/buf.h"
#include "chela/error.h"

/* Write the record of a path. settings: a JSON array. Errors: as chela_trust_add. */
int ch_trust_record_put(const char *dir, const char *path, const char *digest,
                        struct ch_sv settings, struct chela_error *err);
/* Append the digest of the record of a path. CHELA_ENOENT: there is none. */
int ch_trust_record_digest(const char *dir, const char *path, struct ch_buf *out,
                           struct chela_error *err);

#endif
