/* host_fallback.h: runs nodes on the host for a device that has no kernel for them.
 *
 * A node that falls back (plan/fallback.h) is computed by the reference kernel: its inputs are
 * copied from the device's memory and its results back. Each call waits for the device.
 */
#ifndef TINCA_ENGINE_EXECUTION_HOST_FALLBACK_H
#define TINCA_ENGINE_EXECUTION_HOST_FALLBACK_H

#include "engine/plan/plan.h"

struct host_fallback;

/* Allocates the host memory for the nodes of the plan that fall back; borrows plan and device.
 * Returns NULL with an error if out of memory. Create one only if
 * fallback_host_bytes(plan) > 0. */
struct host_fallback *host_fallback_create(const struct plan *plan, struct device *device,
                                           struct error *error);
void host_fallback_free(struct host_fallback *fallback); /* may be NULL */

/* Runs one pass of a node that falls back: copies its inputs to the host, runs the reference
 * kernel, and copies the results back. `call` has the arguments that a kernel of the device would
 * get, with pointers into the device's memory; `saved` and `workspace` are not used. Does nothing
 * if the device has failed; device_check reports that. */
void host_fallback_run(struct host_fallback *fallback, const struct plan_order_entry *entry,
                       const struct kernel_call *call);

#endif
