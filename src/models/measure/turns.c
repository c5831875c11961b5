/* The statistics of blocks come first, then the measurement: a session loads the models for each
 * block, lets them take their turns in order and in reverse, and frees them. */
#include "models/measure/turns.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/host/host_contention.h"
#include "base/json/json_field.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "models/measure/inference_time.h"
#include "models/saved/model_file.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- where and how --- */

struct measured_on measured_on_here(const char *device, size_t threads)
{
    struct host host;
    struct measured_on on = {.threads = threads};
    host_describe(&host);
    if (threads == 0)
        on.threads = host.cores;
    snprintf(on.device, sizeof on.device, "%s", device);
    snprintf(on.host, sizeof on.host, "%s", host.name);
    snprintf(on.cpu, sizeof on.cpu, "%s", host.cpu);
    return on;
}

struct measured_on measured_on_now(const struct device *device)
{
    struct measured_on on = measured_on_here(device->name, device->threads);
    snprintf(on.precision, sizeof on.precision, "%s", device_precision_names[device->precision]);
    clock_now_rfc3339(on.created, sizeof on.created);
    return on;
}

static bool is_same_machine(const struct measured_on *a, const struct measured_on *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->cpu, b->cpu) == 0 && a->threads == b->threads;
}

bool measured_on_same(const struct measured_on *a, const struct measured_on *b)
{
    return strcmp(a->device, b->device) == 0 && is_same_machine(a, b);
}

bool measured_on_is(const struct measured_on *on, const struct measured_on *wanted)
{
    return measured_on_device(on->device, wanted->device) && is_same_machine(on, wanted);
}

bool measured_on_device(const char *name, const char *wanted)
{
    const size_t length = strlen(wanted);
    return strncmp(name, wanted, length) == 0 && (name[length] == '\0' || name[length] == ':');
}

bool measurement_set_precision(struct model *model, const struct run_config *config,
                               const char *wanted, struct error *error)
{
    struct device *device = model->device;
    size_t precision = machine_settings(config).precision;
    if (!wanted && device->precision == PRECISION_INT8)
        return true;
    for (size_t i = 0; wanted && i < PRECISIONS; i++)
        if (strcmp(device_precision_names[i], wanted) == 0)
            precision = i;
    if (!wanted && !device_check_precision(device->driver, (enum device_precision)precision, NULL))
        return true;
    return model_compute_in(model, (enum device_precision)precision, error);
}

enum { WARM_UP = 3, LEAST_IMAGES = 2, MOST_IMAGES = 1000 };
static const double turn_seconds = 0.02;
static const double upper = 0.975; /* the end of a 95 % interval */

/* --- the statistics --- */

struct turns_test turns_test(const struct turns *turns)
{
    const double nan = (double)NAN;
    const size_t count = turns->marked < turns->blocks ? turns->blocks - turns->marked : 0;
    struct turns_test test = {TURNS_NONE, nan, nan, nan, nan, nan, nan};
    if (turns->blocks == 0 || !isfinite(turns->log_ratio))
        return test;
    test.ratio = exp(turns->log_ratio);
    if (count < 2 || !(turns->log_sd >= 0) || !isfinite(turns->log_sd))
        return test;
    const double freedom = (double)(count - 1), error = turns->log_sd / sqrt((double)count);
    const double half = student_t_quantile(upper, freedom) * error;
    test.low = exp(turns->log_ratio - half);
    test.high = exp(turns->log_ratio + half);
    if (count < TURNS_LEAST)
        return test;
    const double beyond = fmax(0, fabs(turns->log_ratio) - log1p(TURNS_MARGIN));
    test.freedom = freedom;
    test.t = beyond > 0 ? copysign(beyond / error, turns->log_ratio) : 0;
    test.p = isinf(test.t) ? 0 : student_t_two_sided(test.t, freedom);
    test.verdict = !(test.p < TURNS_LEVEL) ? TURNS_ALIKE
                   : turns->log_ratio < 0  ? TURNS_FIRST_FASTER
                                           : TURNS_SECOND_FASTER;
    return test;
}

