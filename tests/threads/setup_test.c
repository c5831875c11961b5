/* What the form finds out about a choice: rows shared out, pictures laid out and read, the learning
 * rate over the run, and earlier runs of the same work. */
#include "base/clock.h"
#include "base/threads/detached_task.h"
#include "data/loader/augment.h"
#include "data/loader/data_loader.h"
#include "runs/history/past_run.h"
#include "runs/record/run_open.h"
#include "runs/settings/lr_preview.h"
#include "tap.h"
#include "training/inspect/preview.h"
#include "ui/screens/setup/internal.h"
#include "ui/terminal/layout.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static void test_share(void)
{
    struct layout_part parts[3] = {{.rank = 1, .least = 2, .most = 9},
                                   {.rank = 0, .least = 3, .most = 3, .gap = 1},
                                   {.rank = 2, .least = 4, .most = 4}};
    for (int rows = 0; rows < 30; rows++) {
        int used = 0;
        bool whole = true;
        layout_share(rows, parts, 3);
        for (int i = 0; i < 3; i++) {
            used += parts[i].given > 0 ? parts[i].given + parts[i].gap : 0;
            whole = whole && (parts[i].given == 0 || (parts[i].given >= parts[i].least &&
                                                      parts[i].given <= parts[i].most));
        }
        if (used > rows || !whole)
            tap_ok(false, "%d rows suffice for the given lines", rows);
    }
    layout_share(5, parts, 3);
    tap_ok(parts[1].given == 3 && parts[0].given == 0, "the most important line comes first");
    layout_share(12, parts, 3);
    tap_ok(parts[0].given == 4 && parts[2].given == 4, "then common lines, then rare ones");
}

static void test_grid(void)
{
    for (int rows = 1; rows < 120; rows += 7)
        for (int columns = 1; columns < 400; columns += 13)
            for (size_t side = 1; side < 300; side += 37) {
                const struct grid_fit fit = grid_fit(side, 2 * side, rows, columns);
                const int wide = fit.columns < 6 ? 6 : fit.columns;
                if (fit.across * fit.down > PREVIEW_MAX_PICTURES ||
                    (int)fit.down * (fit.rows + 1) > rows ||
                    ((int)fit.across * (wide + 1) - 1 > columns && fit.across > 0))
                    tap_ok(false, "%zu pixels in %dx%d", side, columns, rows);
            }
    const struct grid_fit fit = grid_fit(28, 28, 15, 57);
    tap_ok(fit.across == 2 && fit.down == 1 && fit.rows == 14 && fit.columns == 28,
           "small pictures are shown in full");
    tap_ok(grid_fit(28, 28, 3, 57).across == 0, "without space there is no picture");
    tap_ok(grid_fit(224, 224, 56, 200).rows > 16, "large pictures are larger if there is space");
}

/* --- the learning rate --- */

static void test_rates(void)
{
    struct run_config config;
    struct lr_preview plan;
    float rates[101];
    config_defaults(&config);
    config_set(&config, "lr", "0.1", NULL);
    config_set(&config, "schedule", "cosine", NULL);
    tap_ok(lr_preview_make(&config, 0, rates, 101, &plan) && plan.iterations == 0 &&
               fabs(plan.epochs - 10) < 1e-9,
           "a schedule is known before the data is");
    tap_ok(fabs((double)rates[0] - 0.1) < 1e-6 && fabs((double)rates[50] - 0.05) < 1e-3 &&
               rates[100] < 1e-4f,
           "cosine: from the rate to 0");
    config_set(&config, "schedule", "step", NULL);
    config_set(&config, "step-size", "100", NULL);
    tap_ok(!lr_preview_make(&config, 0, rates, 101, &plan), "steps of iterations need the images");
    tap_ok(lr_preview_make(&config, 1300, rates, 101, &plan) && plan.iterations == 200,
           "1300 images in batches of 64 are 20 iterations an epoch");
    tap_ok(rates[0] > 0.09f && rates[99] < 0.02f && rates[40] > 0.09f, "one step, half way");
    config_set(&config, "iterations", "50", NULL);
    lr_preview_make(&config, 1300, rates, 101, &plan);
    tap_ok(fabs(plan.epochs - 2.5) < 1e-9, "50 iterations are two epochs and a half");
    config_set(&config, "schedule", "inv", NULL);
    config_set(&config, "iterations", "101", NULL);
    config_set(&config, "gamma", "0.01", NULL);
    config_set(&config, "power", "1", NULL);
    tap_ok(lr_preview_make(&config, 0, rates, 101, &plan) && fabs(plan.first - 0.1) < 1e-8 &&
               fabs(plan.last - 0.05) < 1e-8 && fabs((double)rates[25] - 0.08) < 1e-8,
           "inv: a hundred iterations later half of the rate");
    config_set(&config, "schedule", "plateau", NULL);
    lr_preview_make(&config, 1300, rates, 101, &plan);
    tap_ok(plan.by_loss, "a plateau is not known beforehand");
}

