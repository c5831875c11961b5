#include "engine/plan/roofline.h"

#include "engine/plan/traffic.h"

#include <math.h>

double roofline_backward_flops(const struct plan *plan, const struct plan_step *step)
{
    return (double)plan_step_flops(plan, step, PLAN_BACKWARD);
}

/* Returns the FLOPs that the forward pass of one image takes with the kernel of this plan. */
static double forward_flops(const struct plan *plan, const struct plan_step *step)
{
    return step->kernel && step->kernel->flops ? (double)step->kernel->flops(&step->site)
                                               : (double)graph_node_flops(plan->graph, step->node);
}

struct roofline_work roofline_forward(const struct plan *plan, const struct plan_step *step)
{
    const double batch = (double)plan->batch;
    return (struct roofline_work){.flops = batch * forward_flops(plan, step),
                                  .bytes =
                                      batch * traffic_node_bytes(plan, step->node, plan->batch)};
}

struct roofline_work roofline_backward(const struct plan *plan, const struct plan_step *step)
{
    return (struct roofline_work){.flops =
                                      (double)plan->batch * roofline_backward_flops(plan, step),
                                  .bytes = traffic_backward_bytes(plan, step)};
}

struct roofline_work roofline_update(const struct plan *plan)
{
    return (struct roofline_work){.bytes = traffic_update_bytes(plan)};
}

struct roofline_work roofline_add(struct roofline_work a, struct roofline_work b)
{
    return (struct roofline_work){a.flops + b.flops, a.bytes + b.bytes};
}

struct roofline_work roofline_scale(struct roofline_work work, double times)
{
    return (struct roofline_work){work.flops * times, work.bytes * times};
}

double roofline_intensity(struct roofline_work work)
{
    return work.bytes > 0 ? work.flops / work.bytes : NAN;
}

double roofline_seconds(const struct device_limits *limits, struct roofline_work work)
{
    return fmax(work.flops / limits->flops, work.bytes / limits->bytes);
}

enum roofline_limit roofline_limit(const struct device_limits *limits, struct roofline_work work)
{
    if (work.flops == 0 && work.bytes == 0)
        return ROOFLINE_NONE;
    return work.flops / limits->flops >= work.bytes / limits->bytes ? ROOFLINE_COMPUTE
                                                                    : ROOFLINE_MEMORY;
}
