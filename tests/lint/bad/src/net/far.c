/* openssl is at home one folder down. */
#include <openssl/ssl.h>
