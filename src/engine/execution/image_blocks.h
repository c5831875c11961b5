/* image_blocks.h: calls a kernel for each block of images, and adds the gradients of its parameters
 * in the order of graph/image_blocks.h. Internal to engine/execution. */
#ifndef TINCA_ENGINE_EXECUTION_IMAGE_BLOCKS_H
#define TINCA_ENGINE_EXECUTION_IMAGE_BLOCKS_H

#include "engine/execution/backend.h"

/* Runs a pass of a step that is marked by_blocks. */
void image_blocks_run(const struct execution *execution, const struct plan_step *step,
                      enum plan_pass pass, const struct kernel_call *call);

#endif
