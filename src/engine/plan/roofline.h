/* roofline.h: how fast a layer could be: the work of its passes against the limits of the device
 * (Williams, Waterman and Patterson 2009, "Roofline").
 *
 * A pass does FLOPs and moves bytes. The device does so many of either in a second at the most, and
 * does both at once: the time that it needs at the least is the longer of the two.
 */
#ifndef TINCA_ENGINE_PLAN_ROOFLINE_H
#define TINCA_ENGINE_PLAN_ROOFLINE_H

#include "engine/devices/device.h"
#include "engine/plan/plan.h"

/* FLOPs as graph_node_flops counts them, bytes as traffic.h does. */
struct roofline_work {
    double flops, bytes;
};

enum roofline_limit { ROOFLINE_NONE, ROOFLINE_COMPUTE, ROOFLINE_MEMORY };

/* FLOPs of one image's backward pass: each gradient that is wanted, of the input and of the
 * weights, costs what the forward pass does. */
double roofline_backward_flops(const struct plan *plan, const struct plan_step *step);

/* One pass of a batch through a step; all zeros where it executes nothing. */
struct roofline_work roofline_forward(const struct plan *plan, const struct plan_step *step);
struct roofline_work roofline_backward(const struct plan *plan, const struct plan_step *step);
/* One step of the solver: its arithmetic is not counted. */
struct roofline_work roofline_update(const struct plan *plan);

struct roofline_work roofline_add(struct roofline_work a, struct roofline_work b);
struct roofline_work roofline_scale(struct roofline_work work, double times);

/* FLOPs a byte; NaN where no byte is moved. */
double roofline_intensity(struct roofline_work work);

/* The seconds that the work takes at the least, and which limit that is: NONE where there is no
 * work. */
double roofline_seconds(const struct device_limits *limits, struct roofline_work work);
enum roofline_limit roofline_limit(const struct device_limits *limits, struct roofline_work work);

#endif
