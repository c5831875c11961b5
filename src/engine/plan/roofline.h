/* roofline.h: the roofline model: the shortest time in which a device could execute a pass
 * (Williams, Waterman and Patterson 2009, "Roofline").
 *
 * A pass computes FLOPs and moves bytes. The device has a limit per second for each and does both
 * at once, so the pass takes at least the longer of the two times.
 */
#ifndef TINCA_ENGINE_PLAN_ROOFLINE_H
#define TINCA_ENGINE_PLAN_ROOFLINE_H

#include "engine/devices/device.h"
#include "engine/plan/plan.h"

/* The work of a pass: FLOPs as graph_node_flops counts them, or as the kernel does if it needs
 * fewer (Winograd); bytes as traffic.h does. */
struct roofline_work {
    double flops, bytes;
};

/* The resource that limits the speed of a pass; ROOFLINE_NONE if there is no work. */
enum roofline_limit { ROOFLINE_NONE, ROOFLINE_COMPUTE, ROOFLINE_MEMORY };

/* Returns the FLOPs of a step's backward pass for one image. Each gradient that it computes, of the
 * input and of the weights, costs as much as the forward pass. */
double roofline_backward_flops(const struct plan *plan, const struct plan_step *step);

/* Returns the work of one pass of a step for the plan's batch; zeros if no kernel runs. */
struct roofline_work roofline_forward(const struct plan *plan, const struct plan_step *step);
struct roofline_work roofline_backward(const struct plan *plan, const struct plan_step *step);
/* Returns the work of one update of the weights. Its FLOPs are not counted. */
struct roofline_work roofline_update(const struct plan *plan);

/* Returns the sum of two works, and a multiple of one. */
struct roofline_work roofline_add(struct roofline_work a, struct roofline_work b);
struct roofline_work roofline_scale(struct roofline_work work, double times);

/* Returns the arithmetic intensity in FLOPs per byte; NaN if no bytes are moved. */
double roofline_intensity(struct roofline_work work);

/* Returns the shortest possible time for the work, in seconds. */
double roofline_seconds(const struct device_limits *limits, struct roofline_work work);

/* Returns which limit determines that time. */
enum roofline_limit roofline_limit(const struct device_limits *limits, struct roofline_work work);

#endif
