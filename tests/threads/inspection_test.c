/* The profile of a run (layers, weights, arena): its values, that it is stored, and that measuring
 * changes no number. The networks are the user's files, small enough for sanitizers. */
#include "sanitized.h"
#include "session_files.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "exchange/export/export.h"
#include "runs/record/run_open.h"
#include "training/inspect_weights.h"
#include "training/run_start.h"

#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char tiny[] =
    "{\"name\": \"tiny\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"name\": \"conv1\", \"output\": 4, \"kernel\": 5},\n"
    "  {\"op\": \"batch_norm\", \"name\": \"norm1\"}, {\"op\": \"relu\", \"name\": \"relu1\"},\n"
    "  {\"op\": \"max_pool\", \"name\": \"pool1\", \"kernel\": 2, \"stride\": 2},\n"
    "  {\"op\": \"linear\", \"name\": \"fc2\", \"output\": \"classes\"}]}\n";

static const char contest[] =
    "{\"name\": \"contest\", \"input\": [3, 16, 16], \"normalise\": \"signed\", \"loss\": "
    "\"l1_loss\",\n"
    " \"layers\": [{\"block\": \"unet\", \"name\": \"unet\", \"width\": 8, \"widest\": 16,\n"
    "   \"steps\": 3, \"dropout_steps\": 1}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    " \"discriminator\": {\"layers\": [\n"
    "  {\"op\": \"conv\", \"output\": 8, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "  {\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "  {\"op\": \"conv\", \"output\": 1, \"kernel\": 4, \"stride\": 2, \"pad\": 1}]}}\n";

static struct run *start(const char *network, const char *const *settings)
{
    struct run_config config = configure(settings);
    struct error error;
    config_set(&config, "network", home_path(network), NULL);
    struct run *run = run_start(&config, NULL, &error);
    if (!run)
        note_error(&error);
    return run;
}

static struct run *start_tiny_for(const char *epochs)
{
    return start("tiny.json", SETTINGS("data=digits,limit=640", "batch=16", epochs, "seed=3",
                                       "lr=0.05", "momentum=0.9", "threads=2"));
}

static struct run *start_tiny(void)
{
    return start_tiny_for("epochs=4");
}

/* Requests measurements as often as a view, and more. */
static size_t look_all_the_time(struct run *run)
{
    const struct inspection *last = NULL;
    struct error error;
    size_t seen = 0;
    do {
        const struct inspection *now = run_inspection(run, &error);
        seen += now != last;
        last = now;
        run_send(run, COMMAND_INSPECT, 0);
    } while (!run_wait(run, 0.002));
    return seen + (run_inspection(run, &error) != last);
}

static const struct inspection_layer *layer_named(const struct inspection_network *network,
                                                  const char *name)
{
    for (size_t i = 0; i < network->layer_count; i++)
        if (strcmp(network->layers[i].name, name) == 0)
            return &network->layers[i];
    return NULL;
}

static const struct inspection_tensor *tensor_named(const struct inspection_network *network,
                                                    const char *name)
{
    for (size_t i = 0; i < network->tensor_count; i++)
        if (strcmp(network->tensors[i].name, name) == 0)
            return &network->tensors[i];
    return NULL;
}

static uint64_t histogram_total(const struct inspection_tensor *tensor)
{
    uint64_t total = 0;
    for (size_t i = 0; i < INSPECTION_BINS; i++)
        total += tensor->histogram[i];
    return total;
}

/* --- measuring changes nothing --- */

static bool same_file(const struct run *a, const struct run *b, const char *name)
{
    char paths[2][700];
    char *bytes[2];
    size_t sizes[2];
    snprintf(paths[0], sizeof paths[0], "%s/%s", run_facts(a)->directory, name);
    snprintf(paths[1], sizeof paths[1], "%s/%s", run_facts(b)->directory, name);
    for (size_t i = 0; i < 2; i++)
        bytes[i] = file_read(paths[i], 1 << 24, &sizes[i], NULL);
    bool same =
        bytes[0] && bytes[1] && sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return same;
}

static bool same_losses(const struct series *a, const struct series *b)
{
    bool same = series_count(a) == series_count(b) && series_count(a) > 0;
    for (size_t i = 0; same && i < series_count(a); i++)
        same = memcmp(&a->points[i].loss, &b->points[i].loss, sizeof(float)) == 0 &&
               a->points[i].loss_caffe == b->points[i].loss_caffe;
    return same;
}

/* Returns whether an inspection measured the last of `count` iterations, in the run or after its
 * end (then it repeated that iteration). */
static bool covers_the_end(const struct inspection *seen, size_t count)
{
    return seen->after_end ? seen->iteration == count
                           : seen->iteration + seen->iterations == count + 1;
}

static void check_untouched(struct run *(*start_run)(void), const char *what, bool adversarial)
{
    struct error error;
    struct run *plain = start_run();
    if (plain)
        run_wait(plain, -1);
    struct run *watched = start_run();
    if (!tap_ok(plain && watched, "two runs of %s", what))
        return;
    size_t seen = look_all_the_time(watched);
    tap_ok(seen > 0, "one network is profiled: %zu times", seen);
    const struct inspection *last = run_inspection(plain, &error);
    tap_ok(last ? covers_the_end(last, series_count(run_series(plain))) : error.kind == ERROR_NONE,
           "the other network only at its end, if its run is long enough (%s)",
           last ? "it is" : "it is not");
    tap_ok(same_losses(run_series(plain), run_series(watched)), "both have the same losses");
    tap_ok(same_file(plain, watched, "weights.safetensors") &&
               (!adversarial || same_file(plain, watched, "discriminator.safetensors")),
           "and end with the same weights, to the bit");
    run_free(plain);
    run_free(watched);
}

/* --- the measured values --- */

static void check_layers(const struct inspection *seen)
{
    const struct inspection_network *network = &seen->networks[0];
    const struct inspection_layer *conv = layer_named(network, "conv1");
    if (!tap_ok(seen->network_count == 1 && conv, "a network with its layers"))
        return;
    double sum = 0;
    for (size_t i = 0; i < network->layer_count; i++)
        sum += network->layers[i].forward_seconds + network->layers[i].backward_seconds;
    /* 24 x 24 x 4 outputs of 25 products: forward, and backward for the weights only */
    double flops = 2.0 * 24 * 24 * 4 * 25 * (double)seen->images;
    tap_ok(seen->images == 16 * seen->iterations && seen->iterations <= 16,
           "%zu iterations of 16 images", (size_t)seen->iterations);
    tap_ok(fabs(conv->forward_flops - flops) < 1 && fabs(conv->backward_flops - flops) < 1,
           "the convolution's work is counted");
    tap_ok(conv->forward_seconds > 0 && conv->backward_seconds > 0 && sum <= seen->seconds,
           "layers take time, at most that of the steps");
    tap_ok(conv->output.channels == 4 && conv->output.height == 24 && conv->memory_bytes > 0 &&
               strstr(conv->choice, "chosen"),
           "shape, memory and kernel: %s", conv->choice);
    tap_ok(layer_named(network, "relu1") && layer_named(network, "relu1")->memory_bytes == 0,
           "a layer that works in place needs no memory");
    tap_ok(network->gemm_count > 0 && network->gemm[0].calls > 0, "matrix products by shape");
}

static void check_weights(const struct inspection *seen)
{
    const struct inspection_network *network = &seen->networks[0];
    const struct inspection_tensor *fc = tensor_named(network, "fc2.weight"),
                                   *mean = tensor_named(network, "norm1.running_mean");
    if (!tap_ok(fc && mean, "weights by name"))
        return;
    double ratio = inspection_update_ratio(fc);
    tap_ok(histogram_total(fc) == fc->count && fc->low < fc->high && fc->deviation > 0,
           "their distribution");
    tap_ok(fc->gradient_norm > 0 && ratio > 0 && ratio < 1, "gradient, and update over weight: %g",
           ratio);
    tap_ok(!mean->learnable && isnan(mean->gradient_norm) && isnan(mean->update_norm),
           "a running statistic has neither");
}

static void check_arena(const struct inspection *seen)
{
    const struct inspection_arena *arena = &seen->arenas[0];
    size_t inside = 0;
    for (size_t i = 0; i < arena->array_count; i++)
        inside +=
            arena->arrays[i].offset + arena->arrays[i].bytes <= arena->bytes - arena->workspace &&
            arena->arrays[i].last <= arena->times;
    tap_ok(seen->arena_count == 1 && arena->array_count > 5 && inside == arena->array_count,
           "the arena's arrays are inside it");
}

/* Equal except for the cost, to which writing the file has added. */
static bool same_inspection(struct inspection kept, const struct inspection *seen)
{
    kept.cost = seen->cost;
    struct json *trees[2] = {inspection_to_json(&kept), inspection_to_json(seen)};
    char *texts[2] = {json_print(trees[0], false, NULL), json_print(trees[1], false, NULL)};
    bool same = texts[0] && texts[1] && strcmp(texts[0], texts[1]) == 0;
    for (size_t i = 0; i < 2; i++) {
        free(texts[i]);
        json_free(trees[i]);
    }
    return same;
}

static void check_export(struct run *run)
{
    struct error error;
    struct json_document document;
    const char *path = home_path("session.json");
    if (!tap_ok(export_session(&run, 1, path, &error) &&
                    json_read_file(&document, path, 1 << 24, &error),
                "a session of the run is written"))
        return note_error(&error);
    const struct json *profile =
        json_member(json_first(json_member(document.root, "runs")), "profile");
    tap_ok(json_length(json_member(profile, "layers")) > 3 &&
               json_length(json_member(profile, "gemm")) > 0,
           "with the profile");
    json_document_free(&document);
}

static void check_reopened(const char *directory, const struct inspection *seen)
{
    struct error error;
    struct run *opened = run_open(directory, &error);
    if (!tap_ok(opened, "the run is opened again"))
        return note_error(&error);
    const struct inspection *kept = run_inspection(opened, &error);
    if (tap_ok(kept, "and shows the last measurement"))
        tap_ok(same_inspection(*kept, seen), "completely");
    check_export(opened);
    run_free(opened);
}

/* A damaged file is refused with its line, and nothing else is lost. */
static void check_damaged(const char *directory)
{
    struct error error;
    char path[700];
    snprintf(path, sizeof path, "%s/profile.json", directory);
    write_text(path, "{\"format\": \"tinca-profile\",\n \"iteration\": true}");
    struct run *opened = run_open(directory, &error);
    tap_ok(opened && !run_inspection(opened, &error) && error.kind == ERROR_INPUT,
           "a damaged profile is refused: %s", error.why);
    run_free(opened);
}

static void test_look(void)
{
    struct error error;
    struct run *run = start_tiny_for("epochs=1000"); /* the run lasts until it has been measured */
    if (!tap_ok(run, "a run"))
        return;
    run_send(run, COMMAND_INSPECT, 0);
    while (!run_inspection(run, &error) && !run_wait(run, 0.002))
        ;
    const struct inspection *seen = run_inspection(run, &error);
    run_wait(run, 0.05);
    run_send(run, COMMAND_STOP, 0);
    run_wait(run, -1);
    const bool measured_again = run_inspection(run, &error) != seen;
    seen = run_inspection(run, &error);
    if (tap_ok(seen && measured_again == seen->after_end,
               "one request, one measurement, and at most one after the end")) {
        check_layers(seen);
        check_weights(seen);
        check_arena(seen);
        check_reopened(run_facts(run)->directory, seen);
        check_damaged(run_facts(run)->directory);
    }
    run_free(run);
}

/* --- the end of a run --- */

/* Returns the inspection if it is stored as the run has it. */
static const struct inspection *inspected_at_end(struct run *run, const char *what)
{
    struct error error;
    const struct inspection *seen = run_inspection(run, &error);
    if (!tap_ok(seen, "%s has an inspection that nobody asked for", what))
        return NULL;
    check_reopened(run_facts(run)->directory, seen);
    tap_ok(seen->networks[0].layer_count > 0 && seen->arenas[0].array_count > 0,
           "with its layers and its arena");
    const double most =
        SANITIZED ? 20 : 1; /* ThreadSanitizer takes a second beside other programs */
    tap_ok(seen->cost + (seen->after_end ? seen->seconds : 0) < most, "it took %g s",
           seen->cost + (seen->after_end ? seen->seconds : 0));
    return seen;
}

/* The runs last long enough for a hundredth of their time to suffice for an inspection; with a
 * sanitizer, fewer epochs do. */
static void test_end(void)
{
    struct run_snapshot snapshot;
    struct run *done = start_tiny_for(SANITIZED ? "epochs=40" : "epochs=100");
    if (!tap_ok(done, "a run"))
        return;
    run_wait(done, -1);
    const struct inspection *seen = inspected_at_end(done, "a run that is done");
    tap_ok(seen && !seen->after_end && seen->iterations > 0 &&
               seen->iteration + seen->iterations == series_count(run_series(done)) + 1,
           "of its last iterations");
    run_free(done);
    struct run *stopped = start_tiny_for("epochs=100000");
    if (!tap_ok(stopped, "a run"))
        return;
    run_wait(stopped, 1);
    do /* until an iteration takes less than a hundredth of the run's time */
        run_snapshot(stopped, &snapshot);
    while (snapshot.iteration < 300 && !run_wait(stopped, 0.1));
    run_send(stopped, COMMAND_STOP, 0);
    run_wait(stopped, -1);
    run_snapshot(stopped, &snapshot);
    seen = inspected_at_end(stopped, "a run that was stopped");
    tap_ok(seen && seen->after_end && seen->iteration == snapshot.iteration &&
               snapshot.iteration == series_count(run_series(stopped)),
           "of its last iteration, which is not recorded twice");
    run_free(stopped);
}

/* Drawing the maps takes longer than training on them, with a sanitizer a second each. */
static struct run *start_contest(void)
{
    return start("contest.json",
                 SETTINGS("data=maps,limit=3", "epochs=4", "batch=1", "solver=adam", "lr=0.002",
                          "momentum=0.5", "schedule=linear", "threads=2"));
}

static void test_contest(void)
{
    struct error error;
    struct run *run = start_contest();
    if (!tap_ok(run, "a run with a discriminator"))
        return;
    run_send(run, COMMAND_INSPECT, 0);
    run_wait(run, -1);
    const struct inspection *seen = run_inspection(run, &error);
    if (tap_ok(seen && seen->network_count == 2 && seen->arena_count == 3,
               "both networks and their three plans are seen")) {
        const struct inspection_network *judge = &seen->networks[1];
        const struct inspection_layer *first = &judge->layers[0];
        const struct inspection_tensor *tensor = tensor_named(judge, "conv1.weight");
        tap_ok(strcmp(judge->name, "discriminator") == 0 &&
                   fabs(first->backward_flops - first->forward_flops) < 1,
               "the first convolution learns twice and hands its gradient on once");
        tap_ok(tensor && tensor->gradient_norm > 0 && inspection_update_ratio(tensor) > 0,
               "the discriminator's weights move");
    }
    run_free(run);
}

static void test_figures(void)
{
    struct inspection_tensor tensor = {0};
    const float values[] = {1, NAN, 3, INFINITY, 5}, others[] = {1, 2, 3, 0, 1};
    inspect_values(&tensor, values, 5);
    tap_ok(tensor.mean == 3 && fabs(tensor.deviation - sqrt(8.0 / 3)) < 1e-12 && tensor.low == 1 &&
               tensor.high == 5 && histogram_total(&tensor) == 3,
           "values that are NaN or infinite do not count");
    tap_ok(fabs(inspect_distance(others, values, 1)) == 0 &&
               inspect_norm((const float[]){3, 4}, 2) == 5 && isnan(inspect_norm(NULL, 2)),
           "norms");
    tensor = (struct inspection_tensor){0};
    inspect_values(&tensor, (const float[]){NAN}, 1);
    tap_ok(isnan(tensor.mean) && isnan(tensor.low), "no finite value: no figures");
}

TEST_CASE(inspection_test)
{
    if (!make_home())
        return 99;
    write_text(home_path("tiny.json"), tiny);
    write_text(home_path("contest.json"), contest);
    test_figures();
    test_look();
    test_end();
    test_contest();
    check_untouched(start_tiny, "a network alone", false);
    check_untouched(start_contest, "a network and its discriminator", true);
    remove_home();
    return tap_done();
}