struct turns turns_swapped(const struct turns *turns)
{
    struct turns swapped = *turns;
    swapped.first_ms = turns->second_ms;
    swapped.second_ms = turns->first_ms;
    swapped.log_ratio = -turns->log_ratio;
    if (turns->second_precision[0]) {
        memcpy(swapped.on.precision, turns->second_precision, sizeof swapped.on.precision);
        memcpy(swapped.second_precision, turns->on.precision, sizeof swapped.second_precision);
    }
    return swapped;
}

bool turns_precisions_differ(const struct turns *turns)
{
    return turns->on.precision[0] && turns->second_precision[0] &&
           strcmp(turns->on.precision, turns->second_precision) != 0;
}

const char *turns_missing_text(void)
{
    return _("not comparable: measured at different times");
}

const char *turns_advice_text(void)
{
    return _("Ratios of ms/image are no verdict: tinca models --measure lets models take turns.");
}

char *turns_text(const struct turns *turns, char *text, size_t size)
{
    const struct turns_test test = turns_test(turns);
    const size_t count = turns->blocks - turns->marked;
    char *const whole = text;
    text[0] = '\0';
    if (turns_precisions_differ(turns)) {
        const size_t used = (size_t)snprintf(text, size, _("computed in %s and %s; "),
                                             turns->on.precision, turns->second_precision);
        text += used < size ? used : size - 1;
        size -= used < size ? used : size - 1;
    }
    if (test.verdict == TURNS_NONE)
        snprintf(text, size,
                 _("other work on the machine disturbed %zu of %zu blocks (ABBA), and a verdict "
                   "needs %d undisturbed ones; end other programs and measure again"),
                 turns->marked, turns->blocks, TURNS_LEAST);
    else
        snprintf(
            text, size,
            _("%.4g and %.4g ms, 95 %% interval of the ratio %.4g to %.4g; t-test of %zu ABBA "
              "blocks, %zu more were disturbed, t = %.3g, p = %.2g; level %g %%, margin %g %%"),
            turns->first_ms, turns->second_ms, test.low, test.high, count, turns->marked, test.t,
            test.p, 100 * TURNS_LEVEL, 100 * TURNS_MARGIN);
    return whole;
}

void turns_summarise(struct turns *turns, const double *first, const double *second,
                     const bool *marked, size_t blocks)
{
    size_t count = 0;
    turns->blocks = blocks;
    turns->marked = 0;
    for (size_t b = 0; b < blocks; b++)
        turns->marked += marked[b];
    const bool all = turns->marked == blocks;
    turns->first_ms = turns->second_ms = turns->log_ratio = 0;
    for (size_t b = 0; b < blocks; b++) {
        if (marked[b] && !all)
            continue;
        count++;
        turns->first_ms += first[b];
        turns->second_ms += second[b];
        turns->log_ratio += log(first[b] / second[b]);
    }
    turns->first_ms /= (double)count;
    turns->second_ms /= (double)count;
    turns->log_ratio /= (double)count;
    double squares = 0;
    for (size_t b = 0; b < blocks; b++)
        if (!marked[b] || all)
            squares += pow(log(first[b] / second[b]) - turns->log_ratio, 2);
    turns->log_sd = count > 1 ? sqrt(squares / (double)(count - 1)) : (double)NAN;
}

/* --- measuring --- */

struct session {
    const struct turns_model *models;
    size_t count;
    size_t images[TURNS_MODELS]; /* of a turn; 0: not known yet */
    struct model loaded[TURNS_MODELS];
    float *inputs[TURNS_MODELS];
    char precisions[TURNS_MODELS][PRECISION_NAME_SIZE];
    double ms[TURNS_MODELS][TURNS_MOST]; /* per image, of each block */
    bool marked[TURNS_MOST];
    size_t blocks, unmarked;
};

/* Returns the model whose turn is `turn` of 2 count: forward, then backward; blocks with odd
 * numbers begin with the last model. */
static size_t model_of(const struct session *session, size_t turn)
{
    const size_t count = session->count;
    const size_t place = turn < count ? turn : 2 * count - 1 - turn;
    return session->blocks % 2 == 0 ? place : count - 1 - place;
}

