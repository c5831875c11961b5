/* Solver, schedule and loss meter: what turns gradients into a run. */
#include "base/random.h"
#include "engine/training/loss_meter.h"
#include "engine/training/lr_schedule.h"
#include "engine/training/solver.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

/* Three steps with gradient 1, weight decay 0.5, by hand. */
static void test_solvers(void)
{
    float weight[1] = {1}, gradient[1] = {1}, first[1] = {0}, second[1] = {0};
    struct solver_update update = {.settings = {SOLVER_SGD, 0.5f, 0, 0, 0.5f},
                                   .learning_rate = 0.1f,
                                   .count = 1,
                                   .weights = weight,
                                   .gradients = gradient,
                                   .state = {first, second}};
    solver_update_range(&update, 0, 1);
    tap_ok(near(weight[0], 1 - 0.15), "sgd: first step %g", weight[0]);
    solver_update_range(&update, 0, 1);
    tap_ok(near(weight[0], 0.85 - (0.075 + 0.1 * 1.425)), "sgd: momentum %g", weight[0]);

    weight[0] = 1, first[0] = 0;
    update.settings.kind = SOLVER_NESTEROV;
    solver_update_range(&update, 0, 1);
    tap_ok(near(weight[0], 1 - (0.5 * 0.15 + 0.15)), "nesterov looks ahead %g", weight[0]);

    weight[0] = 1, first[0] = 0;
    update.settings = (struct solver_settings){SOLVER_ADAM, 0.9f, 0.999f, 1e-8f, 0};
    update.step = 1;
    solver_update_range(&update, 0, 1);
    tap_ok(near(weight[0], 0.9), "adam: the first step has the size of the rate %g", weight[0]);

    struct solver_settings plain = {SOLVER_SGD, 0, 0, 0, 0};
    tap_ok(solver_state_count(&plain) == 0, "sgd without momentum keeps no state");
    enum solver_kind kind;
    tap_ok(solver_parse("nesterov", &kind) && kind == SOLVER_NESTEROV && !solver_parse("x", &kind),
           "names");
}

static void test_schedules(void)
{
    struct lr_schedule_state state = lr_schedule_begin();
    struct lr_schedule_settings s = {
        .kind = LR_SCHEDULE_STEP, .learning_rate = 1, .gamma = 0.1, .step_size = 10};
    tap_ok(near(lr_schedule_rate(&s, &state, 9), 1) && near(lr_schedule_rate(&s, &state, 20), 0.01),
           "step");
    s = (struct lr_schedule_settings){
        .kind = LR_SCHEDULE_POLY, .learning_rate = 2, .power = 0.5, .iterations = 100};
    tap_ok(near(lr_schedule_rate(&s, &state, 75), 1) && lr_schedule_rate(&s, &state, 100) == 0,
           "poly");
    s.kind = LR_SCHEDULE_COSINE;
    tap_ok(near(lr_schedule_rate(&s, &state, 0), 2) && near(lr_schedule_rate(&s, &state, 50), 1) &&
               near(lr_schedule_rate(&s, &state, 100), 0),
           "cosine");
    s.kind = LR_SCHEDULE_LINEAR;
    tap_ok(near(lr_schedule_rate(&s, &state, 0), 2) && near(lr_schedule_rate(&s, &state, 50), 2) &&
               near(lr_schedule_rate(&s, &state, 75), 1) &&
               near(lr_schedule_rate(&s, &state, 99), 0.04),
           "linear");
    state.scale = 0.5;
    s.kind = LR_SCHEDULE_FIXED;
    tap_ok(near(lr_schedule_rate(&s, &state, 7), 1), "a change by hand scales what follows");
}

static void test_plateau(void)
{
    struct lr_schedule_settings s = {.kind = LR_SCHEDULE_PLATEAU,
                                     .learning_rate = 0.1,
                                     .gamma = 0.1,
                                     .patience = 10,
                                     .threshold = 0.01,
                                     .plateaus = 4};
    struct lr_schedule_state state = lr_schedule_begin();
    bool plateau, going = true;
    size_t epoch = 0, first = 0;
    for (; going && epoch < 1000; epoch++) {
        /* improves for 20 epochs, later by less than the threshold */
        double loss = epoch < 20 ? 3 - 0.1 * (double)epoch : 1.1 - 1e-4 * (double)epoch;
        going = lr_schedule_end_epoch(&s, &state, loss, &plateau);
        if (plateau && !first)
            first = epoch + 1;
    }
    tap_ok(first == 30, "the first plateau is seen ten epochs after the last improvement (%zu)",
           first);
    tap_ok(epoch == 60 && !going, "the fourth ends the run (%zu)", epoch);
    tap_ok(near(lr_schedule_rate(&s, &state, 0), 1e-5), "each divided the rate by ten");
}

/* Caffe's own lines (sgd_solver.cpp, UpdateSmoothedLoss), kept apart from the implementation. */
static float caffe_step(float *losses, size_t *held, float smoothed, float loss, size_t start,
                        size_t iteration, size_t average_loss)
{
    if (*held < average_loss) {
        losses[*held] = loss;
        float size = (float)*held;
        volatile float product = smoothed * size;
        volatile float sum = product + loss;
        ++*held;
        return sum / (size + 1);
    }
    size_t at = (iteration - start) % average_loss;
    volatile float difference = loss - losses[at];
    volatile float share = difference / (float)average_loss;
    losses[at] = loss;
    return smoothed + share;
}

static void test_loss_meter(size_t average_loss)
{
    struct loss_meter meter;
    float losses[64] = {0}, smoothed = 0;
    size_t held = 0, negative = 0;
    bool same = true, exact_positive = true;
    if (!loss_meter_create(&meter, average_loss, NULL))
        return;
    struct random_stream draws = random_stream_at(average_loss, RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < 400; i++) {
        /* from about 7 down to exactly zero, as in the one-class study */
        float loss = i < 200 ? 7 * expf(-0.1f * (float)i) * (0.5f + random_next_unit(&draws)) : 0;
        smoothed = caffe_step(losses, &held, smoothed, loss, 0, i, average_loss);
        loss_meter_add(&meter, loss);
        same = same && memcmp(&smoothed, &meter.caffe, sizeof smoothed) == 0;
        exact_positive = exact_positive && meter.exact >= 0;
        negative += meter.caffe < 0;
    }
    tap_ok(same, "window %zu: Caffe's mean bit for bit", average_loss);
    tap_ok(exact_positive && meter.exact == 0, "window %zu: the exact mean ends at 0",
           average_loss);
    tap_note("window %zu: %zu of 400 printed values are negative, the last is %g", average_loss,
             negative, (double)meter.caffe);
    loss_meter_free(&meter);
}

static void test_known_negative(void)
{
    /* 1 - 1/3 - 2/3 in float32: the residue of a window that is all zeros */
    struct loss_meter meter;
    bool found = false;
    for (uint64_t seed = 0; seed < 20 && !found; seed++) {
        loss_meter_create(&meter, 3, NULL);
        struct random_stream draws = random_stream_at(seed, RANDOM_TEST, 9, 0);
        for (size_t i = 0; i < 50; i++)
            loss_meter_add(&meter, i < 40 ? 7 * random_next_unit(&draws) : 0);
        found = meter.caffe < 0 && meter.exact == 0;
        loss_meter_free(&meter);
    }
    tap_ok(found, "the negative loss exists: zeros in the window, a printed mean below zero");
}

int main(void)
{
    test_solvers();
    test_schedules();
    test_plateau();
    test_loss_meter(1);
    test_loss_meter(20);
    test_loss_meter(40);
    test_known_negative();
    return tap_done();
}
