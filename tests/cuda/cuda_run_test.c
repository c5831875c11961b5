/* Runs on the emulated device cuda: the curves equal the reference's, also with a discriminator; a
 * resumed run gives the same bits; a run that does not fit is refused with the largest batch that
 * fits; a GPU that fails ends the run, which can be resumed; evaluating a model gives the result of
 * the cpu; two GPUs give the curves of one, and the session records them; without CUDA graphs a run
 * computes the same. */
#include "choose_tests.h"
#include "cuda/emulated_module.h"
#include "sample.h"
#include "session_files.h"

#include "base/files/file.h"
#include "engine/ops/op.h"
#include "models/saved/evaluate.h"
#include "runs/record/resume.h"
#include "runs/record/run_open.h"
#include "training/bench/bench.h"
#include "training/forecast_make.h"
#include "training/run_start.h"

#include <math.h>
#include <unistd.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char tiny[] =
    "{\"name\": \"tiny\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"name\": \"c\", \"output\": 4, \"kernel\": 3, \"stride\": "
    "2},\n"
    "  {\"op\": \"batch_norm\"}, {\"op\": \"relu\"}, {\"op\": \"flatten\"},\n"
    "  {\"op\": \"dropout\", \"rate\": 0.3},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}\n";

/* Its second convolution is large enough for cuDNN. */
static const char large[] =
    "{\"name\": \"large\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"output\": 12, \"kernel\": 3, \"stride\": 2},\n"
    "  {\"op\": \"conv\", \"output\": 24, \"kernel\": 3}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

/* In float16 its gradients overflow until the loss is scaled by far less than 1. */
static const char heavy[] =
    "{\"name\": \"heavy\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"average_pool\", \"kernel\": 4, \"stride\": 4},\n"
    "  {\"op\": \"conv\", \"output\": 40, \"kernel\": 1}, {\"op\": \"batch_norm\"},\n"
    "  {\"op\": \"relu\"}, {\"op\": \"conv\", \"output\": 48, \"kernel\": 7},\n"
    "  {\"op\": \"batch_norm\"}, {\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"},\n"
    "  {\"op\": \"softmax_cross_entropy\", \"weight\": 1000000},\n"
    "  {\"op\": \"conv\", \"from\": \"fc\", \"output\": \"classes\", \"kernel\": 1}]}\n";

/* In float16 its first gradients overflow: the second norm divides by a small deviation. */
static const char steep[] =
    "{\"name\": \"steep\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"average_pool\", \"kernel\": 4, \"stride\": 4},\n"
    "  {\"op\": \"conv\", \"output\": 40, \"kernel\": 1}, {\"op\": \"batch_norm\"},\n"
    "  {\"op\": \"relu\"}, {\"op\": \"conv\", \"output\": 48, \"kernel\": 7},\n"
    "  {\"op\": \"batch_norm\"}, {\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";

