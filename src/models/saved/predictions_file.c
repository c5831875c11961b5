/* A row is written as soon as its image is evaluated, so memory does not grow with the set. */
#include "models/saved/predictions_file.h"

#include "base/escape/csv.h"

#include <math.h>
#include <string.h>

enum { TOP = 5 };

static size_t top_of(const struct model *model)
{
    return model->network->classes < TOP ? model->network->classes : TOP;
}

/* Writes a field. If memory is short the file is not completed. */
static void put_text(struct predictions_file *file, const char *value)
{
    struct text field = {0};
    csv_append(&field, value);
    file->failed |= field.failed;
    fputs(field.data ? field.data : "", file->output.stream);
    text_free(&field);
}

bool predictions_file_open(struct predictions_file *file, const char *name,
                           const struct model *model, const struct dataset *dataset,
                           struct error *error)
{
    *file = (struct predictions_file){.dataset = dataset, .model = model};
    if (!output_file_open(&file->output, name, OUTPUT_TEXT, error))
        return false;
    FILE *stream = file->output.stream;
    fputs("image,origin,label,label_name,guess,guess_name,probability", stream);
    for (size_t i = 1; i <= top_of(model); i++)
        fprintf(stream, ",top%zu,top%zu_probability", i, i);
    for (size_t c = 0; c < model->network->classes; c++)
        fprintf(stream, ",logit_%zu", c);
    fputc('\n', stream);
    return true;
}

static void put_guess(struct predictions_file *file, const struct outcome *outcome)
{
    FILE *stream = file->output.stream;
    if (outcome->guess == OUTCOME_NONE) {
        fputs(",,,", stream);
        return;
    }
    fprintf(stream, ",%u,", (unsigned)outcome->guess);
    put_text(file, file->model->class_names[outcome->guess]);
    fprintf(stream, ",%.9g", (double)outcome->share);
}

static void put_top(struct predictions_file *file, const struct outcome *outcome,
                    const float *logits)
{
    FILE *stream = file->output.stream;
    const struct model *model = file->model;
    struct prediction predictions[TOP] = {{0, 0}};
    const size_t top = top_of(model);
    if (outcome->guess != OUTCOME_NONE)
        model_choose_top(logits, model->network->classes, top, predictions);
    for (size_t i = 0; i < top; i++) {
        fputc(',', stream);
        if (outcome->guess != OUTCOME_NONE) {
            put_text(file, model->class_names[predictions[i].label]);
            fprintf(stream, ",%.9g", (double)predictions[i].probability);
        } else
            fputc(',', stream);
    }
}

void predictions_file_add(struct predictions_file *file, const struct outcome *outcome,
                          const float *logits)
{
    FILE *stream = file->output.stream;
    char origin[512];
    dataset_origin(file->dataset, outcome->image, origin, sizeof origin);
    fprintf(stream, "%u,", (unsigned)outcome->image);
    put_text(file, origin);
    fprintf(stream, ",%u,", (unsigned)outcome->label);
    put_text(file, file->model->class_names[outcome->label]);
    put_guess(file, outcome);
    put_top(file, outcome, logits);
    for (size_t c = 0; c < file->model->network->classes; c++)
        fprintf(stream, ",%.9g", (double)logits[c]);
    fputc('\n', stream);
}

bool predictions_file_close(struct predictions_file *file, struct error *error)
{
    if (!file->failed)
        return output_file_commit(&file->output, error);
    output_file_abandon(&file->output);
    return error_set_memory(error, "the predictions", 0);
}

void predictions_file_abandon(struct predictions_file *file)
{
    output_file_abandon(&file->output);
}
