/* train_command.h: the command lines that would start a run, or profile its network. */
#ifndef TINCA_SESSION_CONFIG_TRAIN_COMMAND_H
#define TINCA_SESSION_CONFIG_TRAIN_COMMAND_H

#include "base/text.h"
#include "session/config/config.h"

/* Appends "tinca train NET --data ..." with every setting that is neither a default nor its
 * preset's. `network` (NULL: the configuration's own) is a name without a technique, or the path of
 * a file; `technique` (NULL: the configuration's own) is added to a name as its suffix. */
void train_command_append(struct text *text, const struct run_config *config, const char *network,
                          const char *technique);

/* Appends "tinca bench ... --profile NET", which measures the run's network on synthetic batches of
 * the run's size, on its device. */
void bench_command_append(struct text *text, const struct run_config *config);

#endif
