/* sha1.h -- SHA-1 (FIPS 180-4), for protocols that require it. SHA-1 does not
 * prevent forgery: use sha256.h for security. */
#ifndef CH_BASE_SHA1_H
#define CH_BASE_SHA1_H
#include "base/sv.h"

#define CH_SHA1_SIZE 20

void ch_sha1(struct ch_sv text, unsigned char out[CH_SHA1_SIZE]);

#endif