static const char painter[] =
    "{\"name\": \"painter\", \"input\": [3, 16, 16], \"normalise\": \"signed\", \"loss\": "
    "\"l1_loss\",\n"
    " \"layers\": [{\"block\": \"unet\", \"name\": \"unet\", \"width\": 8, \"widest\": 16,\n"
    "   \"steps\": 3, \"dropout_steps\": 1}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    " \"discriminator\": {\"layers\": [\n"
    "  {\"op\": \"conv\", \"output\": 8, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "  {\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "  {\"op\": \"conv\", \"output\": 1, \"kernel\": 4, \"stride\": 2, \"pad\": 1}]}}\n";

static const char *const classes[] = {"data=digits,limit=28",
                                      "validate=digits,split=test,limit=10",
                                      "epochs=4",
                                      "batch=8",
                                      "average-loss=4",
                                      NULL};
static const char *const pictures[] = {"data=maps,limit=2", "validate=maps,split=test,limit=1",
                                       "epochs=3",          "batch=1",
                                       "solver=adam",       "lr=0.002",
                                       "momentum=0.5",      NULL};

static const char *const methods[] = {"data=digits,limit=28",
                                      "validate=digits,split=test,limit=10",
                                      "epochs=4",
                                      "batch=8",
                                      "augment=mixup=0.4",
                                      "class-weights=balanced",
                                      "label-smoothing=0.1",
                                      "ema=0.9",
                                      NULL};

/* --- a GPU that may lack kernels --- */

static const char *lacking; /* the operator that it has no kernel for; NULL: it has all */
static const struct cuda_module *whole_module;

static size_t some_kernels(const struct op *op, const struct kernel **list, size_t capacity)
{
    return lacking && strcmp(op->name, lacking) == 0 ? 0
                                                     : whole_module->kernels(op, list, capacity);
}

static const struct cuda_module *lacking_module(void)
{
    static struct cuda_module module;
    whole_module = tinca_cuda_module();
    module = *whole_module;
    module.kernels = some_kernels;
    return &module;
}

/* --- runs --- */

static struct error begin_error; /* why the last run could not begin */

static struct run *begin(const char *network, const char *const *settings, const char *device,
                         const char *key, const char *value)
{
    struct run_config config = configure(settings);
    struct error error;
    begin_error = (struct error){0};
    config_set(&config, "network", home_path(network), NULL);
    config_set(&config, "device", device, NULL);
    if (key && !config_set(&config, key, value, &error))
        note_error(&error);
    struct run *run = run_start(&config, NULL, &error);
    if (!run)
        begin_error = error;
    return run;
}

static struct run_snapshot finish(struct run *run)
{
    struct run_snapshot snapshot = {.status = RUN_REFUSED, .error = begin_error};
    if (!run)
        return snapshot;
    run_wait(run, -1);
    run_snapshot(run, &snapshot);
    return snapshot;
}

static bool ends_well(struct run *run)
{
    const struct run_snapshot snapshot = finish(run);
    if (snapshot.status != RUN_DONE)
        note_error(&snapshot.error);
    return snapshot.status == RUN_DONE;
}

static bool same_bytes(struct run *one, struct run *other, const char *name)
{
    char path[700];
    size_t sizes[2] = {0, 0};
    snprintf(path, sizeof path, "%s/%s", run_facts(one)->directory, name);
    char *a = file_read(path, SIZE_MAX / 2, &sizes[0], NULL);
    snprintf(path, sizeof path, "%s/%s", run_facts(other)->directory, name);
    char *b = file_read(path, SIZE_MAX / 2, &sizes[1], NULL);
    const bool same = a && b && sizes[0] == sizes[1] && memcmp(a, b, sizes[0]) == 0;
    free(a);
    free(b);
    return same;
}

/* Returns whether the best models are the same; there is none if the last one is the best. */
static bool same_best(struct run *one, struct run *other)
{
    char path[700];
    snprintf(path, sizeof path, "%s/best.safetensors", run_facts(one)->directory);
    const bool first = access(path, F_OK) == 0;
    snprintf(path, sizeof path, "%s/best.safetensors", run_facts(other)->directory);
    const bool second = access(path, F_OK) == 0;
    return first == second && (!first || same_bytes(one, other, "best.safetensors"));
}

/* --- the same curves as the reference --- */

static double apart(const struct series *a, const struct series *b)
{
    double worst = series_count(a) == series_count(b) && series_count(a) > 0 ? 0 : INFINITY;
    for (size_t i = 0; isfinite(worst) && i < series_count(a); i++)
        worst = fmax(worst, fabs((double)(a->points[i].loss - b->points[i].loss)) /
                                fabs((double)b->points[i].loss));
    return worst;
}

static double validated_apart(const struct series *a, const struct series *b)
{
    const size_t count = series_validation_count(a);
    double worst = count == series_validation_count(b) && count > 0 ? 0 : INFINITY;
    for (size_t i = 0; isfinite(worst) && i < count; i++)
        worst = fmax(worst, fabs(a->validations[i].loss - b->validations[i].loss) /
                                fabs(b->validations[i].loss));
    return worst;
}

static void test_curves(const char *network, const char *const *settings)
{
    struct run *gpu = begin(network, settings, "cuda", NULL, NULL);
    struct run *plain = begin(network, settings, "reference", NULL, NULL);
    const bool well = ends_well(gpu) && ends_well(plain);
    const double losses = well ? apart(run_series(gpu), run_series(plain)) : NAN;
    const double validations = well ? validated_apart(run_series(gpu), run_series(plain)) : NAN;
    tap_ok(losses < 1e-3 && validations < 1e-3,
           "%s: a run with validation has the curves of the reference (%.1e, %.1e)", network,
           losses, validations);
    struct run_snapshot snapshot = finish(gpu);
    tap_ok(snapshot.memory_measured >= run_facts(gpu)->forecast.total &&
               snapshot.memory_measured < run_facts(gpu)->forecast.total + (40u << 20),
           "%s: the memory measured is that of the GPU (%llu bytes)", network,
           (unsigned long long)snapshot.memory_measured);
    run_free(gpu);
    run_free(plain);
}

/* --- resuming to the same bits --- */

static void test_resume(const char *network, const char *const *settings, const char *device,
                        bool has_discriminator)
{
    struct error error;
    char directory[512];
    struct run *whole = begin(network, settings, device, NULL, NULL);
    if (!tap_ok(ends_well(whole), "%s: a run without interruption", network))
        return run_free(whole);
    struct run *run = begin(network, settings, device, NULL, NULL);
    run_send(run, COMMAND_STOP_AT_EPOCH, 0);
    tap_ok(finish(run).status == RUN_STOPPED, "%s: a run is stopped", network);
    snprintf(directory, sizeof directory, "%s", run_facts(run)->directory);
    run_free(run);
    struct run_config changes;
    config_defaults(&changes);
    run = run_resume(directory, &changes, NULL, &error);
    tap_ok(ends_well(run) && same_bytes(whole, run, "weights.safetensors") &&
               same_best(whole, run) &&
               (!has_discriminator || same_bytes(whole, run, "discriminator.safetensors")) &&
               apart(run_series(whole), run_series(run)) == 0,
           "%s on %s: and continues to the same bits", network, device);
    run_free(run);
    run_free(whole);
}

/* --- views and profiles --- */

static void test_look(const char *device)
{
    struct run *run = begin("tiny.json", classes, device, "epochs", "12");
    run_send(run, COMMAND_INSPECT, 0);
    const bool well = ends_well(run);
    struct error error;
    struct run *opened = run_open(run_facts(run)->directory, &error);
    const struct inspection *seen = opened ? run_inspection(opened, &error) : NULL;
    double seconds = 0, updates = 0;
    for (size_t i = 0; seen && i < seen->networks[0].layer_count; i++)
        seconds += seen->networks[0].layers[i].forward_seconds;
    for (size_t i = 0; seen && i < seen->networks[0].tensor_count; i++)
        updates +=
            seen->networks[0].tensors[i].learnable ? seen->networks[0].tensors[i].update_norm : 0;
    tap_ok(well && seconds > 0 && updates > 0, "the profile has times and updates (%g s, %g)",
           seconds, updates);
    run_free(opened);
    run_free(run);
}

/* --- precision --- */

static void test_precision(void)
{
    struct run *run = begin("tiny.json", classes, "cuda", "precision", "tf32");
    char path[600];
    size_t size;
    const bool well = ends_well(run);
    snprintf(path, sizeof path, "%s/config.json", run_facts(run)->directory);
    char *text = file_read(path, 1 << 20, &size, NULL);
    tap_ok(well && text && strstr(text, "tf32"), "a run in tf32 records it");
    free(text);
    run_free(run);
    run = begin("tiny.json", classes, "cpu", "precision", "tf32");
    const struct run_snapshot snapshot = finish(run);
    tap_ok(snapshot.status == RUN_REFUSED, "the cpu refuses it: %s", snapshot.error.why);
    run_free(run);
    emulator_set_code(75);
    run = begin("tiny.json", classes, "cuda", "precision", "bf16");
    const struct run_snapshot old = finish(run);
    tap_ok(old.status == RUN_REFUSED && strstr(old.error.why, "compute_75") &&
               strstr(old.error.advice, "--with-cuda-arch"),
           "so does a GPU whose code is too old for bf16: %s", old.error.why);
    run_free(run);
    run = begin("tiny.json", classes, "cuda", "precision", "fp16");
    tap_ok(ends_well(run), "  but fp16 works");
    run_free(run);
    run = begin("tiny.json", classes, "cuda", NULL, NULL);
    tap_ok(ends_well(run), "  and so does float32");
    run_free(run);
    emulator_set_code(90);
}

/* The journal and the summary have the scale of the end. */
static void test_scale_is_kept(struct run *run, const struct run_snapshot *end)
{
    struct error error = {0};
    struct run_snapshot kept = {0};
    char summary[600];
    struct run *opened = run_open(run_facts(run)->directory, &error);
    if (opened)
        run_snapshot(opened, &kept);
    tap_ok(opened && kept.loss_scale == end->loss_scale && kept.skipped_steps == end->skipped_steps,
           "  the stored run has them: %g, %llu", kept.loss_scale,
           (unsigned long long)kept.skipped_steps);
    run_free(opened);
    snprintf(summary, sizeof summary, "%s/summary.json", run_facts(run)->directory);
    kept = (struct run_snapshot){0};
    opened = unlink(summary) == 0 ? run_open(run_facts(run)->directory, &error) : NULL;
    if (opened)
        run_snapshot(opened, &kept);
    tap_ok(opened && kept.loss_scale == end->loss_scale && kept.skipped_steps == end->skipped_steps,
           "  and so has its journal alone");
    run_free(opened);
}

/* A scale below 1 is a finding of its own, once. */
static void test_low_scale(void)
{
    static const char *const settings[] = {"data=digits,limit=64", "iterations=32", "batch=2",
                                           "precision=fp16",       "lr=1e-9",       NULL};
    size_t findings = 0;
    char text[sizeof((struct finding *)0)->text] = "";
    struct run *run = begin("heavy.json", settings, "cuda", NULL, NULL);
    const struct run_snapshot end = finish(run);
    for (size_t i = 0; i < end.finding_count; i++) {
        struct finding each;
        run_finding(run, i, &each);
        if (each.kind != FINDING_LOSS_SCALE || !strstr(each.text, "below 1"))
            continue;
        findings++;
        snprintf(text, sizeof text, "%s", each.text);
    }
    tap_ok(end.status == RUN_DONE && findings == 1 && end.loss_scale < 1,
           "a scale of %g after %llu skipped steps is a finding: %s", end.loss_scale,
           (unsigned long long)end.skipped_steps, text);
    run_free(run);
}

/* A gradient overflows in float16, which skips the step and is a finding. */
static void test_loss_scale(void)
{
    static const char *const settings[] = {"data=digits,limit=8", "epochs=2", "batch=2",
                                           "precision=fp16",      "lr=0.001", NULL};
    struct finding finding = {.kind = FINDING_MEMORY};
    size_t findings = 0;
    struct run *run = begin("steep.json", settings, "cuda", NULL, NULL);
    const struct run_snapshot end = finish(run);
    for (size_t i = 0; i < end.finding_count; i++) {
        struct finding each;
        run_finding(run, i, &each);
        findings += each.kind == FINDING_LOSS_SCALE;
        if (each.kind == FINDING_LOSS_SCALE)
            finding = each;
    }
    tap_ok(end.status == RUN_DONE && findings == 1,
           "a step of fp16 that is skipped is a finding: %s", finding.text);
    tap_ok(end.loss_scale > 0 && end.loss_scale < 65536 && end.skipped_steps > 0,
           "  the snapshot has the scale, %g, and %llu skipped steps", end.loss_scale,
           (unsigned long long)end.skipped_steps);
    test_scale_is_kept(run, &end);
    run_free(run);
    if (SANITIZED) /* other runs resume, and have findings, in the same way */
        return;
    test_resume("steep.json", settings, "cuda", false);
    test_low_scale();
}

/* --- a driver that refuses CUDA graphs --- */

/* Returns how many findings of a kind the run has, the first `most` of them in list. */
static size_t findings_of(const struct run *run, size_t count, enum finding_kind kind,
                          struct finding *list, size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct finding each;
        run_finding(run, i, &each);
        if (each.kind == kind && found++ < most)
            list[found - 1] = each;
    }
    return found;
}

