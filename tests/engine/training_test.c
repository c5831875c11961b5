/* Solver, learning-rate schedule and loss meter. */
#include "base/random.h"
#include "base/threads/pool.h"
#include "engine/training/clipping.h"
#include "engine/training/early_stopping.h"
#include "engine/training/loss_meter.h"
#include "engine/training/lr_schedule.h"
#include "engine/training/solver.h"
#include "random_fill.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

/* Three steps with gradient 1 and weight decay 0.5, computed by hand. */
static void test_solvers(void)
{
    float weight[1] = {1}, gradient[1] = {1}, first[1] = {0}, second[1] = {0};
    struct solver_update update = {.settings = {SOLVER_SGD, 0.5f, 0, 0, 0.5f, MOMENTUM_CAFFE},
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
    update.settings = (struct solver_settings){SOLVER_ADAM, 0.9f, 0.999f, 1e-8f, 0, MOMENTUM_CAFFE};
    update.step = 1;
    solver_update_range(&update, 0, 1);
    tap_ok(near(weight[0], 0.9), "adam: the first step has the size of the rate %g", weight[0]);

    struct solver_settings plain = {SOLVER_SGD, 0, 0, 0, 0, MOMENTUM_CAFFE};
    tap_ok(solver_state_count(&plain) == 0, "sgd without momentum keeps no state");
    tap_ok(strcmp(solver_names[SOLVER_NESTEROV], "nesterov") == 0 && !solver_names[SOLVER_KINDS],
           "names");
}

/* Three steps with the gradients 1, -2 and 0.5 and weight decay 0.5, by torch.optim in double. */
static void test_recent_solvers(void)
{
    static const struct {
        struct solver_settings settings;
        double expected[3];
    } cases[] = {{{SOLVER_ADAMW, 0.9f, 0.99f, 1e-8f, 0.5f, MOMENTUM_CAFFE},
                  {0.850000001, 0.8440607720526054, 0.8155357920153515}},
                 {{SOLVER_RMSPROP, 0.5f, 0.9f, 1e-8f, 0.5f, MOMENTUM_CAFFE},
                  {0.6837722406498286, 0.7656287204558311, 0.6826496063135005}}};
    static const float gradients[3] = {1, -2, 0.5f};
    for (size_t c = 0; c < 2; c++) {
        float weight = 1, gradient, first = 0, second = 0;
        bool good = true;
        struct solver_update update = {.settings = cases[c].settings,
                                       .learning_rate = 0.1f,
                                       .count = 1,
                                       .weights = &weight,
                                       .gradients = &gradient,
                                       .state = {&first, &second}};
        for (update.step = 1; update.step <= 3; update.step++) {
            gradient = gradients[update.step - 1];
            solver_update_range(&update, 0, 1);
            good = good && near(weight, cases[c].expected[update.step - 1]);
        }
        tap_ok(good, "%s: three steps equal PyTorch's: %.9g", solver_names[cases[c].settings.kind],
               (double)weight);
    }
    struct solver_settings plain = {SOLVER_RMSPROP, 0, 0.9f, 1e-8f, 0, MOMENTUM_CAFFE};
    tap_ok(solver_state_count(&plain) == 1, "rmsprop without momentum keeps one state");
}

/* Three steps with the rates 0.1, 0.05 and 0.2: PyTorch's form by torch.optim.SGD in double,
 * Caffe's by its formula. At the first step they are the same. */
static void test_momentum_forms(void)
{
    static const struct {
        enum solver_kind kind;
        enum momentum_form form;
        double expected[3];
    } cases[] = {{SOLVER_SGD, MOMENTUM_TORCH, {0.85, 0.86125, 0.715625}},
                 {SOLVER_NESTEROV, MOMENTUM_TORCH, {0.715, 0.8102875, 0.513717875}},
                 {SOLVER_SGD, MOMENTUM_CAFFE, {0.85, 0.79375, 0.56375}},
                 {SOLVER_NESTEROV, MOMENTUM_CAFFE, {0.715, 0.7495375, 0.374296625}}};
    static const float rates[3] = {0.1f, 0.05f, 0.2f};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float weight[1] = {1}, gradient[3] = {1, -2, 0.5f}, velocity[1] = {0};
        bool good = true;
        for (size_t i = 0; i < 3; i++) {
            const struct solver_update update = {
                .settings = {cases[c].kind, 0.9f, 0, 0, 0.5f, cases[c].form},
                .learning_rate = rates[i],
                .count = 1,
                .weights = weight,
                .gradients = gradient + i,
                .state = {velocity}};
            solver_update_range(&update, 0, 1);
            good = good && near(weight[0], cases[c].expected[i]);
        }
        tap_ok(good, "%s, momentum of the form %s, under a changing rate (%g)",
               solver_names[cases[c].kind], momentum_form_names[cases[c].form], weight[0]);
    }
}

