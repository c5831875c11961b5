/* cuda.h: loads or replaces the CUDA module; for tests. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CUDA_H
#define TINCA_ENGINE_DEVICES_CUDA_CUDA_H

#include "engine/devices/cuda/module.h"

/* Loads the module at `path`, which stays loaded. Returns NULL with a reason if there is no such
 * file, or it is not a module of this version. */
const struct cuda_module *cuda_load_module(const char *path, char *reason, size_t size);

/* Makes the program use this table instead of a file. Tests call it before they open a CUDA device.
 */
void cuda_use_module(const struct cuda_module *module);

#endif