/* Checks that the inspection of a run's last iterations says what its last finding says. */
static void test_refused_profile(struct run *run, const struct finding *last)
{
    struct error error = {0};
    char counts[160];
    struct inspection *seen = inspection_load(run_facts(run)->directory, &error);
    if (!tap_ok(seen && seen->graphs_refused > 0 && seen->passes_without_graph > 1 &&
                    strstr(seen->graph_refused, "cudaGraphInstantiate"),
                "  and so does its profile: %llu and %llu (%s)",
                seen ? (unsigned long long)seen->graphs_refused : 0,
                seen ? (unsigned long long)seen->passes_without_graph : 0, error.why))
        return;
    snprintf(counts, sizeof counts, "refused: %llu; passes",
             (unsigned long long)seen->graphs_refused);
    const char *passes = strrchr(last->text, ' ');
    tap_ok(strstr(last->text, counts) && passes &&
               strtoull(passes, NULL, 10) >= seen->passes_without_graph,
           "  the numbers are also in the finding at its end: %s", last->text);
    inspection_free(seen);
}

/* Returns the number of graphs that the finding at a run's end says were refused; 0: none. */
static size_t refused_of(const char *finding)
{
    const char *at = strstr(finding, "refused: ");
    return at ? strtoul(at + strlen("refused: "), NULL, 10) : 0;
}

