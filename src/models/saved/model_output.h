/* model_output.h: checks where a command may write the model that it makes from another one.
 *
 * The model itself is never replaced: a quantized, factorized or pruned model lacks values of the
 * original, and the file may be the only copy. */
#ifndef TINCA_MODELS_SAVED_MODEL_OUTPUT_H
#define TINCA_MODELS_SAVED_MODEL_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>

/* Returns whether the file `output` is another one than the file `model`, by device and inode; if
 * not, the error says so. Files that do not exist differ. */
bool model_output_is_other(const char *model, const char *output, struct error *error);

/* Returns whether a model that is made from `model` can be written to `output` now: it ends in
 * .safetensors, as commands that take a model expect, it is a file in a folder that exists, and not
 * the model itself. If not, the error says why. Changes nothing. */
bool model_output_check(const char *model, const char *output, struct error *error);

#endif
