/* train_command.h: the command line that would start a run. */
#ifndef TINCA_SESSION_TRAIN_COMMAND_H
#define TINCA_SESSION_TRAIN_COMMAND_H

#include "base/text.h"
#include "session/config.h"

/* Appends "tinca train NET --data ..." with every setting that is neither a default nor its
 * preset's. `network` (NULL: the configuration's own) is a name without a technique, or the path of
 * a file; `technique` (NULL: the configuration's own) is added to a name as its suffix. */
void train_command_append(struct text *text, const struct run_config *config, const char *network,
                          const char *technique);

#endif