/* --- earlier runs --- */

static void test_past(void)
{
    struct run_outline outline = {.snapshot = {.status = RUN_DONE, .ms_per_image_median = 2.5}};
    struct run_config config;
    struct past_run found;
    config_defaults(&config);
    outline.config = config;
    snprintf(outline.facts.created, sizeof outline.facts.created, "1970-01-02T00:00:00Z");
    snprintf(outline.facts.host, sizeof outline.facts.host, "tench");
    tap_ok(past_run_matches(&outline, &config, "tench", 90000, &found) &&
               fabs(found.ms_per_image - 2.5) < 1e-12,
           "a run of the same work tells its time");
    tap_ok(fabs(found.age_seconds - 3600) < 1e-6, "and how old it is");
    tap_ok(!past_run_matches(&outline, &config, "carp", 90000, &found), "not on another machine");
    config_set(&config, "lr", "0.3", NULL);
    config_set(&config, "epochs", "99", NULL);
    tap_ok(past_run_is_alike(&outline.config, &config), "rate and length change no time an image");
    static const char *const changes[][2] = {
        {"network", "mlp"}, {"technique", "dsc"}, {"batch", "65"}, {"device", "reference"},
        {"threads", "77"},  {"width-rate", "2"},  {"groups", "4"}, {"teacher", "t.safetensors"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct run_config other = config;
        config_set(&other, changes[i][0], changes[i][1], NULL);
        tap_ok(!past_run_is_alike(&config, &other), "another %s does", changes[i][0]);
    }
    outline.snapshot.status = RUN_FAILED;
    tap_ok(!past_run_matches(&outline, &config, "tench", 90000, &found),
           "a failed run tells nothing");
    outline.snapshot.status = RUN_DONE;
    outline.snapshot.ms_per_image_median = NAN;
    tap_ok(!past_run_matches(&outline, &config, "tench", 90000, &found),
           "nor does one that measured nothing");
}

static void test_no_past(void)
{
    struct run_config config;
    struct past_run found = {.found = true};
    config_defaults(&config);
    struct past_search *search = past_search_begin(&config, NULL);
    for (int i = 0; i < 6000 && search && !past_search_result(search, &found); i++)
        clock_sleep(0.01);
    tap_ok(search && !found.found, "no runs, no time");
    past_search_drop(search);
}

/* --- work in the background --- */

static atomic_int freed;
static atomic_bool may_end;

static void wait_long(void *state)
{
    (void)state;
    while (!atomic_load(&may_end))
        clock_sleep(0.005);
}

static void count_free(void *state)
{
    free(state);
    atomic_fetch_add(&freed, 1);
}

static void test_background(void)
{
    struct error error = {0};
    int started = 0;
    for (; started < DETACHED_TASKS_MAX + 1; started++) {
        void *state = calloc(1, 8);
        struct detached_task *background =
            detached_task_start(wait_long, count_free, state, &error);
        if (!background) {
            free(state);
            break;
        }
        detached_task_drop(background);
    }
    tap_ok(started == DETACHED_TASKS_MAX,
           "threads that hang are let go of, but not without end: %s", error.why);
    tap_ok(atomic_load(&freed) == 0, "what they work on stays as long as they do");
    atomic_store(&may_end, true);
    for (int i = 0; i < 6000 && atomic_load(&freed) < DETACHED_TASKS_MAX; i++)
        clock_sleep(0.01);
    tap_ok(atomic_load(&freed) == DETACHED_TASKS_MAX, "and is freed then");
    clock_sleep(0.05);
}

/* --- pictures --- */

static bool wait_open(struct preview *preview, struct dataset_facts *facts, struct error *error)
{
    for (int i = 0; i < 6000; i++, clock_sleep(0.01)) {
        const enum preview_status status = preview_status(preview, facts, error);
        if (status != PREVIEW_OPENING)
            return status == PREVIEW_OPENED;
    }
    return false;
}

static bool wait_picture(struct preview *preview, struct preview_picture *picture)
{
    for (int i = 0; i < 6000; i++, clock_sleep(0.01))
        if (preview_take(preview, picture))
            return true;
    return false;
}

/* Returns the first batch of a training, as samples 0..255. */
static void first_batch(const struct run_config *config, bool balanced, float *images,
                        int32_t *labels)
{
    const struct dataset_request wish = {3, 32, 32};
    struct data_batch batch;
    struct dataset *dataset = dataset_open(config->data, "train", &wish, NULL);
    struct data_loader_settings settings = {.batch = 4,
                                            .training = true,
                                            .balanced = balanced,
                                            .seed = config->seed,
                                            .normalisation = {.deviation = {1, 1, 1}}};
    augmentation_parse(&settings.augmentation, config->augment, NULL);
    settings.augmentation = augmentation_for(&settings.augmentation, dataset_facts(dataset));
    struct data_loader *loader = data_loader_open(dataset, &settings, NULL);
    if (data_loader_next(loader, &batch, NULL)) {
        memcpy(images, batch.images, 4 * 3 * 32 * 32 * sizeof *images);
        memcpy(labels, batch.labels, 4 * sizeof *labels);
    }
    data_loader_free(loader);
    dataset_free(dataset);
}

static bool is_picture(const struct preview_picture *picture, const float *planes)
{
    const struct image *image = &picture->image;
    if (image->width != 32 || image->height != 32 || image->channels != 3)
        return false;
    for (size_t i = 0; i < 32 * 32; i++)
        for (size_t c = 0; c < 3; c++)
            if (fabsf((float)image->pixels[3 * i + c] - planes[c * 32 * 32 + i]) > 0.501f)
                return false;
    return true;
}

/* Mixed images and balanced sampling: the same pictures as in training, with the names of both
 * classes. */
static void test_mixed(const char *augment, bool balanced)
{
    static float images[4 * 3 * 32 * 32];
    int32_t labels[4];
    struct run_config config;
    struct dataset_facts facts;
    struct error error = {0};
    struct preview_picture picture;
    size_t same = 0, named = 0;
    const bool mixes = strstr(augment, "mix");
    config_defaults(&config);
    config_set(&config, "data", "shapes,limit=50", NULL);
    config_set(&config, "augment", augment, NULL);
    config_set(&config, "seed", "9", NULL);
    first_batch(&config, balanced, images, labels);
    struct preview *preview = preview_open(&config, NULL, &error);
    struct preview_request request = {
        .count = 4, .as_trained = true, .balanced = balanced, .batch = 4, .seed = 9};
    snprintf(request.augment, sizeof request.augment, "%s", config.augment);
    tap_ok(preview && wait_open(preview, &facts, &error), "%s: the set is opened", augment);
    preview_request_pictures(preview, &request);
    for (size_t i = 0; i < 4; i++) {
        same += wait_picture(preview, &picture) &&
                is_picture(&picture, images + picture.place * 3 * 32 * 32);
        named += strstr(picture.label, "% ") != NULL;
        image_free(&picture.image);
    }
    tap_ok(same == 4, "%s: the pictures are those of training (%zu of 4)", augment, same);
    tap_ok(named == (mixes ? 4 : 0), "%s: both classes are named if mixed", augment);
    request.batch = 1;
    preview_request_pictures(preview, &request);
    tap_ok(wait_picture(preview, &picture) && !strstr(picture.why, "only one") == !mixes,
           "%s: a batch of one cannot be mixed, and the picture says so", augment);
    image_free(&picture.image);
    preview_close(preview);
}

/* The pictures depend on the models that the run would follow. */
static void test_what_is_shown(const struct preview *preview, const struct run_config *config,
                               const struct shape *input)
{
    static const char *const changes[][2] = {{"filter", "bicubic"},
                                             {"weights", "other.safetensors"},
                                             {"teacher", "other.safetensors"},
                                             {"network", "other.safetensors"}};
    struct run_config same = *config;
    config_set(&same, "network", "resnet56", NULL);
    tap_ok(preview_is_of(preview, &same, input), "another network has the same pictures");
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        struct run_config other = *config;
        config_set(&other, changes[c][0], changes[c][1], NULL);
        tap_ok(!preview_is_of(preview, &other, input), "another %s may have others", changes[c][0]);
    }
}

