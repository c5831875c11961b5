/* A session for the tests of the screens, whose runs train nothing. Losses are formulas of the
 * iteration. Time passes as usual or, with UI_FAKE_FREEZE=N in the environment, stands still at
 * iteration N, so that screens are the same every time. A run has no worker: it advances in the
 * thread that asks for its snapshot, one thread at a time. Configurations are real. */
#include "exchange/export/export.h"
#include "runs/folder/inspection.h"
#include "runs/history/follow.h"
#include "studies/sweep/sweep_process.h"
#include "training/forecast_make.h"
#include "training/run_start.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/image_file.h"
#include "runs/record/run_open.h"
#include "runs/values/scalars.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCH = 100, RATE = 200 }; /* iterations per epoch, and per second */

struct run {
    atomic_int shared; /* added to the losses */
    struct run_config config;
    struct run_facts facts;
    struct run_snapshot snapshot;
    struct series series;
    uint64_t started, stop_at, frozen_at;
    double learning_rate;
    bool failing, makes_samples, kept;
    struct inspection *inspection;
};

/* The thread of an export asks for snapshots beside that of the screens. */
static pthread_mutex_t advancing = PTHREAD_MUTEX_INITIALIZER;

/* --- forecast --- */

bool forecast_make(const struct run_config *config, size_t classes, struct forecast *forecast,
                   struct error *error)
{
    size_t batch = config->batch;
    if (strcmp(config->network, "alexnet") == 0 && strcmp(config->data, "digits") == 0)
        return error_set(error, ERROR_INPUT, config->data, "choose another network or data set",
                         "its images are 28x28 with 1 channel, but alexnet wants 227x227 with 3");
    *forecast = (struct forecast){.parameters = 431080,
                                  .flops = 4586000,
                                  .classes = classes ? classes : 10,
                                  .input = {1, 28, 28},
                                  .memory_free = UINT64_C(3) << 30};
    uint64_t weights = forecast->parameters * sizeof(float);
    forecast->memory = (struct memory_forecast){.weights = weights,
                                                .gradients = weights,
                                                .solver = weights,
                                                .activations = batch * 200000,
                                                .workspace = 1 << 20};
    forecast->memory.total = 3 * weights + batch * 200000 + (1 << 20);
    forecast->fits = forecast->memory.total <= forecast->memory_free;
    forecast->largest_batch = 8192;
    return true;
}

/* --- a run --- */

static float loss_at(uint64_t iteration)
{
    double t = (double)iteration;
    if (iteration == 150) /* a gap in the curve */
        return NAN;
    return (float)(2.3 * exp(-t / 180) + 0.02 +
                   0.3 * exp(-t / 400) * fabs(sin(t * 12.9898) * sin(t)));
}

/* Losses of a generator and a discriminator. */
static bool is_contest(const struct run *run)
{
    return strcmp(run->config.network, "pix2pix") == 0;
}

static void add_contest(struct series_point *point)
{
    double t = (double)point->iteration;
    point->loss_l1 = (float)(0.1 + 0.3 * exp(-t / 200) + 0.02 * sin(t));
    point->loss_discriminator = (float)(0.4 + 0.2 * exp(-t / 100) + 0.1 * sin(t / 7));
    point->loss = point->loss_caffe = point->loss_mean = 1 + 100 * point->loss_l1;
}

/* Draws the sample after an epoch: two examples, whose generated pictures become brighter. */
static void write_sample(const struct run *run, uint64_t epoch)
{
    struct image image;
    char path[600];
    if (!run->makes_samples || !image_create(&image, 96, 64, 3, NULL))
        return;
    for (size_t i = 0; i < 96 * 64; i++) {
        size_t part = i % 96 / 32, up = i / 96 % 32;
        uint64_t made = up * (epoch < 8 ? epoch : 8);
        uint8_t value = (uint8_t)(part == 0 ? 255 - 8 * up : part == 1 ? made : 8 * up);
        memset(image.pixels + 3 * i, value, 3);
    }
    snprintf(path, sizeof path, "%s/sample-%04d.png", run->facts.directory, (int)epoch);
    image_file_write_png(&image, path, NULL);
    image_free(&image);
}

