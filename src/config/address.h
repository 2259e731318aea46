/* address.h -- passwords that stand in the address of a store. An address that
 * is written wrongly may have one anywhere: rather too much is taken for one. */
#ifndef CH_CONFIG_ADDRESS_H
#define CH_CONFIG_ADDRESS_H
#include "base/buf.h"

/* For people: "***" stands for each password. */
void ch_address_show(struct ch_buf *out, const char *address);

/* Logs and errors have them no more (base/log.h). */
void ch_address_redact(const char *address);

#endif