/* `executions`: how many of them may repeat passes, in training and validation. One repeats a pass
 * when the loader gives it the same arrays again, which depends on the speed of its workers. */
static void test_refused_graphs(const char *network, const char *const *settings, size_t executions)
{
    struct finding found[2] = {0};
    const size_t graphs = emulator_graphs_run();
    emulator_refuse_graphs(true);
    struct run *run = begin(network, settings, "cuda", NULL, NULL);
    const struct run_snapshot end = finish(run);
    emulator_refuse_graphs(false);
    const size_t findings = findings_of(run, end.finding_count, FINDING_GRAPH, found, 2);
    tap_ok(end.status == RUN_DONE && emulator_graphs_run() == graphs,
           "%s: a run without CUDA graphs ends well", network);
    tap_ok(findings == 2 && strstr(found[0].text, "cudaGraphInstantiate"), "  and says once: %s",
           found[0].text);
    const size_t refused = refused_of(found[1].text);
    tap_ok(refused > 0 && refused <= executions, "  and at its end how often: %s", found[1].text);
    if (executions > 2) /* and the run is long enough to be inspected */
        test_refused_profile(run, &found[1]);
    struct run *plain = begin(network, settings, "cuda", NULL, NULL);
    const bool well = ends_well(plain);
    const size_t replays = emulator_graphs_run() - graphs;
    tap_ok(well && replays > 0 && same_bytes(run, plain, "weights.safetensors"),
           "  with the weights of a run with %zu replays", replays);
    run_free(run);
    run_free(plain);
}