/* PyTorch's OneCycleLR with 20 steps, a base momentum of 0.85 and a largest one of 0.95. */
static void test_cycled_momentum(void)
{
    static const double expected[20] = {
        0.95,        0.94045085,  0.91545085,  0.88454915,  0.85954915,  0.85, 0.851253604,
        0.854951557, 0.860908426, 0.86882551,  0.878305813, 0.888873953, 0.9,  0.911126047,
        0.921694187, 0.93117449,  0.939091574, 0.945048443, 0.948746396, 0.95};
    struct lr_schedule_settings s = {.kind = LR_SCHEDULE_ONECYCLE,
                                     .learning_rate = 2,
                                     .iterations = 20,
                                     .momentum = 0.95,
                                     .low_momentum = 0.85};
    bool good = true;
    for (size_t i = 0; i < 20; i++)
        good = good && fabs(lr_schedule_momentum(&s, i) - expected[i]) <= 1e-8;
    tap_ok(good, "onecycle: PyTorch's momentum");
    s.low_momentum = 0;
    tap_ok(lr_schedule_momentum(&s, 5) == 0.95, "  which stays unless it is asked for");
    s.low_momentum = 0.85, s.kind = LR_SCHEDULE_COSINE;
    tap_ok(lr_schedule_momentum(&s, 5) == 0.95, "  and with other schedules");
}

/* PyTorch's OneCycleLR with 20 steps and a largest rate of 2, without a cycle of the momentum. */
static void test_one_cycle(void)
{
    static const double expected[20] = {
        0.08,        0.263343685, 0.743343685, 1.33665631,  1.81665631,   2,        1.97492801,
        1.90096926,  1.78183236,  1.62349131,  1.433886,    1.22252404,   1.000004, 0.777483956,
        0.566121996, 0.376516692, 0.218175645, 0.099038736, 0.0250799875, 8e-06};
    const struct lr_schedule_state state = lr_schedule_begin();
    struct lr_schedule_settings s = {
        .kind = LR_SCHEDULE_ONECYCLE, .learning_rate = 2, .iterations = 20};
    bool good = true;
    for (size_t i = 0; i < 20; i++)
        good = good && fabs(lr_schedule_rate(&s, &state, i) - expected[i]) <= 1e-8;
    tap_ok(good, "onecycle: PyTorch's rates");
    for (s.iterations = 1; good && s.iterations < 8; s.iterations++)
        for (size_t i = 0; i <= s.iterations; i++) {
            const double rate = lr_schedule_rate(&s, &state, i);
            good = good && rate > 0 && rate <= 2;
        }
    tap_ok(good, "  every rate of a short run is above 0 and at most the largest");
}

/* Caffe's solver for MNIST, by its formula in powers of e. The formula does not know a run's end.
 */
static void test_inv(void)
{
    static const uint64_t at[] = {0, 1, 500, 5000, 9999, 20000};
    const struct lr_schedule_state state = lr_schedule_begin();
    struct lr_schedule_settings s = {.kind = LR_SCHEDULE_INV,
                                     .learning_rate = 0.01,
                                     .gamma = 0.0001,
                                     .power = 0.75,
                                     .iterations = 10000};
    bool good = lr_schedule_rate(&s, &state, 0) == 0.01;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const double expected = 0.01 * exp(-0.75 * log1p(0.0001 * (double)at[i]));
        good = good && fabs(lr_schedule_rate(&s, &state, at[i]) / expected - 1) < 1e-12;
    }
    tap_ok(good, "inv: the rates of the formula, from iteration 0 on");
    tap_ok(fabs(lr_schedule_rate(&s, &state, 5000) - 0.0073778794) < 1e-9,
           "  0.0073779 at 5000 iterations");
    s.power = 0;
    tap_ok(lr_schedule_rate(&s, &state, 9999) == 0.01, "  a power of 0 leaves the rate as it is");
    s.power = 1, s.gamma = 0;
    tap_ok(lr_schedule_rate(&s, &state, 9999) == 0.01, "  and so does a gamma of 0");
    s.gamma = 1, s.warm_up = 4;
    tap_ok(near(lr_schedule_rate(&s, &state, 1), 0.01 / 2 * 2 / 4), "  a warm-up multiplies it");
}

