/* base reaches into a later layer, and for a header that lives elsewhere. */
#include "base/upward.h"
#include "chela.h"
#include "json/json.h"
#include "sibling.h"
#include <stdio.h>
#include <yaml.h>
#include <jansson.h>
