/* tinca predict: runs a saved model on pictures. A classifier's most probable classes are printed;
 * the pictures that a generator (pix2pix) makes are written to --output. A picture that cannot be
 * read is reported, and the others are still computed. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "session/model/translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct predict {
    struct model model;
    struct prediction *predictions; /* [top], of the current picture */
    size_t top;                     /* 0: the network makes pictures */
    const char *output;             /* where pictures are written: a file, or a folder */
    bool as_json;
    struct json *list; /* with as_json */
};

static bool add_json(const struct predict *predict, const char *path)
{
    struct json *object = json_add_object(predict->list, NULL);
    bool added = json_add_string(object, "image", path);
    struct json *classes = json_add_array(object, "classes");
    for (size_t i = 0; i < predict->top; i++) {
        const struct prediction *prediction = &predict->predictions[i];
        struct json *row = json_add_object(classes, NULL);
        added = added && json_add_count(row, "label", prediction->label) &&
                json_add_string(row, "class", predict->model.class_names[prediction->label]) &&
                json_add_float(row, "probability", prediction->probability);
    }
    return added && classes;
}

static void print_text(const struct predict *predict, const char *path)
{
    output_print("%s\n", path);
    for (size_t i = 0; i < predict->top; i++) {
        const struct prediction *prediction = &predict->predictions[i];
        output_print("  %6.2f %%  %s\n", 100.0 * (double)prediction->probability,
                     predict->model.class_names[prediction->label]);
    }
}

static bool predict_classes(struct predict *predict, const char *path, bool *complete,
                            struct error *error)
{
    if (!model_predict(&predict->model, path, predict->top, predict->predictions, error))
        return false;
    if (predict->as_json)
        *complete = *complete && add_json(predict, path);
    else
        print_text(predict, path);
    return true;
}

/* --- generators: pictures made from pictures --- */

/* Returns whether --output names a folder: one that exists, or a path that ends with a slash. */
static bool is_folder(const char *path)
{
    size_t length = strlen(path);
    return !output_file_is_stream(path) &&
           ((length > 0 && path[length - 1] == '/') || file_is_directory(path));
}

/* Returns the length of a file name without its extension: 5 for "photo.jpg". */
static int stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* Returns the file to write for a picture: --output itself, or NAME.png in that folder. The caller
 * frees it; NULL if out of memory. */