static void test_warm_up(void)
{
    const struct lr_schedule_state state = lr_schedule_begin();
    struct lr_schedule_settings s = {
        .kind = LR_SCHEDULE_COSINE, .learning_rate = 2, .iterations = 100, .warm_up = 10};
    struct lr_schedule_settings cold = s;
    cold.warm_up = 0;
    bool good = true;
    for (size_t i = 0; i < 100; i++)
        good = good && near(lr_schedule_rate(&s, &state, i),
                            lr_schedule_rate(&cold, &state, i) * fmin(1, (double)(i + 1) / 10));
    tap_ok(good, "a warm-up of ten iterations multiplies the rates by 0.1, 0.2 ... 1");
}

enum { GRADIENTS = 5003 };

static double norm_of(const float *values)
{
    double sum = 0;
    for (size_t i = 0; i < GRADIENTS; i++)
        sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

static void test_clipping(void)
{
    static float gradients[GRADIENTS], first[GRADIENTS];
    struct gradient_clipping norm = {.norm = 2}, value = {.value = 0.25f}, none = {0, 0};
    bool same = true, limited = true;
    for (size_t threads = 1; threads <= 4; threads++) {
        struct pool *pool = pool_create(threads, NULL);
        random_fill_uniform(3, RANDOM_TEST, 0, -1, 1, gradients, GRADIENTS);
        gradients_clip(&norm, gradients, GRADIENTS, pool);
        if (threads == 1)
            memcpy(first, gradients, sizeof first);
        same = same && memcmp(first, gradients, sizeof first) == 0;
        limited = limited && fabs(norm_of(gradients) - 2) < 1e-4;
        gradients_clip(&none, gradients, GRADIENTS, pool);
        same = same && memcmp(first, gradients, sizeof first) == 0;
        norm.norm = 2.1f;
        gradients_clip(&norm, gradients, GRADIENTS, pool);
        same = same && memcmp(first, gradients, sizeof first) == 0;
        norm.norm = 2;
        pool_free(pool);
    }
    tap_ok(limited, "gradients are scaled to the largest norm");
    tap_ok(same, "  to the same bits with 1 to 4 threads, and left alone below the limit");
    struct pool *pool = pool_create(1, NULL);
    float few[5] = {0.1f, -3, NAN, INFINITY, -0.25f};
    gradients_clip(&value, few, 5, pool);
    tap_ok(few[0] == 0.1f && few[1] == -0.25f && isnan(few[2]) && few[3] == 0.25f &&
               few[4] == -0.25f,
           "each gradient is limited, and NaN stays NaN");
    gradients_clip(&norm, few, 5, pool);
    tap_ok(isnan(few[0]), "a norm that is NaN is not hidden");
    pool_free(pool);
}

static void test_early_stopping(void)
{
    struct early_stopping_settings s = {.patience = 2, .change = 0.1};
    struct early_stopping_state state = early_stopping_begin();
    const double losses[] = {2, 1, 0.95, 0.85, 0.8, NAN};
    size_t validations = 0;
    while (early_stopping_step(&s, &state, losses[validations], 50))
        validations++;
    tap_ok(validations == 5 && near(state.best, 0.85),
           "two losses in a row that are not lower by 0.1, one of them NaN, end the run (%zu)",
           validations);
    s.metric = EARLY_STOPPING_TOP1;
    state = early_stopping_begin();
    tap_ok(early_stopping_step(&s, &state, 9, 10) && early_stopping_step(&s, &state, 9, 20) &&
               early_stopping_step(&s, &state, 1, 20) && !early_stopping_step(&s, &state, 0, 19),
           "by accuracy, whatever the loss is");
    s.patience = 0;
    tap_ok(early_stopping_step(&s, &state, 9, 0), "without patience no run is ended");
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

TEST_CASE(training_test)
{
    test_solvers();
    test_recent_solvers();
    test_one_cycle();
    test_momentum_forms();
    test_cycled_momentum();
    test_inv();
    test_warm_up();
    test_clipping();
    test_early_stopping();
    test_schedules();
    test_plateau();
    test_loss_meter(1);
    test_loss_meter(20);
    test_loss_meter(40);
    test_known_negative();
    return tap_done();
}
