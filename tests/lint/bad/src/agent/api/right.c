/* A higher room uses a lower one. */
#include "agent/run/run.h"

void agent_close(void);
void agent_open(void);
void run_wrong(void);
void agent_close(void) {}
void agent_open(void) { run_wrong(); }
