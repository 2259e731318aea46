/* address.h -- passwords in the address of a store. In a malformed address a
 * password may be anywhere, so in doubt more text is treated as a password. */
#ifndef CH_CONFIG_ADDRESS_H
#define CH_CONFIG_ADDRESS_H
#include "base/buf.h"

/* Append the address with "***" for each password. */
void ch_address_show(struct ch_buf *out, const char *address);

/* Register the passwords for redaction in logs and errors (base/redact.h). */
void ch_address_redact(const char *address);

#endif
