/* A profile counts the passes and their time; the plan gives the work of one pass. In an iteration,
 * the backward pass of a discriminator runs three times: twice in the plan that trains it, for
 * real and for generated images, and once, with frozen weights, for the generator. */
#include "training/bench/bench_pass.h"

#include <math.h>

/* Returns a pass. If `rated`, the device's limits, which are those of float32, apply to it. */
static struct bench_pass make_pass(const struct bench *bench, double seconds,
                                   struct roofline_work work, bool rated)
{
    struct bench_pass pass = {.seconds = seconds / (double)bench->iterations,
                              .work = work,
                              .attainable = NAN,
                              .limit = ROOFLINE_NONE};
    if (bench->limits_measured && rated) {
        pass.attainable = roofline_seconds(&bench->limits, work);
        pass.limit = roofline_limit(&bench->limits, work);
    }
    return pass;
}

bool bench_forward(const struct bench *bench, const struct bench_part *part,
                   const struct plan_step *step, struct bench_pass *pass)
{
    const struct profile_layer layer = profile_node(part->profile, step->node);
    const double passes = (double)layer.calls / (double)bench->iterations;
    *pass = make_pass(bench, layer.forward_seconds,
                      roofline_scale(roofline_forward(part->plan, step), passes), !step->site.int8);
    return layer.calls > 0;
}

bool bench_backward(const struct bench *bench, const struct bench_part *part,
                    const struct plan_step *step, struct bench_pass *pass)
{
    const struct profile_layer layer = profile_node(part->profile, step->node);
    struct roofline_work work = roofline_backward(part->plan, step);
    if (part->frozen_discriminator) {
        const struct plan_step *judged =
            &part->frozen_discriminator->steps[step - part->plan->steps];
        work = roofline_add(roofline_scale(work, 2),
                            roofline_backward(part->frozen_discriminator, judged));
    }
    *pass = make_pass(bench, layer.backward_seconds, work, true);
    return step->kernel && layer.backward_seconds > 0;
}

bool bench_update(const struct bench *bench, const struct bench_part *part, struct bench_pass *pass)
{
    *pass =
        make_pass(bench, profile_update_seconds(part->profile), roofline_update(part->plan), true);
    return bench->mode == PLAN_TRAINING;
}

/* --- the whole --- */

bool bench_has_int8(const struct bench *bench)
{
    const struct plan *plan = bench->main.plan;
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].kernel && plan->steps[i].site.int8)
            return true;
    return false;
}

static void add_pass(struct bench_pass *sum, const struct bench_pass *pass)
{
    sum->work = roofline_add(sum->work, pass->work);
    sum->attainable += pass->attainable;
}

static void add_part(struct bench_pass *sum, const struct bench *bench,
                     const struct bench_part *part)
{
    struct bench_pass pass;
    for (size_t i = 0; i < part->plan->step_count; i++) {
        const struct plan_step *step = &part->plan->steps[i];
        if (bench_forward(bench, part, step, &pass))
            add_pass(sum, &pass);
        if (bench_backward(bench, part, step, &pass))
            add_pass(sum, &pass);
    }
    if (bench_update(bench, part, &pass))
        add_pass(sum, &pass);
}

struct bench_pass bench_whole(const struct bench *bench)
{
    struct bench_pass sum = {.seconds = 1e-3 * bench->ms_per_image.median * (double)bench->batch};
    add_part(&sum, bench, &bench->main);
    if (bench->discriminator.profile)
        add_part(&sum, bench, &bench->discriminator);
    return sum;
}

/* --- figures --- */

double bench_pass_gflops(const struct bench_pass *pass)
{
    return pass->work.flops > 0 && pass->seconds > 0 ? 1e-9 * pass->work.flops / pass->seconds
                                                     : NAN;
}

double bench_pass_share(const struct bench *bench, const struct bench_pass *pass)
{
    return bench->profiled_seconds > 0 ? 100 * pass->seconds / bench->profiled_seconds : NAN;
}

double bench_pass_of_attainable(const struct bench_pass *pass)
{
    return pass->attainable > 0 && pass->seconds > 0 ? 100 * pass->attainable / pass->seconds : NAN;
}

double bench_pass_of_sgemm(const struct bench *bench, const struct bench_pass *pass)
{
    return bench->limits_measured && !bench_has_int8(bench)
               ? 1e11 * bench_pass_gflops(pass) / bench->limits.sgemm_flops
               : NAN;
}
