/* trust.h -- the sensitive options of a configuration file, and the options that
 * count in a file that is not trusted.
 *
 * Texts for the model, names and lower limits do no harm: they count in any
 * file. Every other option is sensitive: it decides where data goes, what runs or
 * what an agent may do. A new option is sensitive unless the list in trust.c names it. */
#ifndef CH_CONFIG_TRUST_H
#define CH_CONFIG_TRUST_H
#include "base/sha256.h"
#include "config/conf.h"

/* Digest of the sensitive options, of the agents' ids and of their order. Layout,
 * comments and harmless options do not count. */
void ch_conf_digest(const struct ch_conf *conf, unsigned char out[CH_SHA256_SIZE]);
/* Digest of the programs that the file names and that lie in its project (programs.h). */
void ch_conf_programs_digest(const chela_config *cfg, unsigned char out[CH_SHA256_SIZE]);

#endif