static char *target_for(const struct predict *predict, const char *path)
{
    struct text target = {0};
    const char *name = file_base_name(path);
    size_t folder = strlen(predict->output);
    while (folder > 1 && predict->output[folder - 1] == '/')
        folder--;
    if (is_folder(predict->output))
        text_append(&target, "%.*s/%.*s.png", (int)folder, predict->output, stem_length(name),
                    name);
    else
        text_append(&target, "%s", predict->output);
    if (!target.failed)
        return target.data;
    text_free(&target);
    return NULL;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Writes the picture that the network makes of `path`. *complete becomes false when memory is too
 * short for the JSON document. */
static bool translate(struct predict *predict, const char *path, bool *complete,
                      struct error *error)
{
    char *target = target_for(predict, path);
    bool made = target;
    if (!target)
        error_set_memory(error, "a path", 0);
    else if (is_same_file(target, path))
        made = error_set(error, ERROR_USAGE, target, "choose another --output",
                         "this would overwrite the input picture");
    else
        made = model_translate_file(&predict->model, path, target, error);
    if (made && predict->as_json) {
        struct json *object = json_add_object(predict->list, NULL);
        *complete = *complete && json_add_string(object, "image", path) &&
                    json_add_string(object, "output", target);
    } else if (made && !output_file_is_stdout(target)) {
        output_print("%s -> %s\n", path, target);
    }
    free(target);
    return made;
}

/* Fails if two pictures would be written to the same file in a folder. */
static bool check_names(const struct operands *operands, struct error *error)
{
    for (size_t i = 1; i < operands->count; i++)
        for (size_t k = 1; k < i; k++) {
            const char *a = file_base_name(operands->values[k]);
            const char *b = file_base_name(operands->values[i]);
            if (stem_length(a) == stem_length(b) && memcmp(a, b, (size_t)stem_length(a)) == 0)
                return error_set(error, ERROR_USAGE, operands->values[i],
                                 "translate them one by one",
                                 "%s would become a file of the same name", operands->values[k]);
        }
    return true;
}

static bool check_output(const struct predict *predict, const struct operands *operands,
                         struct error *error)
{
    const bool makes_pictures = predict->model.network->classes == 0;
    if (!makes_pictures)
        return !predict->output || error_set(error, ERROR_USAGE, "--output", "leave it out",
                                             "this network predicts classes; it makes no pictures");
    if (!predict->output)
        return error_set(error, ERROR_USAGE, operands->values[0],
                         "name the output: -o FILE.png, or -o FOLDER",
                         "this network makes pictures; it has no classes to predict");
    if (is_folder(predict->output))
        return check_names(operands, error) && file_make_directories(predict->output, error);
    if (predict->as_json && output_file_is_stdout(predict->output))
        return error_set(error, ERROR_USAGE, "--output", "name a file for the picture",
                         "picture and JSON cannot both go to standard output");
    return operands->count <= 2 ||
           error_set(error, ERROR_USAGE, predict->output, "name a folder that exists, or FOLDER/",
                     "several pictures cannot be written to one file");
}

/* --- all pictures --- */

/* Computes all pictures. Reports those that cannot be read or written and goes on with the others.
 */
static int predict_images(struct predict *predict, const struct operands *operands)
{
    struct error error;
    int status = EXIT_DONE;
    bool complete = true;
    for (size_t i = 1; i < operands->count; i++) {
        const char *path = operands->values[i];
        if (!(predict->top ? predict_classes : translate)(predict, path, &complete, &error))
            status = output_error(&error);
    }
    if (!complete) {
        error_set_memory(&error, "the JSON document", 0);
        status = output_error(&error);
    }
    return status;
}

static int predict_all(struct predict *predict, const struct operands *operands)
{
    struct error error;
    size_t classes = predict->model.network->classes;
    if (!check_output(predict, operands, &error))
        return output_error(&error);
    predict->top = predict->top < classes ? predict->top : classes;
    if (predict->top)
        predict->predictions =
            memory_new(predict->top, sizeof *predict->predictions, "the predictions", &error);
    if (predict->top && !predict->predictions)
        return output_error(&error);
    struct json *root = predict->as_json ? json_new_object() : NULL;
    predict->list = json_add_array(root, "predictions");
    int status = predict_images(predict, operands);
    if (predict->as_json) {
        int printed = output_json(root, predict->list);
        status = status == EXIT_DONE ? printed : status;
    }
    free(predict->predictions);
    return status;
}

static int predict_run(const struct command *command, int argc, char **argv)
{
    static const char *const fields[] = {"device", "threads", "precision", "strict-device", NULL};
    struct predict predict = {.top = 5};
    struct run_config config;
    struct error error;
    struct operands operands;
    int status;
    const struct option_row rows[] = {
        {.name = "top",
         .argument = "K",
         .help = N_("How many classes are shown, the most probable first."),
         .kind = OPTION_COUNT,
         .value = &predict.top,
         .low = 1,
         .high = 1000000},
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = N_("Networks that make pictures: the PNG file, or a folder for several."),
         .kind = OPTION_TEXT,
         .value = &predict.output},
        OUTPUT_JSON_OPTION(&predict.as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &config,
                                   .fields = fields,
                                   .operands_min = 2,
                                   .operands_max = (size_t)-1};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!model_load(&predict.model, operands.values[0], config.device, config.threads, &error))
        return output_error(&error);
    predict.model.device->strict = config.strict_device;
    if (device_set_precision(predict.model.device, (enum device_precision)config.precision, &error))
        status = predict_all(&predict, &operands);
    else
        status = output_error(&error);
    model_free(&predict.model);
    return status;
}

const struct command command_predict = {
    .name = "predict",
    .operands = "MODEL IMAGE...",
    .summary = N_("Classify PNG or JPEG pictures with a saved model, or translate them."),
    .details = N_("MODEL is a file that tinca train --save wrote, or the weights.safetensors of a "
                  "run. A network that makes pictures (pix2pix) translates each picture at its "
                  "size; --output names the result."),
    .run = predict_run,
};
