/* A model tried out in the background: what it is told to be must be what eval and predict say, to
 * the bit; and nobody waits for what is not wanted any more. */
#include "session/probe.h"

#include "session/confusion.h"
#include "session/errand.h"
#include "session/evaluate.h"

#include "session_files.h"

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

static struct probe_look wait_ready(struct probe *probe)
{
    struct probe_look look;
    for (int i = 0; i < 12000; i++) {
        probe_look(probe, &look);
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

static void check_counts(const struct probe_look *look, const struct evaluation *evaluation)
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
    tap_ok(confusion.none[3] == 1 && confusion.images == 131, "no number is no class");
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
                "an image of the set is told, with its label and picture")) {
        note_error(&answer.error);
        return;
    }
    tap_ok(image_write_png(&answer.pictures[0], path, &error) &&
               model_predict(model, path, PROBE_TOP, top, &error),
           "the same picture as a file");
    bool same = true;
    for (size_t i = 0; i < PROBE_TOP; i++)
        same = same && top[i].label == answer.top[i].label &&
               top[i].probability == answer.top[i].probability;
    tap_ok(same, "predict says the same, to the bit");
    struct probe_answer file = wait_answer(probe, probe_ask(probe, path, 0));
    same = file.top_count == PROBE_TOP && !file.labelled;
    for (size_t i = 0; i < PROBE_TOP && same; i++)
        same = top[i].probability == file.top[i].probability;
    tap_ok(same, "and so does the probe of the file");
    probe_answer_free(&file);
    struct probe_look look;
    probe_look(probe, &look);
    tap_ok(look.outcomes[7].guess == answer.top[0].label, "as does the evaluation");
    probe_answer_free(&answer);
    write_text(path, "no picture");
    file = wait_answer(probe, probe_ask(probe, path, 0));
    tap_ok(file.error.kind == ERROR_INPUT && file.picture_count == 0, "what is no picture: %s",
           file.error.why);
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
                "what eval says"))
        return;
    open_probe(probe, path, digits);
    struct probe_look look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.evaluated && look.outcome_count == 130 &&
               look.evaluation.top1 == evaluation.top1 && evaluation.top1 > 20 &&
               look.classes == 10 && strcmp(look.class_names[3], model.class_names[3]) == 0,
           "the probe says the same of the set");
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
    tap_ok(model_evaluate(&model, maps, 0, &evaluation, &error), "and what eval says of it");
    open_probe(probe, path, maps);
    struct probe_look look = wait_ready(probe);
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

static void test_refusals(struct probe *probe, const char *path)
{
    open_probe(probe, home_path("none.safetensors"), digits);
    struct probe_look look = wait_ready(probe);
    tap_ok(look.phase == PROBE_FAILED && look.error.kind != ERROR_NONE, "no such model: %s",
           look.error.why);
    open_probe(probe, path, "shapes");
    look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.error.kind != ERROR_NONE && look.images == 0,
           "a set of another size: %s", look.error.why);
    open_probe(probe, path, "");
    look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.error.kind == ERROR_NONE && look.images == 0,
           "no set at all is no error");
    for (int i = 0; i < 20; i++) { /* what is on is left at once */
        open_probe(probe, path, i % 2 ? "digits" : digits);
        probe_ask(probe, NULL, (size_t)i);
    }
    look = wait_ready(probe);
    tap_ok(look.phase == PROBE_READY && look.images > 0, "the last one wins");
    open_probe(probe, path, "digits"); /* the end comes in the middle */
}

/* --- errands --- */

static bool count_to(void *subject, struct errand *errand, struct error *error)
{
    const uint64_t *of = subject;
    for (uint64_t i = 1; i <= *of; i++) {
        if (!errand_progress(errand, i, *of, error))
            return false;
        if (*of > 100)
            rest();
    }
    return true;
}

static void test_errands(void)
{
    struct error error = {0};
    uint64_t few = 10, many = 1000000, done, of;
    struct errand *errand = errand_start(count_to, &few, &error);
    while (!errand_look(errand, &done, &of))
        rest();
    tap_ok(done == 10 && of == 10 && errand_finish(errand, &error), "an errand ends");
    errand = errand_start(count_to, &many, &error);
    errand_call_off(errand);
    tap_ok(!errand_finish(errand, &error) && error.kind == ERROR_INTERRUPTED, "or is called off");
}

int main(void)
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
    struct error error;
    char classes[600], pictures[600];
    if (!make_home())
        return 99;
    snprintf(classes, sizeof classes, "%s", home_path("classes.safetensors"));
    snprintf(pictures, sizeof pictures, "%s", home_path("pictures.safetensors"));
    struct probe *probe = probe_create(&error);
    if (tap_ok(probe, "a probe") && tap_ok(train(tiny, "digits,limit=200", "2", classes) &&
                                               train(pair, "maps,limit=4", "1", pictures),
                                           "two models")) {
        test_classes(probe, classes);
        test_pictures(probe, pictures);
        test_refusals(probe, classes);
    }
    probe_free(probe);
    test_errands();
    remove_home();
    return tap_done();
}