/* --- a cuDNN that refuses --- */

static void test_refused_cudnn(void)
{
    static const char *const settings[] = {"data=digits,limit=64", "iterations=2", "batch=64",
                                           NULL};
    struct finding found = {0};
    emulator_fail_cudnn(0, 3000);
    struct run *run = begin("large.json", settings, "cuda", NULL, NULL);
    const struct run_snapshot end = finish(run);
    emulator_fail_cudnn(0, 0);
    const size_t findings = findings_of(run, end.finding_count, FINDING_CUDNN, &found, 1);
    tap_ok(end.status == RUN_DONE && findings == 1 && found.iteration == 1,
           "a convolution that cuDNN refuses is a finding, once: %zu", findings);
    tap_ok(strstr(found.text, "refused the forward pass (CUDNN_STATUS_3000: an emulated cuDNN") &&
               strstr(found.text, "conv implicit gemm computes it"),
           "  with the layer, cuDNN's words and the kernel: %s", found.text);
    run_free(run);
}

/* --- the forecast --- */

static uint64_t bytes_of_open_gpu(void)
{
    struct error error;
    struct device *device = device_open("cuda", 1, &error);
    const uint64_t bytes = device ? device_memory_used(device) : 0;
    device_close(device);
    return bytes;
}

/* Forecasts a run whose convolution cuDNN computes in a workspace of `workspace` bytes, and trains
 * it. */
