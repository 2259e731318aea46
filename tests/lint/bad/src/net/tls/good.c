/* openssl is at home here, and net may use the loop. */
#include <openssl/ssl.h>
#include <uv.h>
#include "net/http.h"
