/* train_command.h: writes the command lines that start a run or profile its network. */
#ifndef TINCA_RUNS_SETTINGS_TRAIN_COMMAND_H
#define TINCA_RUNS_SETTINGS_TRAIN_COMMAND_H

#include "base/text.h"
#include "runs/settings/config.h"

/* Appends "tinca train NET --data ..." with every setting that differs from the defaults and the
 * preset. `network` is a name without technique or the path of a file; `technique` is appended to a
 * name as a suffix. NULL means the configuration's. */
void train_command_append(struct text *text, const struct run_config *config, const char *network,
                          const char *technique);

/* Appends "tinca bench ... --profile NET", which measures the run's network on its device, on
 * synthetic batches of its size. */
void bench_command_append(struct text *text, const struct run_config *config);

#endif