static void test_forecast(size_t workspace)
{
    static const char *const settings[] = {"data=digits,limit=64", "iterations=2", "batch=64",
                                           NULL};
    struct run_config config = configure(settings);
    struct forecast forecast;
    struct error error = {0};
    config_set(&config, "network", home_path("large.json"), NULL);
    config_set(&config, "device", "cuda", NULL);
    emulator_set_cudnn_workspace(workspace);
    const bool made = forecast_make(&config, 0, &forecast, &error);
    struct run *run = begin("large.json", settings, "cuda", NULL, NULL);
    const bool well = ends_well(run);
    const struct memory_forecast *planned = &run_facts(run)->forecast;
    tap_ok(made && well && forecast.memory.workspace == planned->workspace &&
               planned->workspace >= workspace && forecast.memory.total == planned->total,
           "a forecast beforehand has cuDNN's workspace, as the run's plan has: %llu and %llu",
           (unsigned long long)forecast.memory.workspace, (unsigned long long)planned->workspace);
    /* without labels, the host's tables, and what an open GPU needs in any case */
    const uint64_t needed = forecast_needed(&forecast) - forecast.memory.tables;
    const uint64_t allocated = finish(run).memory_measured - bytes_of_open_gpu();
    tap_ok(allocated >= needed && allocated - needed < 4096,
           "  and the run allocates it: %llu of %llu bytes", (unsigned long long)allocated,
           (unsigned long long)needed);
    run_free(run);
}

static void all_forecasts(void)
{
    test_forecast((size_t)1 << 20);
    test_forecast((size_t)6 << 20);
    emulator_set_cudnn_workspace(8192);
    emulator_fail_allocation(1);
    struct run_config config = configure(classes);
    struct forecast forecast;
    struct error error = {0};
    config_set(&config, "network", home_path("tiny.json"), NULL);
    config_set(&config, "device", "cuda", NULL);
    tap_ok(forecast_make(&config, 0, &forecast, &error) && forecast.memory.total > 0,
           "a GPU that cannot be opened now has a forecast without libraries");
    emulator_fail_allocation(0);
}

/* --- runs that do not fit --- */

static void test_memory(void)
{
    emulator_set_free(400000);
    struct run *run = begin("tiny.json", classes, "cuda", "batch", "16");
    const struct run_snapshot snapshot = finish(run);
    tap_ok(snapshot.status == RUN_REFUSED && snapshot.error.kind == ERROR_MEMORY &&
               strstr(snapshot.error.advice, "would fit"),
           "a batch that does not fit the GPU is refused: %s: %s", snapshot.error.why,
           snapshot.error.advice);
    run_free(run);
    emulator_set_free((size_t)1 << 33);
}

/* --- a GPU that fails --- */

static void test_breakdown(const char *device, int gpu)
{
    struct error error;
    char directory[512];
    const char *const settings[] = {"data=digits,limit=28", "epochs=6", "batch=8", "checkpoint=0",
                                    "checkpoint-share=100", NULL};
    struct run *whole = begin("tiny.json", settings, device, NULL, NULL);
    const bool well = ends_well(whole);
    emulator_fail_gpu(gpu);
    emulator_fail_launch(75, 214);
    struct run *run = begin("tiny.json", settings, device, NULL, NULL);
    const struct run_snapshot snapshot = finish(run);
    emulator_fail_launch(0, 0);
    emulator_fail_gpu(-1);
    tap_ok(well && snapshot.status == RUN_FAILED && strstr(snapshot.error.why, "lost") &&
               strstr(snapshot.error.advice, "resume"),
           "a lost GPU ends the run in iteration %llu: %s: %s",
           (unsigned long long)snapshot.iteration, snapshot.error.why, snapshot.error.advice);
    snprintf(directory, sizeof directory, "%s", run_facts(run)->directory);
    run_free(run);
    struct run_config changes;
    config_defaults(&changes);
    run = run_resume(directory, &changes, NULL, &error);
    const bool resumed = ends_well(run);
    tap_ok(resumed && snapshot.iteration > 4 && same_bytes(whole, run, "weights.safetensors"),
           "and from its checkpoint it continues to the same bits");
    run_free(run);
    run_free(whole);
}

/* --- models --- */

static void test_evaluation(const char *device)
{
    struct error error = {0};
    struct run *run = begin("tiny.json", classes, device, NULL, NULL);
    struct evaluation results[2];
    const char *const devices[] = {device, "reference"};
    char path[600];
    bool well = ends_well(run);
    snprintf(path, sizeof path, "%s/weights.safetensors", run_facts(run)->directory);
    for (size_t i = 0; i < 2; i++) {
        struct model model;
        well = well && model_load(&model, path, devices[i], 1, &error) &&
               model_evaluate(&model, "digits,split=test,limit=27", 10, &results[i], &error);
        if (well)
            model_free(&model);
    }
    tap_ok(well && results[0].top1 == results[1].top1 &&
               fabs(results[0].loss - results[1].loss) < 1e-3 * results[1].loss,
           "a model is evaluated as on the reference (%s)", error.why);
    run_free(run);
}

