/* The command line sees the public headers and its own. */
#include "chela.h"
#include "cli/main.h"
#include "agent/run.h"
