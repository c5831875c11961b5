/* host_fallback.h: kernels that run on the host although the device has memory of its own.
 *
 * A node that falls back (plan/fallback.h) is computed by the reference kernel: what it reads is
 * fetched from the device, and what it writes is stored there. Each call waits for the device.
 */
#ifndef TINCA_ENGINE_EXECUTION_HOST_FALLBACK_H
#define TINCA_ENGINE_EXECUTION_HOST_FALLBACK_H

#include "engine/plan/plan.h"

struct host_fallback;

/* Returns the memory in which the plan's nodes run on the host; borrows plan and device. NULL with
 * an error when there is not enough. Create one only if fallback_host_bytes(plan) > 0. */
struct host_fallback *host_fallback_create(const struct plan *plan, struct device *device,
                                           struct error *error);
void host_fallback_free(struct host_fallback *fallback); /* may be NULL */

/* Runs the kernel of a pass whose step leaves the device. `call` is what the device's kernel
 * would get: its pointers lead into the device's memory, except `saved` and `workspace`, which are
 * not used. Computes nothing when the device has failed, which device_check then reports. */
void host_fallback_run(struct host_fallback *fallback, const struct plan_order_entry *entry,
                       const struct kernel_call *call);

#endif
