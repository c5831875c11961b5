/* cuda.h: the module, as the tests see it. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CUDA_H
#define TINCA_ENGINE_DEVICES_CUDA_CUDA_H

#include "engine/devices/cuda/module.h"

/* Loads the module at `path`, which stays loaded. NULL with a printable reason: there is no such
 * file, it is no module, or it is one of another version. */
const struct cuda_module *cuda_load_module(const char *path, char *reason, size_t size);

/* For tests, before a CUDA device is asked for: this table is taken, no file is looked for. */
void cuda_use_module(const struct cuda_module *module);

#endif
