/* A public header that needs a private one. */
#include "chela/error.h"
#include "base/buf.h"
#include <uv.h>
