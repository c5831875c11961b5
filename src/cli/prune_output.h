/* prune_output.h: prints the results of tinca prune, as text or JSON. */
#ifndef TINCA_CLI_PRUNE_OUTPUT_H
#define TINCA_CLI_PRUNE_OUTPUT_H

#include "session/compress/prune.h"
#include "session/compress/prune_magnitude.h"

#include <stdbool.h>

/* Print a result; return the exit status. */
int prune_output_channels(const struct prune_request *request, const struct prune_result *result,
                          bool as_json);
int prune_output_magnitude(const struct magnitude_request *request,
                           const struct magnitude_result *result, bool as_json);

#endif