static void test_as_trained(void)
{
    static float images[4 * 3 * 32 * 32];
    int32_t labels[4];
    struct run_config config;
    struct dataset_facts facts;
    struct error error = {0};
    struct preview_picture picture;
    const struct shape input = {.channels = 3, .height = 32, .width = 32};
    config_defaults(&config);
    config_set(&config, "data", "shapes,limit=50", NULL);
    config_set(&config, "seed", "9", NULL);
    config_set(&config, "augment", "yes", NULL);
    first_batch(&config, false, images, labels);
    struct preview *preview = preview_open(&config, &input, &error);
    tap_ok(preview && wait_open(preview, &facts, &error) && facts.images == 50, "a set is opened");
    preview_request_pictures(
        preview,
        &(struct preview_request){.count = 4, .as_trained = true, .augment = "yes", .seed = 9});
    for (size_t i = 0; i < 4; i++) {
        const bool came = wait_picture(preview, &picture);
        tap_ok(came && picture.place == i && is_picture(&picture, images + i * 3 * 32 * 32),
               "picture %zu is the one that the network is trained on", i + 1);
        image_free(&picture.image);
    }
    tap_ok(!preview_is_busy(preview), "then there is nothing more to come");
    preview_request_pictures(preview, &(struct preview_request){.from = 48, .count = 4, .seed = 9});
    size_t more = 0;
    while (more < 4 && wait_picture(preview, &picture)) {
        more++;
        image_free(&picture.image);
    }
    tap_ok(more == 4, "past the end it begins again");
    test_what_is_shown(preview, &config, &input);
    preview_request_pictures(preview,
                             &(struct preview_request){.count = PREVIEW_MAX_PICTURES, .seed = 9});
    preview_close(preview); /* in the middle of it */
}