/* Returns how much larger the losses of a run are: one of learning rate 0.059 diverges; other seeds
 * differ a little. */
static float scale_of(const struct run *run, uint64_t iteration)
{
    const bool diverges = run->config.learning_rate == 0.059 && iteration > 500;
    return (float)((diverges ? 1e6 : 1) * (0.8 + 0.2 * (double)run->config.seed));
}

static void add_point(struct run *run, uint64_t iteration)
{
    const float loss = loss_at(iteration) * scale_of(run, iteration);
    struct series_point point = {.iteration = iteration,
                                 .epoch = (float)iteration / EPOCH,
                                 .loss = loss,
                                 .loss_caffe = loss,
                                 .loss_mean = loss,
                                 .loss_discriminator = NAN,
                                 .loss_l1 = NAN,
                                 .loss_labels = NAN,
                                 .loss_teacher = NAN,
                                 .learning_rate = (float)run->learning_rate,
                                 .ms_per_image = 1.25f,
                                 .seconds = (float)iteration / RATE,
                                 .memory_bytes = 48 << 20};
    if (is_contest(run))
        add_contest(&point);
    series_add(&run->series, &point);
    if (iteration % EPOCH == 0 && is_contest(run))
        write_sample(run, iteration / EPOCH);
    if (iteration % EPOCH != 0 || !run->config.validate[0])
        return;
    double epoch = (double)iteration / EPOCH;
    struct series_validation validation = {
        .iteration = iteration,
        .epoch = (float)epoch,
        .loss = (float)(0.9 * exp(-epoch / 2) + 0.02 * epoch),
        .top1 = (float)(98 - 30 * exp(-epoch) - (epoch > 4 ? epoch - 4 : 0)),
        .top5 = 99.5f,
        .pixel_accuracy = NAN,
        .loss_error = 0.004f,
        .seconds = point.seconds};
    if (is_contest(run)) {
        validation.top1 = validation.top5 = NAN;
        validation.pixel_accuracy = (float)(62 - 40 * exp(-epoch / 2));
    }
    series_add_validation(&run->series, &validation);
    run_snapshot_take_validation_loss(&run->snapshot, (double)validation.loss);
    run->snapshot.validation.known = true;
    run->snapshot.validation.loss = (double)validation.loss;
    run->snapshot.validation.top1 = (double)validation.top1;
    run->snapshot.validation.pixel_accuracy = (double)validation.pixel_accuracy;
    run->snapshot.validation.best_top1 =
        fmax(run->snapshot.validation.best_top1, run->snapshot.validation.top1);
    if (epoch >= 5 && !is_contest(run))
        run->snapshot.finding_count = 1;
}

static void advance(struct run *run)
{
    struct run_snapshot *now = &run->snapshot;
    uint64_t due = run->frozen_at;
    if (run->failing || run_status_is_over(now->status) || now->status == RUN_PAUSED)
        return;
    if (!due)
        due = (uint64_t)(clock_seconds(run->started, clock_nanoseconds()) * RATE);
    due = due < run->stop_at ? due : run->stop_at;
    due = due < now->iterations ? due : now->iterations;
    while (now->iteration < due)
        add_point(run, ++now->iteration);
    float last = loss_at(now->iteration);
    now->loss = now->loss_caffe = last;
    now->loss_mean = (double)last;
    now->loss_discriminator = now->loss_l1 = NAN;
    if (is_contest(run) && now->iteration > 0) {
        struct series_point point = {.iteration = now->iteration};
        add_contest(&point);
        now->loss = point.loss;
        now->loss_discriminator = point.loss_discriminator;
        now->loss_l1 = point.loss_l1;
    }
    now->epoch = (double)now->iteration / EPOCH;
    now->learning_rate = run->learning_rate;
    now->ms_per_image_now = now->ms_per_image_median = 1.25;
    now->images_per_second = 800;
    now->elapsed_seconds = (double)now->iteration / RATE;
    now->eta_seconds = (double)(now->iterations - now->iteration) / RATE;
    now->memory_measured = 48 << 20;
    now->loss_scale = getenv("UI_FAKE_FP16") ? 32768 : 0; /* as if it had a GPU */
    now->skipped_steps = now->loss_scale > 0 ? 3 : 0;
    now->energy.seconds = now->elapsed_seconds;
    now->energy.images = (double)now->iteration * 64;
    now->energy.joules = 0.025 * now->energy.images;
    if (now->iteration == now->iterations)
        now->status = RUN_DONE;
    else if (now->iteration == run->stop_at)
        now->status = RUN_STOPPED;
}

