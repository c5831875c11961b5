/* The screen Try computes predictions in the background: they equal those of eval and predict, to
 * the bit; and no one waits for a result that is no longer needed. */
#include "training/inspect/probe.h"

#include "base/threads/background_job.h"
#include "models/saved/error_analysis.h"
#include "models/saved/evaluate.h"
#include "models/saved/translate.h"

#include "data/formats/image_file.h"
#include "session_files.h"
#include "training/run_start.h"

#include <math.h>
#include <sys/stat.h>
#include <time.h>

static const char digits[] = "digits,split=test,limit=130", maps[] = "maps,split=test,limit=3";

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Trains a network file and leaves its weights at `path`. */
static bool train(const char *text, const char *data, const char *epochs, const char *path)
{
    struct error error;
    char network[600], setting[640], data_setting[64], epoch_setting[32];
    snprintf(network, sizeof network, "%s", home_path("network.json"));
    snprintf(setting, sizeof setting, "network=%s", network);
    snprintf(data_setting, sizeof data_setting, "data=%s", data);
    snprintf(epoch_setting, sizeof epoch_setting, "epochs=%s", epochs);
    const char *settings[] = {setting,   data_setting, epoch_setting, "batch=4",
                              "lr=0.05", "threads=1",  NULL};
    struct run_config config = configure(settings);
    const struct run_options options = {.save_path = path};
    struct run *run = write_text(network, text) ? run_start(&config, &options, &error) : NULL;
    struct run_snapshot snapshot = {0};
    if (run) {
        run_wait(run, -1);
        run_snapshot(run, &snapshot);
    } else
        note_error(&error);
    run_free(run);
    return run && snapshot.status == RUN_DONE;
}

static void open_probe(struct probe *probe, const char *path, const char *data)
{
    struct probe_request request = {.threads = 1, .tolerance = 16, .device = "cpu"};
    snprintf(request.model, sizeof request.model, "%s", path);
    snprintf(request.data, sizeof request.data, "%s", data);
    probe_open(probe, &request);
}

static struct probe_status wait_ready(struct probe *probe)
{
    struct probe_status look;
    for (int i = 0; i < 12000; i++) {
        probe_status(probe, &look);
        if (look.phase == PROBE_READY || look.phase == PROBE_FAILED)
            return look;
        rest();
    }
    return look;
}

static struct probe_answer wait_answer(struct probe *probe, unsigned ticket)
{
    struct probe_answer answer = {0};
    for (int i = 0; i < 12000 && answer.ticket != ticket; i++) {
        probe_answer_free(&answer);
        if (!probe_take(probe, &answer))
            rest();
    }
    return answer;
}

static void check_counts(const struct probe_status *look, const struct evaluation *evaluation)
{
    struct confusion confusion;
    size_t sum = 0;
    bool ordered = true;
    if (!confusion_create(&confusion, look->classes, NULL))
        return;
    for (size_t i = 0; i < look->outcome_count; i++) {
        ordered = ordered && look->outcomes[i].image == i;
        confusion_add(&confusion, &look->outcomes[i]);
    }
    for (size_t i = 0; i < look->classes * look->classes; i++)
        sum += confusion.counts[i];
    tap_ok(ordered, "outcomes are in the order of the set");
    tap_ok(confusion.images == 130 && sum == 130, "every image is counted once");
    tap_ok(100.0 * (double)confusion.right / 130 == evaluation->top1,
           "the diagonal is eval's top-1: %zu right, %g %%", confusion.right, evaluation->top1);
    double mean = 0;
    for (size_t c = 0; c < look->classes; c++)
        if (confusion.totals[c])
            mean += confusion_accuracy(&confusion, c) * confusion.totals[c] / 130;
    tap_ok(fabs(mean - evaluation->top1) < 1e-9, "and so are the accuracies of the classes");
    struct outcome nothing = {0, 3, OUTCOME_NONE, 0};
    confusion_add(&confusion, &nothing);
    tap_ok(confusion.none[3] == 1 && confusion.images == 131, "NaN gives no class");
    confusion_free(&confusion);
}

