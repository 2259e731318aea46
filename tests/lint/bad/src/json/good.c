/* Nothing to complain about: own, earlier, public, home, libc. */
#include "json/json.h"
#include "base/buf.h"
#include "chela/error.h"
#include <sys/types.h>
#include <yaml.h>