/* Loads model m, if the memory is enough also for the `more` models that are loaded after it. */
static bool open_model(struct session *session, size_t m, size_t more, struct error *error)
{
    const struct turns_model *wanted = &session->models[m];
    const struct model_use use = {.models = more};
    struct model *model = &session->loaded[m];
    if (!model_load_for(model, wanted->path, wanted->device, wanted->threads, &use, error))
        return false;
    session->inputs[m] = inference_image(model, error);
    if (session->inputs[m] &&
        (!wanted->config || measurement_set_precision(model, wanted->config, NULL, error)))
        return true;
    free(session->inputs[m]);
    model_free(model);
    return false;
}

static void close_models(struct session *session, size_t opened)
{
    for (size_t i = 0; i < opened; i++) {
        const size_t m = model_of(session, i);
        free(session->inputs[m]);
        model_free(&session->loaded[m]);
    }
}

/* Infers `images` images by model m; sets *seconds to their total time. */
static bool infer(struct session *session, size_t m, size_t images, double *seconds,
                  struct error *error)
{
    const uint64_t start = clock_nanoseconds();
    for (size_t i = 0; i < images; i++)
        if (!model_infer(&session->loaded[m], session->inputs[m], i, error))
            return false;
    *seconds = clock_seconds(start, clock_nanoseconds());
    return true;
}

/* Sets the number of images of a turn: as many as fill turn_seconds. Models whose times are alike
 * get the same number, so that nothing else distinguishes equal ones. */
static void choose_images(struct session *session, size_t m, double seconds)
{
    const double wanted = ceil(turn_seconds / fmax(seconds, 1e-9));
    for (size_t i = 0; i < session->count; i++)
        if (session->images[i] > 0 && wanted < 2 * (double)session->images[i] &&
            wanted > (double)session->images[i] / 2) {
            session->images[m] = session->images[i];
            return;
        }
    session->images[m] = (size_t)fmin(fmax(wanted, LEAST_IMAGES), MOST_IMAGES);
}

/* Warms up the opened models: kernels, caches and memory. */
static bool warm_up(struct session *session, struct error *error)
{
    for (size_t i = 0; i < session->count; i++) {
        const size_t m = model_of(session, i);
        double seconds;
        if (!infer(session, m, WARM_UP, &seconds, error) ||
            (session->images[m] == 0 && !infer(session, m, WARM_UP, &seconds, error)))
            return false;
        if (session->images[m] == 0)
            choose_images(session, m, seconds / WARM_UP);
    }
    return true;
}

/* Lets the opened models take the turns of a block. */
static bool take_block(struct session *session, struct error *error)
{
    double sums[TURNS_MODELS] = {0};
    struct host_contention before, after;
    host_contention_read(&before);
    for (size_t turn = 0; turn < 2 * session->count; turn++) {
        const size_t m = model_of(session, turn);
        double seconds;
        if (!infer(session, m, 1, &seconds, error) ||
            !infer(session, m, session->images[m], &seconds, error))
            return false;
        sums[m] += seconds;
    }
    host_contention_read(&after);
    const struct device *device = session->loaded[0].device;
    const bool busy = device->threads == 1 && strncmp(device->name, "cuda", 4) != 0;
    const bool marked = host_contention_share(&before, &after, busy) > TURNS_DISTURBED;
    for (size_t m = 0; m < session->count; m++)
        session->ms[m][session->blocks] = 1e3 * sums[m] / (2 * (double)session->images[m]);
    session->marked[session->blocks] = marked;
    session->unmarked += !marked;
    return true;
}

/* Records the machine, and the precision of each of the opened models. */
static void describe(struct session *session, struct measured_on *on)
{
    *on = measured_on_now(session->loaded[0].device);
    for (size_t m = 0; m < session->count; m++)
        snprintf(session->precisions[m], sizeof session->precisions[m], "%s",
                 device_precision_names[session->loaded[m].device->precision]);
}