/* `make check` trains alone on several GPUs. */
static void test_bench(const char *device)
{
    struct error error = {0};
    const enum plan_mode modes[] = {PLAN_TRAINING, PLAN_INFERENCE};
    for (size_t i = 0; i < (strchr(device, ',') && !sample_is_whole() ? 1 : 2); i++) {
        struct bench bench;
        const struct bench_settings settings = {.network = {.network = home_path("tiny.json")},
                                                .device = device,
                                                .mode = modes[i],
                                                .batch = 4,
                                                .iterations = 3,
                                                .precision = PRECISION_TF32,
                                                .profile = true};
        const bool well = bench_run(&settings, &bench, &error);
        tap_ok(well && bench.ms_per_image.median > 0 && bench.peak_memory_bytes > 0 &&
                   profile_node(bench.main.profile, 1).forward_seconds > 0,
               "bench measures %s (%s)", i ? "inference" : "training", error.why);
        if (well)
            bench_free(&bench);
        emulator_refuse_graphs(true);
        const bool refused = bench_run(&settings, &bench, &error);
        emulator_refuse_graphs(false);
        tap_ok(refused && strstr(bench.recording_refusal, "cudaGraphInstantiate") &&
                   bench.refused_recordings == 1 && bench.unrecorded_passes > 2,
               "  and says that %llu graph was refused, and %llu passes had none: %s",
               (unsigned long long)bench.refused_recordings,
               (unsigned long long)bench.unrecorded_passes, bench.recording_refusal);
        if (refused)
            bench_free(&bench);
    }
}

/* --- several GPUs --- */

static void test_group_curves(void)
{
    struct run *two = begin("tiny.json", classes, "cuda:0,1", NULL, NULL);
    struct run *one = begin("tiny.json", classes, "cuda", NULL, NULL);
    const bool well = ends_well(two) && ends_well(one);
    const double losses = well ? apart(run_series(two), run_series(one)) : NAN;
    const double validations = well ? validated_apart(run_series(two), run_series(one)) : NAN;
    tap_ok(losses < 1e-4 && validations < 1e-4, "two GPUs have the curves of one (%.1e, %.1e)",
           losses, validations);
    const uint64_t forecast[] = {run_facts(two)->forecast.total, run_facts(one)->forecast.total};
    struct run_snapshot snapshot = finish(two);
    tap_ok(forecast[0] < forecast[1] && snapshot.memory_measured >= forecast[0] &&
               snapshot.memory_measured < forecast[0] + (40u << 20),
           "and the memory is that of one GPU (%llu bytes)",
           (unsigned long long)snapshot.memory_measured);
    run_free(one);
    run_free(two);
}

static void refuses(const char *network, const char *const *settings, const char *batch,
                    const char *word)
{
    char text[1024];
    struct run *run = begin(network, settings, "cuda:0,1", "batch", batch);
    const struct run_snapshot snapshot = finish(run);
    error_format(&snapshot.error, text, sizeof text);
    tap_ok(snapshot.status == RUN_REFUSED && strstr(text, word), "refused: %s", text);
    run_free(run);
}

static void test_group(void)
{
    test_group_curves();
    test_resume("tiny.json", classes, "cuda:0,1", false);
    test_breakdown("cuda:0,1", 1);
    test_look("cuda:0,1");
    test_evaluation("cuda:0,1");
    test_bench("cuda:0,1");
    refuses("tiny.json", classes, "7", "choose batch 6 or 8");
    refuses("painter.json", pictures, "2", "trains on one GPU");
    emulator_set_free(400000);
    refuses("tiny.json", classes, "64", "would fit");
    emulator_set_free((size_t)1 << 33);
}

/* --- nodes that the GPU cannot compute --- */