/* The same picture from the set and from a file. */
static void check_image(struct probe *probe, struct model *model)
{
    struct error error;
    struct prediction top[PROBE_TOP];
    const char *path = home_path("picture.png");
    struct probe_answer answer = wait_answer(probe, probe_ask(probe, NULL, 7));
    if (!tap_ok(answer.error.kind == ERROR_NONE && answer.labelled && answer.top_count == 5 &&
                    answer.picture_count == 1,
                "an image of the set is classified, with its label and picture")) {
        note_error(&answer.error);
        return;
    }
    tap_ok(image_file_write_png(&answer.pictures[0], path, &error) &&
               model_predict(model, path, PROBE_TOP, top, &error),
           "the same picture as a file");
    bool same = true;
    for (size_t i = 0; i < PROBE_TOP; i++)
        same = same && top[i].label == answer.top[i].label &&
               top[i].probability == answer.top[i].probability;
    tap_ok(same, "predict gives the same, to the bit");
    struct probe_answer file = wait_answer(probe, probe_ask(probe, path, 0));
    same = file.top_count == PROBE_TOP && !file.labelled;
    for (size_t i = 0; i < PROBE_TOP && same; i++)
        same = top[i].probability == file.top[i].probability;
    tap_ok(same, "and so does the screen Try for the file");
    probe_answer_free(&file);
    struct probe_status look;
    probe_status(probe, &look);
    tap_ok(look.outcomes[7].guess == answer.top[0].label, "as does the evaluation");
    probe_answer_free(&answer);
    write_text(path, "no picture");
    file = wait_answer(probe, probe_ask(probe, path, 0));
    tap_ok(file.error.kind == ERROR_INPUT && file.picture_count == 0,
           "a file that is no picture: %s", file.error.why);
    probe_answer_free(&file);
    file = wait_answer(probe, probe_ask(probe, NULL, 130));
    tap_ok(file.error.kind != ERROR_NONE, "beyond the set: %s", file.error.why);
    probe_answer_free(&file);
}

static void test_classes(struct probe *probe, const char *path)
{
    struct error error;
    struct model model;
    struct evaluation evaluation;
    if (!tap_ok(model_load(&model, path, "cpu", 1, &error) &&
                    model_evaluate(&model, digits, 0, &evaluation, &error),
                "the result of eval"))
        return;
    open_probe(probe, path, digits);
    struct probe_status look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.evaluated && look.outcome_count == 130 &&
               look.evaluation.top1 == evaluation.top1 && evaluation.top1 > 20 &&
               look.classes == 10 && strcmp(look.class_names[3], model.class_names[3]) == 0,
           "the screen Try gives the same for the set");
    if (look.phase == PROBE_READY) {
        check_counts(&look, &evaluation);
        check_image(probe, &model);
    } else
        note_error(&look.error);
    model_free(&model);
}

static void test_pictures(struct probe *probe, const char *path)
{
    struct error error;
    struct model model;
    struct evaluation evaluation;
    if (!tap_ok(model_load(&model, path, "cpu", 1, &error), "a generator"))
        return note_error(&error);
    model.tolerance = 16;
    tap_ok(model_evaluate(&model, maps, 0, &evaluation, &error), "and the result of eval for it");
    open_probe(probe, path, maps);
    struct probe_status look = wait_ready(probe);
    double mean = 0;
    for (size_t i = 0; i < look.outcome_count; i++)
        mean += 100 * (double)look.outcomes[i].share / 3;
    tap_ok(look.outcome_count == 3 && fabs(mean - evaluation.pixel_accuracy) < 1e-4,
           "its pixel accuracy, picture by picture: %g %%", mean);
    struct probe_answer answer = wait_answer(probe, probe_ask(probe, NULL, 1));
    tap_ok(answer.picture_count == 3 && answer.pictures[1].width == 16 && !answer.labelled,
           "input, generated, target");
    probe_answer_free(&answer);
    model_free(&model);
}

/* --- pictures of any size --- */

/* Writes the part of a picture with a gradient and a pattern that begins at (x, y), reflected
 * beyond the edges of width x height. */
static bool write_pattern(const char *path, long x, long y, size_t width, size_t height,
                          size_t whole_width, size_t whole_height)
{
    struct image image;
    struct error error;
    if (!image_create(&image, width, height, 3, &error))
        return false;
    uint8_t *pixel = image.pixels;
    for (long row = y; row < y + (long)height; row++)
        for (long column = x; column < x + (long)width; column++, pixel += 3) {
            long r = labs(row), c = labs(column);
            r = r < (long)whole_height ? r : 2 * ((long)whole_height - 1) - r;
            c = c < (long)whole_width ? c : 2 * ((long)whole_width - 1) - c;
            pixel[0] = (uint8_t)(3 * r + 2 * c);
            pixel[1] = (uint8_t)((r * c) % 251);
            pixel[2] = (uint8_t)(r & 4 ? 220 : 10 * c);
        }
    bool written = image_file_write_png(&image, path, &error);
    image_free(&image);
    return written;
}

