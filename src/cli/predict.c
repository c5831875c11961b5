/* tinca predict: what a saved model sees in pictures. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/memory.h"
#include "session/evaluate.h"

#include <stdio.h>
#include <stdlib.h>

struct predict {
    struct model model;
    struct prediction *predictions; /* [top] of one picture */
    size_t top;
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
    printf("%s\n", path);
    for (size_t i = 0; i < predict->top; i++)
        printf("  %6.2f %%  %s\n", 100.0 * (double)predict->predictions[i].probability,
               predict->model.class_names[predict->predictions[i].label]);
}

/* Pictures that cannot be read are said and left out; the others are still answered. */
static int predict_images(struct predict *predict, const struct operands *operands)
{
    struct error error;
    int status = EXIT_DONE;
    bool complete = true;
    for (size_t i = 1; i < operands->count; i++) {
        const char *path = operands->values[i];
        if (!model_predict(&predict->model, path, predict->top, predict->predictions, &error))
            status = output_error(&error);
        else if (predict->as_json)
            complete = complete && add_json(predict, path);
        else
            print_text(predict, path);
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
    struct json *root = predict->as_json ? json_new_object() : NULL;
    size_t classes = predict->model.network->classes;
    if (classes == 0) {
        error_set(&error, ERROR_UNSUPPORTED, operands->values[0], "name a model that tells classes",
                  "this network makes pictures, it has no classes to predict");
        return output_error(&error);
    }
    predict->top = predict->top < classes ? predict->top : classes;
    predict->predictions =
        memory_new(predict->top, sizeof *predict->predictions, "the predictions", &error);
    if (!predict->predictions)
        return output_error(&error);
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
    const struct option_row rows[] = {{"top", 0, "K",
                                       "How many classes are shown, the most probable first.",
                                       OPTION_COUNT, &predict.top, 1, 1000000, NULL},
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
    "predict", "MODEL IMAGE...", "Tell what a saved model sees in PNG or JPEG pictures.",
    "MODEL is a file that tinca train --save wrote, or the weights.safetensors of a run.",
    predict_run};