struct run *run_start(const struct run_config *config, const struct run_options *options,
                      struct error *error)
{
    const char *freeze = getenv("UI_FAKE_FREEZE");
    struct run *run = memory_new(1, sizeof *run, "a run", error);
    if (!run || !series_create(&run->series, config->epochs * EPOCH, config->epochs, error)) {
        free(run);
        return NULL;
    }
    run->config = *config;
    run->started = clock_nanoseconds();
    run->stop_at = UINT64_MAX;
    run->frozen_at = freeze ? strtoull(freeze, NULL, 10) : 0;
    run->learning_rate = config->learning_rate;
    run->snapshot.status = RUN_RUNNING;
    run->snapshot.iterations = config->epochs * EPOCH;
    run->snapshot.epochs = (double)config->epochs;
    run->snapshot.eta_seconds = -1;
    run->facts =
        (struct run_facts){.id = "fake", .parameters = 431080, .images = 6400, .classes = 10};
    run->facts.forecast = (struct memory_forecast){.weights = 1724320,
                                                   .gradients = 1724320,
                                                   .solver = 1724320,
                                                   .activations = 12800000,
                                                   .workspace = 1 << 20,
                                                   .total = 1724320 * 3 + 12800000 + (1 << 20)};
    snprintf(run->facts.network, sizeof run->facts.network, "%.63s", config->network);
    snprintf(run->facts.technique, sizeof run->facts.technique, "none");
    snprintf(run->facts.directory, sizeof run->facts.directory, "fake");
    if (is_contest(run)) {
        run->facts.classes = 0;
        run->facts.validation_images = 2;
        run->facts.discriminator_parameters = 2768705;
    }
    run->makes_samples = options && options->run_directory;
    if (run->makes_samples)
        snprintf(run->facts.directory, sizeof run->facts.directory, "%s", options->run_directory);
    run->failing = strncmp(config->data, "idx:", 4) == 0;
    if (run->failing) {
        run->snapshot.status = RUN_FAILED;
        error_set(&run->snapshot.error, ERROR_INPUT, config->data + 4,
                  "give the folder of the files", "there is no such folder");
    }
    return run;
}

/* To the screens a resumed run is a new one. */
struct run *run_resume(const char *directory, const struct run_config *changes,
                       const struct run_options *options, struct error *error)
{
    struct run_config config;
    (void)directory;
    config_defaults(&config);
    return run_start(changes ? changes : &config, options, error);
}

/* The ID of a stored run is DATE-TIME-NETWORK-BATCH; it is complete. The minutes of the time are
 * the learning rate in thousandths (15: the default), its seconds are added to the seed. */
static bool read_name(const char *directory, struct run_config *config, struct error *error)
{
    const char *id = file_base_name(directory), *last = strrchr(id, '-');
    if (strlen(id) < 18 || !last || last < id + 16)
        return error_set(error, ERROR_INPUT, directory, NULL, "this is no run");
    config_defaults(config);
    snprintf(config->network, sizeof config->network, "%.*s", (int)(last - id) - 16, id + 16);
    snprintf(config->validate, sizeof config->validate, "digits");
    config->batch = strtoull(last + 1, NULL, 10);
    const int minutes = (id[11] - '0') * 10 + id[12] - '0',
              seconds = (id[13] - '0') * 10 + id[14] - '0';
    if (minutes != 15)
        config->learning_rate = minutes / 1000.0;
    config->seed += (uint64_t)seconds;
    return true;
}