static void test_no_pictures(void)
{
    struct run_config config;
    struct dataset_facts facts;
    struct error error = {0};
    config_defaults(&config);
    config_set(&config, "data", "folder:/nowhere/at/all", NULL);
    struct preview *preview = preview_open(&config, NULL, &error);
    tap_ok(preview && !wait_open(preview, &facts, &error) && error.why[0], "a missing folder: %s",
           error.why);
    tap_ok(!preview_is_busy(preview), "then nothing is pending");
    preview_close(preview);
}

/* --- the defaults --- */

static void test_defaults(void)
{
    static struct form form;
    static struct setup_model view;
    struct run_config config;
    config_defaults(&config);
    config_set(&config, "batch", "12", NULL);
    form_begin(&form, &config);
    tap_ok(setup_toggle_defaults(&view, &form) && form.config.batch == 64, "the defaults");
    tap_ok(!setup_toggle_defaults(&view, &form) && form.config.batch == 12, "and back");
    setup_toggle_defaults(&view, &form);
    config_set(&form.config, "batch", "13", NULL);
    tap_ok(setup_toggle_defaults(&view, &form) && form.config.batch == 64,
           "after a change it gives the defaults once more");
    tap_ok(!setup_toggle_defaults(&view, &form) && form.config.batch == 13, "and comes back");
}

/* The data set may be opened after the last setup_step and before the screen is idle. */
static void test_waits_until_told(void)
{
    static struct form form;
    static struct setup_model view;
    struct run_config config;
    struct dataset_facts facts;
    struct error error;
    config_defaults(&config);
    form_begin(&form, &config);
    form.forecast_stale = false;
    setup_step(&view, &form);
    past_search_drop(view.search); /* only the data set is still being opened */
    view.search = NULL;
    view.past_known = true;
    while (preview_status(view.preview, &facts, &error) == PREVIEW_OPENING)
        clock_sleep(0.001);
    tap_ok(view.status == PREVIEW_OPENED || setup_is_waiting(&view),
           "the screen polls until the data set is open");
    setup_step(&view, &form);
    tap_ok(view.status == PREVIEW_OPENED && !setup_is_waiting(&view), "and rests then");
    setup_free(&view);
}

TEST_CASE(setup_test)
{
    char folder[] = "/tmp/tinca-setup-XXXXXX", command[128];
    if (!mkdtemp(folder))
        return 99;
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    test_share();
    test_grid();
    test_rates();
    test_past();
    test_no_past();
    test_background();
    test_as_trained();
    test_mixed("crop=3,flip,rotate=10,color=0.3", true);
    test_mixed("crop=4,mixup=0.5,cutmix=1", false);
    test_mixed("cutmix=1", true);
    test_no_pictures();
    test_defaults();
    test_waits_until_told();
    /* a thread in the background may still write what a closed form no longer waits for */
    snprintf(command, sizeof command, "rm -rf '%s' || { sleep 1; rm -rf '%s'; }", folder, folder);
    if (system(command) != 0)
        return 99;
    return tap_done();
}
