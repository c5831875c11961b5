/* rounding.h: rounds operands and results around the float32 kernels of a plan in bf16
 * (plan/rounding.h). Internal to engine/execution. */
#ifndef TINCA_ENGINE_EXECUTION_ROUNDING_H
#define TINCA_ENGINE_EXECUTION_ROUNDING_H

#include "engine/execution/backend.h"

/* Copies the operands of a call to the workspace, rounded, as far as step->rounding says so, and
 * makes the call read the copies. */
void rounding_copy_operands(const struct execution *execution, const struct plan_step *step,
                            struct kernel_call *call);

/* Rounds what the forward or the backward pass of a step has written. */
void rounding_round_results(const struct execution *execution, const struct plan_step *step,
                            enum plan_pass pass, const struct kernel_call *call);

#endif