static bool are_equal(const struct image *a, const struct image *b)
{
    return a->pixels && b->pixels && a->width == b->width && a->height == b->height &&
           a->channels == b->channels &&
           memcmp(a->pixels, b->pixels, a->width * a->height * a->channels) == 0;
}

/* The left half of a pair as a file gives what evaluating the pair computes. */
static void test_own_size(struct probe *probe, struct model *model)
{
    struct error error;
    struct image pair = {0}, left = {0}, made = {0};
    const char *folder = home_path("pairs"), *file = home_path("left.png");
    char both[600], output[600], spec[600];
    mkdir(folder, 0700);
    snprintf(both, sizeof both, "%s/one.png", folder);
    snprintf(spec, sizeof spec, "pairs:%s", folder);
    snprintf(output, sizeof output, "%s", home_path("made.png"));
    bool written =
        write_pattern(both, 0, 0, 32, 16, 32, 16) && image_file_read(&pair, both, 3, &error) &&
        image_cut(&left, &pair, 0, 0, 16, 16, &error) && image_file_write_png(&left, file, &error);
    open_probe(probe, home_path("pictures.safetensors"), spec);
    const struct probe_status look = wait_ready(probe);
    struct probe_answer answer = wait_answer(probe, probe_ask(probe, NULL, 0));
    tap_ok(written && look.images == 1 && answer.picture_count == 3 &&
               are_equal(&answer.pictures[0], &left),
           "a pair is evaluated at its size");
    tap_ok(model_translate_file(model, file, output, &error) &&
               image_file_read(&made, output, 3, &error) && are_equal(&made, &answer.pictures[1]),
           "predict writes what the evaluation computed, to the bit");
    struct probe_answer tried = wait_answer(probe, probe_ask(probe, file, 0));
    tap_ok(tried.picture_count == 2 && are_equal(&tried.pictures[0], &left) &&
               are_equal(&tried.pictures[1], &made),
           "and so does the workbench");
    probe_answer_free(&tried);
    probe_answer_free(&answer);
    image_free(&made);
    image_free(&left);
    image_free(&pair);
}

/* 37x21 becomes 48x32 with 5 pixels of padding on the left and above, 6 on the right and below. */
static void test_other_size(struct model *model)
{
    struct error error;
    struct translation small = {0}, padded = {0};
    struct image part = {0};
    const char *file = home_path("small.png"), *reflected = home_path("padded.png");
    tap_ok(write_pattern(file, 0, 0, 37, 21, 37, 21) &&
               write_pattern(reflected, -5, -5, 48, 32, 37, 21) &&
               model_translate(model, file, &small, &error) && small.output.width == 37 &&
               small.output.height == 21 && small.input.width == 37,
           "a picture of 37x21 becomes one of 37x21");
    tap_ok(model_translate(model, reflected, &padded, &error) && padded.output.width == 48 &&
               padded.output.height == 32 &&
               image_cut(&part, &padded.output, 5, 5, 37, 21, &error) &&
               are_equal(&part, &small.output),
           "which is cut out of the translation of 48x32, padded by reflection");
    image_free(&part);
    translation_free(&small);
    translation_free(&padded);
    tap_ok(write_pattern(file, 0, 0, 1, 3, 1, 3) && model_translate(model, file, &small, &error) &&
               small.output.width == 1 && small.output.height == 3,
           "also a picture of 1x3");
    translation_free(&small);
}

/* A linear layer has weights for one size of pictures. */
static void test_one_size(const char *path)
{
    struct error error;
    struct model model;
    struct translation translation;
    const char *file = home_path("small.png");
    if (!tap_ok(model_load(&model, path, "cpu", 1, &error), "a generator with linear layers"))
        return note_error(&error);
    tap_ok(write_pattern(file, 0, 0, 4, 4, 4, 4) &&
               model_translate(&model, file, &translation, &error),
           "translates pictures of its size");
    translation_free(&translation);
    tap_ok(write_pattern(file, 0, 0, 8, 5, 8, 5) &&
               !model_translate(&model, file, &translation, &error) &&
               error.kind == ERROR_UNSUPPORTED && strstr(error.advice, "4x4"),
           "and refuses others: %s", error.why);
    model_free(&model);
}

