/* half_model.h: stores the weights of a model in half precision. */
#ifndef TINCA_SESSION_MODELS_HALF_MODEL_H
#define TINCA_SESSION_MODELS_HALF_MODEL_H

#include "engine/weights/weights.h"

/* Writes the model of the file `path` with weights in this format; its name gets the step
 * half:FORMAT. Running statistics, and arrays that float16 cannot hold, stay float32. Returns false
 * with an error if the file is no model; an existing file `output` is then as it was. */
bool half_model_save(const char *path, enum weights_format format, const char *output,
                     struct error *error);

#endif
