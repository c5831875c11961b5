/* tinca predict: what a saved model sees in pictures, or what it makes of them. */
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
    struct prediction *predictions; /* [top] of one picture */
    size_t top;                     /* 0: the network makes pictures */
    const char *output;             /* where pictures go: a file, or a folder */
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

/* --- pictures made of pictures --- */

static bool is_folder(const char *path)
{
    size_t length = strlen(path);
    return !output_file_is_stream(path) &&
           ((length > 0 && path[length - 1] == '/') || file_is_directory(path));
}

/* "photo.jpg" without its ending. */
static int stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

/* The file for a picture, owned by the caller: --output itself, or NAME.png in that folder. */
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

static bool translate(struct predict *predict, const char *path, bool *complete,
                      struct error *error)
{
    char *target = target_for(predict, path);
    bool made = target;
    if (!target)
        error_set_memory(error, "a path", 0);
    else if (is_same_file(target, path))
        made = error_set(error, ERROR_USAGE, target, "choose another --output",
                         "it would be written over");
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

/* Two pictures of one name cannot go to one folder. */
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
                         "say where they go: -o FILE.png, or -o FOLDER",
                         "this network makes pictures, it has no classes to predict");
    if (is_folder(predict->output))
        return check_names(operands, error) && file_make_directories(predict->output, error);
    if (predict->as_json && output_file_is_stdout(predict->output))
        return error_set(error, ERROR_USAGE, "--output", "name a file for the picture",
                         "picture and JSON cannot both go to standard output");
    return operands->count <= 2 ||
           error_set(error, ERROR_USAGE, predict->output, "name a folder that exists, or FOLDER/",
                     "several pictures do not go into one file");
}

/* --- all of them --- */

/* Pictures that cannot be read are said and left out; the others are still answered. */
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
    static const char *const fields[] = {"device", "threads", NULL};
    struct predict predict = {.top = 5};
    struct run_config config;
    struct error error;
    struct operands operands;
    int status;
    const struct option_row rows[] = {
        {"top", 0, "K", N_("How many classes are shown, the most probable first."), OPTION_COUNT,
         &predict.top, 1, 1000000, NULL},
        {"output", 'o', "FILE",
         N_("Networks that make pictures: the PNG file, or a folder for "
            "several."),
         OPTION_TEXT, &predict.output, 0, 0, NULL},
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
    status = predict_all(&predict, &operands);
    model_free(&predict.model);
    return status;
}

const struct command command_predict = {
    "predict", "MODEL IMAGE...", N_("Tell what a saved model sees in PNG or JPEG pictures."),
    N_("MODEL is a file that tinca train --save wrote, or the weights.safetensors of a run. A "
       "network "
       "that makes pictures (pix2pix) translates them at their own size: --output says where they "
       "go."),
    predict_run};
