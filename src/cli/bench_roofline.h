/* bench_roofline.h: how `tinca bench --profile` shows each layer against the device's limits. */
#ifndef TINCA_CLI_BENCH_ROOFLINE_H
#define TINCA_CLI_BENCH_ROOFLINE_H

#include "base/json/json.h"
#include "session/measure/bench.h"

#include <stdbool.h>

/* "forward" and "backward" of a layer's object: null where nothing was executed. */
bool bench_add_passes(struct json *layer, const struct bench *bench, const struct bench_part *part,
                      const struct plan_step *step);
/* "update" of a network's object: null in inference. */
bool bench_add_update(struct json *network, const struct bench *bench,
                      const struct bench_part *part);
/* "roofline" of the document: the limits, and the whole iteration against them. */
bool bench_add_roofline(struct json *root, const struct bench *bench);

/* The same as lines of the summary, and as a table; the latter returns the exit status. */
void bench_print_limits(const struct bench *bench);
int bench_print_passes(const struct bench *bench, const struct bench_part *part);

#endif
