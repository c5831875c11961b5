/* made_runs.h: writes run folders for the tests of the comparison and the advisor. */
#ifndef TINCA_TESTS_MADE_RUNS_H
#define TINCA_TESTS_MADE_RUNS_H

#include "models/measure/measurement.h"
#include "runs/record/run_open.h"

#include "session_files.h"

#include <math.h>
#include <sys/stat.h>

struct made_run {
    const char *id, *network, *technique;
    const char *data;   /* NULL: CIFAR-10, in a folder */
    double top1;        /* the best, one above the last; NaN: no validation */
    size_t parameters;  /* the model has 4 bytes for each */
    const char *device; /* NULL: not measured */
    double ms, ci95;
    bool no_model;
};

static void made_path(char *path, size_t size, const char *id, const char *name)
{
    snprintf(path, size, "%s/tinca/runs/%s/%s", test_home, id, name);
}

static bool make_file(const struct made_run *made, const char *name, const char *text)
{
    char path[600];
    made_path(path, sizeof path, made->id, name);
    return write_text(path, text);
}

static bool make_folders(const char *id)
{
    char path[600];
    snprintf(path, sizeof path, "%s/tinca", test_home);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/tinca/runs", test_home);
    mkdir(path, 0700);
    made_path(path, sizeof path, id, "");
    return mkdir(path, 0700) == 0;
}

static bool make_journal(const struct made_run *made)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"event\":\"start\",\"network\":\"%s\",\"technique\":\"%s\",\"parameters\":%zu,"
             "\"flops\":1000000,\"images\":100,\"validation_images\":10,\"classes\":10,"
             "\"threads\":2,\"iterations\":4,\"epochs\":1,\"memory\":{\"weights\":1,"
             "\"gradients\":1,\"solver\":1,\"activations\":1,\"workspace\":1,\"total\":5000000}}\n",
             made->network, made->technique, made->parameters);
    return make_file(made, "journal.jsonl", text);
}

static bool make_summary(const struct made_run *made)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"status\":\"done\",\"error\":null,\"iteration\":4,\"iterations\":4,"
             "\"best_top1\":%.6f,\"top1\":%.6f,\"loss\":0.5,\"validation_loss\":0.25,"
             "\"has_validation\":%s}\n",
             isnan(made->top1) ? 0 : made->top1, isnan(made->top1) ? 0 : made->top1 - 1,
             isnan(made->top1) ? "false" : "true");
    return make_file(made, "summary.json", text);
}

static bool make_config(const struct made_run *made)
{
    char text[1024];
    const char *data = made->data ? made->data : "cifar10:/data/cifar";
    snprintf(text, sizeof text,
             "{\"format\":\"tinca-run\",\"version\":1,\"id\":\"%s\",\"created\":\"\",\"config\":"
             "{\"network\":\"%s\",\"data\":\"%s\",\"validate\":\"%s%s\",\"batch\":32,\"epochs\":3,"
             "\"device\":\"cpu\",\"filter\":\"auto\"}}\n",
             made->id, made->network, data, isnan(made->top1) ? "" : data,
             isnan(made->top1) ? "" : ",split=test");
    return make_file(made, "config.json", text);
}

static bool make_model(const struct made_run *made)
{
    char path[600];
    made_path(path, sizeof path, made->id, "best.safetensors");
    return write_text(path, "") && truncate(path, (off_t)(made->parameters * 4)) == 0;
}

static bool make_measurement(const struct made_run *made, const char *device, double ms,
                             double ci95)
{
    char directory[600];
    struct error error;
    struct measurement measurement = {.on.threads = 2,
                                      .images = 100,
                                      .ms_per_image = {ms, ms, ms, ci95 * 5, ci95},
                                      .top1 = isnan(made->top1) ? 70 : made->top1,
                                      .top5 = 99,
                                      .loss = 1,
                                      .model_bytes = made->parameters * 4,
                                      .memory_bytes = 1000000};
    snprintf(measurement.on.device, sizeof measurement.on.device, "%s", device);
    snprintf(measurement.data, sizeof measurement.data, "cifar10:/data/cifar");
    made_path(directory, sizeof directory, made->id, "");
    return measurements_put(directory, &measurement, &error);
}

/* Stores turns of two runs on the device of the first one: 16 blocks, of which `marked` are marked
 * besides, with the ratio of their times. */
__attribute__((unused)) static bool make_turns(const struct made_run *first,
                                               const struct made_run *second, size_t marked)
{
    char directory[600], path[660];
    struct error error;
    struct measured_turns made = {.turns = {.on.threads = 2,
                                            .blocks = 16 + marked,
                                            .marked = marked,
                                            .images = 40,
                                            .first_ms = first->ms,
                                            .second_ms = second->ms,
                                            .log_ratio = log(first->ms / second->ms),
                                            .log_sd = 0.005}};
    snprintf(made.other, sizeof made.other, "%s", second->id);
    snprintf(made.turns.on.device, sizeof made.turns.on.device, "%s", first->device);
    made_path(path, sizeof path, second->id, "best.safetensors");
    if (!model_stamp_read(&made.with, path, &error))
        return false;
    made_path(path, sizeof path, first->id, "best.safetensors");
    made_path(directory, sizeof directory, first->id, "");
    return model_stamp_read(&made.own, path, &error) &&
           measurements_put_turns(directory, &made, &error);
}

/* Writes the folder of a run. Returns its path; NULL if that fails. */
__attribute__((unused)) static struct run *make_run(const struct made_run *made)
{
    struct error error;
    char directory[600];
    if (!make_folders(made->id) || !make_config(made) || !make_journal(made) ||
        !make_summary(made) || (!made->no_model && !make_model(made)) ||
        (made->device && !make_measurement(made, made->device, made->ms, made->ci95)))
        return NULL;
    snprintf(directory, sizeof directory, "%s/tinca/runs/%s", test_home, made->id);
    struct run *run = run_open(directory, &error);
    if (!run)
        note_error(&error);
    return run;
}

#endif
