/* A lower room uses a higher one. */
#include "agent/api/agent.h"

void agent_close(void);
void run_wrong(void);
void run_wrong(void) { agent_close(); }