struct run *run_open(const char *directory, struct error *error)
{
    struct run_config config;
    struct run_options options = {.run_directory = directory};
    if (!read_name(directory, &config, error))
        return NULL;
    struct run *run = run_start(&config, &options, error);
    if (!run)
        return NULL;
    snprintf(run->facts.id, sizeof run->facts.id, "%.39s", file_base_name(directory));
    run->makes_samples = false;
    run->kept = true;
    run->frozen_at = run->snapshot.iterations;
    advance(run);
    return run;
}

/* No other process computes a run. */
struct run *follow_open(const char *directory, struct error *error)
{
    return run_open(directory, error);
}

enum follow_result follow_step(struct run *run)
{
    (void)run;
    return FOLLOW_UNCHANGED;
}

double follow_silence(const struct run *run)
{
    (void)run;
    return -1;
}

bool run_peek(const char *directory, struct run_outline *outline, struct error *error)
{
    struct run *run = run_open(directory, error);
    if (!run)
        return false;
    *outline = (struct run_outline){run->config, run->facts, run->snapshot};
    run_free(run);
    return true;
}

struct run *run_share(struct run *run)
{
    atomic_fetch_add(&run->shared, 1);
    return run;
}

void run_free(struct run *run)
{
    if (!run || atomic_fetch_sub(&run->shared, 1) > 0)
        return;
    series_free(&run->series);
    inspection_free(run->inspection);
    free(run);
}

const struct error *run_damage(const struct run *run)
{
    static const struct error none;
    (void)run;
    return &none;
}

const struct run_config *run_config(const struct run *run)
{
    return &run->config;
}

const struct run_facts *run_facts(const struct run *run)
{
    return &run->facts;
}

void run_snapshot(const struct run *run, struct run_snapshot *snapshot)
{
    pthread_mutex_lock(&advancing);
    advance((struct run *)run);
    *snapshot = run->snapshot;
    pthread_mutex_unlock(&advancing);
}

const struct series *run_series(const struct run *run)
{
    return &run->series;
}

const struct scalars *run_scalars(const struct run *run)
{
    static const struct scalars none;
    (void)run;
    return &none;
}

void run_finding(const struct run *run, size_t index, struct finding *finding)
{
    (void)run;
    (void)index;
    *finding = (struct finding){FINDING_OVERFITTING, 400, 4, ""};
    snprintf(finding->text, sizeof finding->text,
             "median validation loss 0.285 in epochs 8 to 12, 0.202 in epochs 3 to 7 (lowest): the "
             "rise of 0.083 is more than noise (standard error 0.011); the training loss still "
             "falls, 0.31 to 0.12");
}

/* --- the profile of a run --- */

/* The entries of profile.json for two layers; a discriminator's part is in between. */
#define FAKE_LAYER(name, shape, forward)                                                           \
    "{\"name\": \"" name "\", \"op\": \"conv\", \"kernel\": \"conv direct\", \"choice\": "         \
    "\"conv direct chosen; conv fast refused: too few channels\", \"memory_bytes\": 2097152, "     \
    "\"forward_seconds\": " forward ", \"backward_seconds\": 0.002, \"forward_flops\": 1e9, "      \
    "\"backward_flops\": 2e9, \"output\": " shape "}"
#define FAKE_TENSOR(name, update)                                                                  \
    "{\"name\": \"" name "\", \"count\": 500, \"rank\": 4, \"learnable\": true, \"mean\": 0.01, "  \
    "\"deviation\": 0.2, \"low\": -1, \"high\": 1, \"norm\": 4, \"gradient_norm\": 0.5, "          \
    "\"update_norm\": " update                                                                     \
    ", \"histogram\": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,16,15,14,"                           \
    "13,12,11,10,9,8,7,6,5,4,3,2,1]}"
