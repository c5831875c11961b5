/* model_operand.h: the operand of commands that take a model: a model file, or a run, whose model
 * it then is. */
#ifndef TINCA_MODELS_MEASURE_MODEL_OPERAND_H
#define TINCA_MODELS_MEASURE_MODEL_OPERAND_H

#include "base/error.h"

#include <stdbool.h>

/* Returns whether `operand` names a run: a folder, or a name that is no file, no path and does not
 * end in .safetensors. */
bool model_operand_is_run(const char *operand);

/* Returns the path of the model that `operand` names, which the caller frees: the operand itself,
 * or of a run (its ID, the beginning of one, its name or its folder) the best weights, without them
 * the final ones. Returns NULL with an error if there is no such run, or it has no model of this
 * program. Does not check that a file exists. */
char *model_operand_path(const char *operand, struct error *error);

#endif
