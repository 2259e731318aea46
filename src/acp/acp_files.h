/* acp_files.h -- files as the editor holds them. */
#ifndef CH_ACP_FILES_H
#define CH_ACP_FILES_H
#include "acp/acp.h"

/* Let the tools of the agent see the files as the editor holds them. */
void ch_acp_files_attach(struct ch_acp_session *s);
void ch_acp_files_end(struct ch_acp_session *s);

#endif
