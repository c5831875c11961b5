/* bench_roofline.h: prints the layers of `tinca bench --profile` against the device's limits. The
 * functions that add to JSON return false if out of memory. */
#ifndef TINCA_CLI_BENCH_ROOFLINE_H
#define TINCA_CLI_BENCH_ROOFLINE_H

#include "base/json/json.h"
#include "session/measure/bench.h"

#include <stdbool.h>

/* Adds "forward" and "backward" to a layer's object; null if the pass does not exist. */
bool bench_add_passes(struct json *layer, const struct bench *bench, const struct bench_part *part,
                      const struct plan_step *step);
/* Adds "update", the solver's step, to a network's object; null in inference. */
bool bench_add_update(struct json *network, const struct bench *bench,
                      const struct bench_part *part);
/* Adds "roofline" to the document: the limits, and the whole iteration against them. */
bool bench_add_roofline(struct json *root, const struct bench *bench);

/* Prints the limits and how much of them the iteration reaches, as lines of the summary. */
void bench_print_limits(const struct bench *bench);
/* Prints a table of all passes. Returns the exit status. */
int bench_print_passes(const struct bench *bench, const struct bench_part *part);

#endif