static void test_fallback(const char *network, const char *const *settings, const char *op)
{
    struct finding finding = {.kind = FINDING_MEMORY};
    struct run *whole = begin(network, settings, "cuda", NULL, NULL);
    const struct run_snapshot wanted = finish(whole);
    lacking = op;
    struct run *run = begin(network, settings, "cuda", NULL, NULL);
    const struct run_snapshot got = finish(run);
    tap_ok(got.status == RUN_DONE &&
               fabs(got.loss_mean - wanted.loss_mean) < 1e-3 * fabs(wanted.loss_mean),
           "%s without %s on the GPU: a run with the same losses", network, op);
    for (size_t i = 0; i < got.finding_count && finding.kind != FINDING_FALLBACK; i++)
        run_finding(run, i, &finding);
    tap_ok(finding.kind == FINDING_FALLBACK && strstr(finding.text, "between host and device"),
           "  that says: %s", finding.text);
    struct run *strict = begin(network, settings, "cuda", "strict-device", "yes");
    const struct run_snapshot refused = finish(strict);
    tap_ok(refused.status == RUN_REFUSED && strstr(refused.error.why, op) &&
               strstr(refused.error.advice, "--strict-device"),
           "  strict: %s: %s: %s", refused.error.what, refused.error.why, refused.error.advice);
    lacking = NULL;
    run_free(whole);
    run_free(run);
    run_free(strict);
}

static void all_curves(void)
{
    test_curves("tiny.json", classes);
    test_curves("painter.json", pictures);
    test_curves("tiny.json", methods);
}

static void all_resume(void)
{
    static const char *const half[] = {"data=digits,limit=28",
                                       "validate=digits,split=test,limit=10",
                                       "epochs=4",
                                       "batch=8",
                                       "solver=adam",
                                       "lr=0.001",
                                       "precision=fp16",
                                       NULL};
    static const char *const half_pictures[] = {"data=maps,limit=2",
                                                "validate=maps,split=test,limit=1",
                                                "epochs=3",
                                                "batch=1",
                                                "solver=adam",
                                                "lr=0.002",
                                                "momentum=0.5",
                                                "precision=fp16",
                                                NULL};
    test_resume("painter.json", half_pictures, "cuda", true);
    test_resume("tiny.json", half, "cuda:0,1", false);
    if (SANITIZED) /* the others resume in the same way */
        return;
    test_resume("tiny.json", methods, "cuda", false);
    if (!sample_is_whole())
        return;
    test_resume("tiny.json", half, "cuda", false);
    test_resume("tiny.json", classes, "cuda", false);
    test_resume("painter.json", pictures, "cuda", true);
    test_resume("tiny.json", methods, "cuda:0,1", false);
}

static void all_views(void)
{
    test_look("cuda");
}

static void all_graphs(void)
{
    test_refused_graphs("tiny.json", classes, 2);
    if (!SANITIZED)
        test_refused_graphs("painter.json", pictures, 4);
}

static void all_failures(void)
{
    test_breakdown("cuda", 0);
}

static void all_evaluation(void)
{
    test_evaluation("cuda");
}

static void all_bench(void)
{
    test_bench("cuda");
}

static void all_fallback(void)
{
    test_fallback("tiny.json", classes, "dropout");
    if (!SANITIZED)
        test_fallback("painter.json", pictures, "leaky_relu");
}

static void prepare(void)
{
    emulator_set_gpus(2);
    cuda_use_module(lacking_module());
    if (!tap_ok(make_home(), "a state home"))
        exit(tap_done());
    atexit(remove_home);
    write_text(home_path("tiny.json"), tiny);
    write_text(home_path("painter.json"), painter);
    write_text(home_path("steep.json"), steep);
    write_text(home_path("large.json"), large);
    write_text(home_path("heavy.json"), heavy);
}

static const struct named_test tests[] = {
    {"curves", all_curves},
    {"resume", all_resume},
    {"views", all_views},
    {"precision", test_precision},
    {"loss-scale", test_loss_scale},
    {"graphs", all_graphs},
    {"cudnn", test_refused_cudnn},
    {"memory", test_memory},
    {"failures", all_failures},
    {"evaluation", all_evaluation},
    {"bench", all_bench},
    {"fallback", all_fallback},
    {"group", test_group},
    {"forecast", all_forecasts},
};

TEST_CASE(cuda_run_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, prepare);
}