static void test_translation(struct probe *probe, const char *path, const char *flat)
{
    struct error error;
    struct model model;
    if (!tap_ok(model_load(&model, path, "cpu", 1, &error), "the generator once more"))
        return note_error(&error);
    test_own_size(probe, &model);
    test_other_size(&model);
    model_free(&model);
    test_one_size(flat);
}

static void test_refusals(struct probe *probe, const char *path)
{
    open_probe(probe, home_path("none.safetensors"), digits);
    struct probe_status look = wait_ready(probe);
    tap_ok(look.phase == PROBE_FAILED && look.error.kind != ERROR_NONE, "no such model: %s",
           look.error.why);
    open_probe(probe, path, "shapes");
    look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.error.kind != ERROR_NONE && look.images == 0,
           "a set of another size: %s", look.error.why);
    open_probe(probe, path, "");
    look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.error.kind == ERROR_NONE && look.images == 0,
           "no data set is no error");
    for (int i = 0; i < 20; i++) { /* what is on is left at once */
        open_probe(probe, path, i % 2 ? "digits" : digits);
        probe_ask(probe, NULL, (size_t)i);
    }
    look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.images > 0, "the last request counts");
    open_probe(probe, path, "digits"); /* the end comes in the middle */
}

/* --- background jobs --- */

static bool count_to(void *subject, struct background_job *background_job, struct error *error)
{
    const uint64_t *of = subject;
    for (uint64_t i = 1; i <= *of; i++) {
        if (!background_job_progress(background_job, i, *of, error))
            return false;
        if (*of > 100)
            rest();
    }
    return true;
}

static void test_background_jobs(void)
{
    struct error error = {0};
    uint64_t few = 10, many = 1000000, done, of;
    struct background_job *background_job = background_job_start(count_to, &few, &error);
    while (!background_job_poll(background_job, &done, &of))
        rest();
    tap_ok(done == 10 && of == 10 && background_job_finish(background_job, &error),
           "a background job ends");
    background_job = background_job_start(count_to, &many, &error);
    background_job_cancel(background_job);
    tap_ok(!background_job_finish(background_job, &error) && error.kind == ERROR_INTERRUPTED,
           "or is cancelled");
}

TEST_CASE(probe_test)
{
    static const char tiny[] =
        "{\"name\": \"tiny\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\","
        "\"layers\": [{\"op\": \"flatten\"}, {\"op\": \"linear\", \"output\": 24,"
        "\"init\": \"he\"}, {\"op\": \"relu\"}, {\"op\": \"linear\", \"output\": \"classes\"}]}";
    static const char pair[] =
        "{\"name\": \"pair\", \"input\": [3, 16, 16], \"normalise\": \"signed\","
        "\"loss\": \"l1_loss\", \"layers\": [{\"block\": \"unet\", \"width\": 4, \"widest\": 8,"
        "\"steps\": 2, \"dropout_steps\": 1}, {\"op\": \"tanh\"}], \"discriminator\": {\"layers\":"
        "[{\"op\": \"conv\", \"output\": 1, \"kernel\": 4, \"stride\": 2, \"pad\": 1}]}}";
    static const char linear[] =
        "{\"name\": \"linear\", \"input\": [3, 4, 4], \"normalise\": \"signed\","
        "\"loss\": \"l1_loss\", \"layers\": [{\"op\": \"flatten\"}, {\"op\": \"linear\","
        "\"output\": 8}, {\"op\": \"conv_transpose\", \"output\": 3, \"kernel\": 4}]}";
    struct error error;
    char classes[600], pictures[600], flat[600];
    if (!make_home())
        return 99;
    snprintf(classes, sizeof classes, "%s", home_path("classes.safetensors"));
    snprintf(pictures, sizeof pictures, "%s", home_path("pictures.safetensors"));
    snprintf(flat, sizeof flat, "%s", home_path("flat.safetensors"));
    struct probe *probe = probe_create(&error);
    if (tap_ok(probe, "a probe") && tap_ok(train(tiny, "digits,limit=200", "2", classes) &&
                                               train(pair, "maps,limit=4", "1", pictures) &&
                                               train(linear, "maps,limit=4", "1", flat),
                                           "three models")) {
        test_classes(probe, classes);
        test_pictures(probe, pictures);
        test_translation(probe, pictures, flat);
        test_refusals(probe, classes);
    }
    probe_free(probe);
    test_background_jobs();
    remove_home();
    return tap_done();
}