/* Loads the models, measures one block and frees them; *on gets the device and the machine. */
static bool measure_block(struct session *session, struct measured_on *on, struct error *error)
{
    size_t opened = 0;
    while (opened < session->count &&
           open_model(session, model_of(session, opened), session->count - opened - 1, error))
        opened++;
    const bool measured =
        opened == session->count && warm_up(session, error) && take_block(session, error);
    if (measured)
        describe(session, on);
    close_models(session, opened);
    session->blocks += measured;
    return measured;
}

/* Returns whether to measure another block: not if there are enough, not if too many are marked for
 * a verdict, and not if the machine is so busy that all are. */
static bool goes_on(const struct session *session)
{
    const size_t marked = session->blocks - session->unmarked;
    return session->blocks < TURNS_MOST && session->unmarked < TURNS_AIM &&
           marked <= TURNS_MOST - TURNS_LEAST &&
           (session->unmarked > 0 || session->blocks < TURNS_VAIN);
}

/* Returns the session's result for models i and j. */
static struct turns result(const struct session *session, const struct measured_on *on, size_t i,
                           size_t j)
{
    struct turns turns = {.on = *on, .images = 2 * session->images[i]};
    memcpy(turns.on.precision, session->precisions[i], sizeof turns.on.precision);
    memcpy(turns.second_precision, session->precisions[j], sizeof turns.second_precision);
    turns_summarise(&turns, session->ms[i], session->ms[j], session->marked, session->blocks);
    return turns;
}

bool turns_measure(const struct turns_model *models, size_t count, evaluation_progress *progress,
                   void *context, struct turns *results, struct error *error)
{
    struct measured_on on = {.threads = 0};
    struct session *session = memory_new(1, sizeof *session, "the turns", error);
    bool good = session;
    if (good)
        *session = (struct session){.models = models, .count = count};
    while (good && goes_on(session))
        good = measure_block(session, &on, error) &&
               (!progress || progress(context, session->blocks, TURNS_MOST, error));
    for (size_t i = 0; good && i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            results[i * count + j] = result(session, &on, i, j);
    free(session);
    return good;
}

/* --- JSON --- */

#define MEMBER(name) JSON_FIELD_AT(struct turns, name)
static const struct json_field members[] = {
    {"device", JSON_FIELD_TEXT, MEMBER(on.device)},
    {"precision", JSON_FIELD_TEXT, MEMBER(on.precision)},
    {"host", JSON_FIELD_TEXT, MEMBER(on.host)},
    {"cpu", JSON_FIELD_TEXT, MEMBER(on.cpu)},
    {"created", JSON_FIELD_TEXT, MEMBER(on.created)},
    {"threads", JSON_FIELD_COUNT, MEMBER(on.threads)},
    {"blocks", JSON_FIELD_COUNT, MEMBER(blocks)},
    {"blocks_marked", JSON_FIELD_COUNT, MEMBER(marked)},
    {"images_per_block", JSON_FIELD_COUNT, MEMBER(images)},
    {"first_ms", JSON_FIELD_NUMBER, MEMBER(first_ms)},
    {"second_ms", JSON_FIELD_NUMBER, MEMBER(second_ms)},
    {"log_ratio", JSON_FIELD_NUMBER, MEMBER(log_ratio)},
    {"log_sd", JSON_FIELD_NUMBER, MEMBER(log_sd)},
};
enum { MEMBERS = sizeof members / sizeof *members };
/* This member is missing in files of older versions. */
static const struct json_field second_precision = {"second_precision", JSON_FIELD_TEXT,
                                                   MEMBER(second_precision)};

bool turns_to_json(struct json *object, const struct turns *turns)
{
    bool added = object;
    for (size_t i = 0; added && i < MEMBERS; i++)
        added = json_field_add(object, &members[i], turns);
    return added && json_field_add(object, &second_precision, turns);
}

bool turns_from_json(struct turns *turns, const struct json *object)
{
    *turns = (struct turns){0};
    for (size_t i = 0; i < MEMBERS; i++)
        if (!json_field_read(json_member(object, members[i].key), &members[i], turns))
            return false;
    const struct json *second = json_member(object, second_precision.key);
    if (second && !json_field_read(second, &second_precision, turns))
        return false;
    return turns->marked <= turns->blocks && turns->blocks <= TURNS_MOST;
}