#define FAKE_NETWORK(name, first)                                                                  \
    "{\"name\": \"" name                                                                           \
    "\", \"layers\": [" FAKE_LAYER(first, "[20, 24, 24]", "0.001") ", " FAKE_LAYER(                \
        "conv2", "[50, 8, 8]",                                                                     \
        "0.003") "], \"gemm\": [{\"kind\": \"nn\", \"shape\": "                                    \
                 "[20, 576, 25], \"calls\": 64, \"seconds\": 0.003}, {\"kind\": \"tn\", "          \
                 "\"shape\": [25, 64, 20], "                                                       \
                 "\"calls\": 32, \"seconds\": 0.002}], \"weights\": [" FAKE_TENSOR(                \
                     first ".weight", "0.004") ", " FAKE_TENSOR("conv2.weight", "0.4") "]}"
#define FAKE_ARENA(name)                                                                           \
    "{\"name\": \"" name "\", \"steps\": 3, \"bytes\": 8388608, \"workspace\": 1048576, "          \
    "\"arrays\": [{\"kind\": \"value\", \"name\": \"conv1\", \"offset\": 0, \"bytes\": 4194304, "  \
    "\"first\": 0, \"last\": 5}, {\"kind\": \"gradient\", \"name\": \"conv2\", \"offset\": "       \
    "4194304, "                                                                                    \
    "\"bytes\": 3145728, \"first\": 3, \"last\": 4}]}"
#define FAKE_HEAD                                                                                  \
    "{\"format\": \"tinca-profile\", \"version\": 1, \"iteration\": 101, \"iterations\": 16, "     \
    "\"images\": 1024, \"threads\": 2, \"seconds\": 0.01, \"cost\": 0.001, \"networks\": ["

static const char fake_alone[] =
    FAKE_HEAD FAKE_NETWORK("network", "conv1") "], \"arenas\": [" FAKE_ARENA("network") "]}";
static const char fake_refused[] =
    FAKE_HEAD FAKE_NETWORK("network", "conv1") "], \"graph_refused\": \"cudaGraphInstantiate: "
                                               "operation not supported\", \"graphs_refused\": "
                                               "2, \"passes_without_graph\": 315, \"arenas\": "
                                               "[" FAKE_ARENA("network") "]}";
static const char
    fake_contest[] =
        FAKE_HEAD FAKE_NETWORK("generator", "down1") ", " FAKE_NETWORK("discriminator", "judge1") "], \"arenas\": [" FAKE_ARENA(
            "generator") ", " FAKE_ARENA("discriminator") ", " FAKE_ARENA("judging") "]}";

static void look(struct run *run)
{
    struct json_document document;
    const char *text = is_contest(run)             ? fake_contest
                       : getenv("UI_FAKE_REFUSED") ? fake_refused
                                                   : fake_alone;
    if (run->inspection || !json_parse(&document, text, strlen(text), "a fake", NULL))
        return;
    run->inspection = inspection_from_json(&document, NULL);
    json_document_free(&document);
}

/* Only the stored runs of lenet have a profile. */
const struct inspection *run_inspection(struct run *run, struct error *error)
{
    *error = (struct error){0};
    if (run->kept && strcmp(run->config.network, "lenet") == 0)
        look(run);
    return run->inspection;
}

/* --- the ranks of a run, if UI_FAKE_RANKS says how many --- */

size_t run_rank_count(const struct run *run)
{
    const char *count = getenv("UI_FAKE_RANKS");
    (void)run;
    return count ? strtoul(count, NULL, 10) : 0;
}

/* Rank 1 is slow: it does not wait, the others wait for it. The last one has told nothing yet. */
bool run_ranks(const struct run *run, struct run_ranks *ranks)
{
    const size_t count = run_rank_count(run);
    run_ranks_free(ranks);
    ranks->ranks = count > 0 ? calloc(count, sizeof *ranks->ranks) : NULL;
    if (!ranks->ranks)
        return count == 0;
    ranks->count = count;
    for (size_t r = 0; r < count; r++) {
        const bool known = r + 1 < count;
        struct rank_work *rank = &ranks->ranks[r];
        *rank = (struct rank_work){.process = 1000 + r,
                                   .iterations = known ? 250 : 0,
                                   .compute_ms = !known   ? (double)NAN
                                                 : r == 1 ? 20
                                                          : 10,
                                   .data_ms = known ? 0.5 : (double)NAN,
                                   .wait_ms = !known   ? (double)NAN
                                              : r == 1 ? 0
                                                       : 9.5};
        snprintf(rank->host, sizeof rank->host, "node%zu", r / 2);
    }
    return true;
}

void run_flush(struct run *run)
{
    (void)run;
}

static void obey(struct run *run, enum run_command command, double value)
{
    struct run_snapshot *now = &run->snapshot;
    if (command == COMMAND_PAUSE && now->status == RUN_RUNNING)
        now->status = RUN_PAUSED;
    else if (command == COMMAND_GO_ON && now->status == RUN_PAUSED) {
        now->status = RUN_RUNNING;
        run->started = clock_nanoseconds() - now->iteration * 1000000000 / RATE;
    } else if (command == COMMAND_INSPECT)
        look(run);
    else if (command == COMMAND_LEARNING_RATE)
        run->learning_rate = value;
    else if (command == COMMAND_STOP || command == COMMAND_STOP_AT_EPOCH) {
        run->stop_at =
            command == COMMAND_STOP ? now->iteration : (now->iteration + EPOCH - 1) / EPOCH * EPOCH;
        if (now->status == RUN_PAUSED)
            now->status = RUN_STOPPED;
    }
}

bool run_send(struct run *run, enum run_command command, double value)
{
    pthread_mutex_lock(&advancing);
    obey(run, command, value);
    pthread_mutex_unlock(&advancing);
    return true;
}

bool run_wait(struct run *run, double seconds)
{
    struct run_snapshot snapshot;
    uint64_t from = clock_nanoseconds();
    for (;;) {
        run_snapshot(run, &snapshot);
        if (run_status_is_over(snapshot.status))
            return true;
        if (seconds >= 0 && clock_seconds(from, clock_nanoseconds()) >= seconds)
            return false;
        clock_sleep(0.02);
    }
}

/* --- cells of sweeps: there is no program that could compute them --- */

bool sweep_process_start(struct sweep_process *process, struct sweep *sweep, size_t index,
                         enum spawn_group group)
{
    (void)group;
    *process = (struct sweep_process){.cell = index};
    sweep->cells[index].state = SWEEP_FAILED;
    error_set(&sweep->cells[index].reason, ERROR_SYSTEM, sweep->cells[index].id, NULL,
              "this session trains nothing");
    return false;
}

void sweep_process_save(const struct sweep_process *process)
{
    (void)process;
}

void sweep_process_stop(struct sweep_process *process)
{
    (void)process;
}

bool sweep_process_has_ended(struct sweep_process *process, struct sweep *sweep)
{
    (void)process, (void)sweep;
    return false;
}

/* --- export --- */

bool export_session(struct run *const *runs, size_t count, const char *path, struct error *error)
{
    char text[64];
    (void)runs;
    snprintf(text, sizeof text, "{\"runs\": %zu}\n", count);
    return file_write(path, text, strlen(text), false, error);
}

/* --- forks: these runs have neither checkpoints nor models --- */

const char *const fork_source_names[FORK_SOURCES + 1] = {"last", "previous", "final", "best", NULL};

bool fork_has(const char *directory, enum fork_source source)
{
    (void)directory;
    (void)source;
    return false;
}

static bool refuse_fork(const struct fork_request *request, struct error *error)
{
    return error_set(error, ERROR_USAGE, request->directory, NULL, "it has no checkpoint");
}

bool fork_read_config(const struct fork_request *request, struct run_config *config,
                      struct error *error)
{
    (void)config;
    return refuse_fork(request, error);
}

bool fork_plan(const struct fork_request *request, const struct run_config *config,
               struct run_fork *fork, struct error *error)
{
    (void)config;
    (void)fork;
    return refuse_fork(request, error);
}
