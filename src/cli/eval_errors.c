/* A table shows the whole confusion matrix of up to MATRIX_CLASSES classes; of more classes it
 * shows the pairs that are confused most often. The JSON document always has the whole matrix. */
#include "cli/internal.h"

#include "base/escape/csv.h"
#include "base/files/file.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/output.h"
#include "data/formats/image_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX_CLASSES = 12, MOST_CONFUSED = 20 };

/* --- gathering --- */

static bool asks(const struct eval_errors *errors)
{
    return errors->confusion || errors->per_class || errors->predictions || errors->wrong;
}

bool eval_errors_begin(struct eval_errors *errors, const struct model *model,
                       const struct dataset *dataset, struct error *error)
{
    errors->model = model;
    errors->dataset = dataset;
    if (!asks(errors))
        return true;
    if (model->network->classes == 0)
        return error_set(error, ERROR_UNSUPPORTED, model->network->name,
                         "leave out --confusion, --per-class, --predictions and --wrong",
                         "this network makes pictures and predicts no classes");
    if (!error_analysis_create(&errors->analysis, model->network->classes, error) ||
        (errors->wrong && !file_make_directories(errors->wrong, error)))
        return false;
    errors->file_open =
        errors->predictions &&
        predictions_file_open(&errors->file, errors->predictions, model, dataset, error);
    return errors->file_open || !errors->predictions;
}

/* Returns the name of a misclassified picture, "000123_cat_as_dog_0.93.png". The caller frees it.
 */
static char *wrong_path(const struct eval_errors *errors, const struct outcome *outcome)
{
    const struct model *model = errors->model;
    char name[200], label[65], guess[65] = "nothing";
    csv_clean(model->class_names[outcome->label], label, sizeof label);
    if (outcome->guess != OUTCOME_NONE)
        csv_clean(model->class_names[outcome->guess], guess, sizeof guess);
    snprintf(name, sizeof name, "%06u_%s_as_%s_%.2f.png", (unsigned)outcome->image, label, guess,
             (double)outcome->share);
    return file_join(errors->wrong, name);
}

static bool write_wrong(struct eval_errors *errors, const struct outcome *outcome)
{
    struct image image = {0};
    char *path = wrong_path(errors, outcome);
    if (!path)
        return error_set_memory(&errors->failed, "a path", 0);
    const bool written =
        dataset_image(errors->dataset, outcome->image, &image, NULL, &errors->failed) &&
        image_file_export_png(&image, path, &errors->failed);
    errors->wrong_written += written;
    image_free(&image);
    free(path);
    return written;
}

void eval_errors_watch(void *context, const struct outcome *outcome, const float *logits)
{
    struct eval_errors *errors = context;
    if (!asks(errors) || errors->failed.kind != ERROR_NONE)
        return;
    error_analysis_add(&errors->analysis, outcome);
    if (errors->file_open)
        predictions_file_add(&errors->file, outcome, logits);
    if (errors->wrong && outcome->guess != outcome->label)
        write_wrong(errors, outcome);
}

bool eval_errors_progress(void *context, uint64_t done, uint64_t of, struct error *error)
{
    const struct eval_errors *errors = context;
    (void)done;
    (void)of;
    if (errors->failed.kind == ERROR_NONE)
        return true;
    *error = errors->failed;
    return false;
}

bool eval_errors_finish(struct eval_errors *errors, struct error *error)
{
    const bool open = errors->file_open;
    errors->file_open = false;
    return !open || predictions_file_close(&errors->file, error);
}

void eval_errors_free(struct eval_errors *errors)
{
    if (errors->file_open)
        predictions_file_abandon(&errors->file);
    error_analysis_free(&errors->analysis);
    *errors = (struct eval_errors){0};
}

/* --- tables --- */

/* Writes a percentage, or "-" if there is none: nothing was counted. Returns `text`. */
static const char *percent(double value, char text[32])
{
    snprintf(text, 32, isfinite(value) ? "%.2f" : "-", value);
    return text;
}

static int print_classes(const struct eval_errors *errors)
{
    const struct error_analysis *analysis = &errors->analysis;
    char text[32], other[32];
    struct table table = table_begin("lrrrr", _("Class|Images|Precision %|Recall %|F1 %"));
    for (size_t c = 0; c < analysis->confusion.classes; c++) {
        const struct class_figures figures = error_analysis_class(analysis, c);
        table_cell(&table, "%s", errors->model->class_names[c]);
        table_cell(&table, "%zu", figures.images);
        table_number(&table, "%.2f", figures.precision);
        table_number(&table, "%.2f", figures.recall);
        table_number(&table, "%.2f", figures.f1);
    }
    output_print("\n");
    const int status = output_table(&table);
    output_print(_("Mean F1 of the classes %s %%; calibration error %s %%: the mean distance "
                   "between probability and accuracy.\n"),
                 percent(error_analysis_macro_f1(analysis), text),
                 percent(100 * error_analysis_calibration(analysis), other));
    return status;
}

static int print_matrix(const struct eval_errors *errors)
{
    const struct confusion *confusion = &errors->analysis.confusion;
    struct table table = {.columns = confusion->classes + 1, .align = "lr"};
    table_cell(&table, "%s", _("Class / predicted"));
    for (size_t c = 0; c < confusion->classes; c++)
        table_cell(&table, "%s", errors->model->class_names[c]);
    for (size_t label = 0; label < confusion->classes; label++) {
        table_cell(&table, "%s", errors->model->class_names[label]);
        for (size_t guess = 0; guess < confusion->classes; guess++)
            table_cell(&table, "%u", (unsigned)confusion_count(confusion, label, guess));
    }
    return output_table(&table);
}

struct confused {
    size_t label, guess;
    uint32_t count;
};

static int by_count(const void *a, const void *b)
{
    const struct confused *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->label != y->label ? (x->label < y->label ? -1 : 1) : (x->guess < y->guess ? -1 : 1);
}

/* Keeps the pair among the `count` most frequent ones, which are sorted. Returns their number. */
static size_t keep_most(struct confused *most, size_t count, struct confused pair)
{
    if (count < MOST_CONFUSED)
        most[count++] = pair;
    else if (by_count(&pair, &most[count - 1]) < 0)
        most[count - 1] = pair;
    qsort(most, count, sizeof *most, by_count);
    return count;
}

static int print_most_confused(const struct eval_errors *errors)
{
    const struct confusion *confusion = &errors->analysis.confusion;
    struct confused most[MOST_CONFUSED];
    size_t count = 0;
    for (size_t label = 0; label < confusion->classes; label++)
        for (size_t guess = 0; guess < confusion->classes; guess++) {
            const uint32_t images = confusion_count(confusion, label, guess);
            if (label != guess && images > 0)
                count = keep_most(most, count, (struct confused){label, guess, images});
        }
    output_print(_("The most frequent of the errors (--json has all of them):\n"));
    struct table table = table_begin("llr", _("Class|Predicted as|Images"));
    for (size_t i = 0; i < count; i++) {
        table_cell(&table, "%s", errors->model->class_names[most[i].label]);
        table_cell(&table, "%s", errors->model->class_names[most[i].guess]);
        table_cell(&table, "%u", (unsigned)most[i].count);
    }
    return output_table(&table);
}

static uint64_t images_without_guess(const struct confusion *confusion)
{
    uint64_t images = 0;
    for (size_t c = 0; c < confusion->classes; c++)
        images += confusion->none[c];
    return images;
}

static int print_confusion(const struct eval_errors *errors)
{
    const struct confusion *confusion = &errors->analysis.confusion;
    const uint64_t none = images_without_guess(confusion);
    output_print("\n");
    if (none)
        output_print(_("The output was NaN for %llu images, which are in no column.\n"),
                     (unsigned long long)none);
    return confusion->classes <= MATRIX_CLASSES ? print_matrix(errors)
                                                : print_most_confused(errors);
}

int eval_errors_print(const struct eval_errors *errors)
{
    int status = EXIT_DONE;
    if (errors->per_class)
        status = print_classes(errors);
    if (errors->confusion && status == EXIT_DONE)
        status = print_confusion(errors);
    if (errors->wrong)
        output_print(_("%zu misclassified pictures in %s\n"), errors->wrong_written, errors->wrong);
    if (errors->predictions)
        output_print(_("predictions in %s\n"), errors->predictions);
    return status;
}

/* --- JSON --- */

static bool add_confusion(const struct confusion *confusion, struct json *root)
{
    struct json *rows = json_add_array(root, "confusion");
    bool complete = rows;
    for (size_t label = 0; complete && label < confusion->classes; label++) {
        struct json *row = json_add_array(rows, NULL);
        complete = row;
        for (size_t guess = 0; complete && guess < confusion->classes; guess++)
            complete = json_add_count(row, NULL, confusion_count(confusion, label, guess));
    }
    return complete;
}

static bool add_classes(const struct eval_errors *errors, struct json *root)
{
    struct json *rows = json_add_array(root, "per_class");
    bool complete = rows;
    for (size_t c = 0; complete && c < errors->analysis.confusion.classes; c++) {
        const struct class_figures figures = error_analysis_class(&errors->analysis, c);
        struct json *row = json_add_object(rows, NULL);
        complete = row && json_add_string(row, "name", errors->model->class_names[c]) &&
                   json_add_count(row, "images", figures.images) &&
                   json_add_count(row, "predicted", figures.guessed) &&
                   json_add_number(row, "precision", figures.precision) &&
                   json_add_number(row, "recall", figures.recall) &&
                   json_add_number(row, "f1", figures.f1);
    }
    return complete &&
           json_add_number(root, "macro_f1", error_analysis_macro_f1(&errors->analysis));
}

static bool add_calibration(const struct error_analysis *analysis, struct json *root)
{
    struct json *calibration = json_add_object(root, "calibration");
    bool complete =
        calibration && json_add_number(calibration, "error", error_analysis_calibration(analysis));
    struct json *bins = complete ? json_add_array(calibration, "bins") : NULL;
    complete = bins;
    for (size_t b = 0; complete && b < CALIBRATION_BINS; b++) {
        const struct calibration_bin *bin = &analysis->bins[b];
        const double images = (double)bin->images;
        struct json *row = json_add_object(bins, NULL);
        complete =
            row && json_add_number(row, "to", (double)(b + 1) / CALIBRATION_BINS) &&
            json_add_count(row, "images", bin->images) &&
            json_add_number(row, "confidence", bin->images ? bin->confidence / images : NAN) &&
            json_add_number(row, "accuracy", bin->images ? (double)bin->right / images : NAN);
    }
    return complete;
}

bool eval_errors_add(const struct eval_errors *errors, struct json *root)
{
    return (!errors->confusion || add_confusion(&errors->analysis.confusion, root)) &&
           (!errors->per_class ||
            (add_classes(errors, root) && add_calibration(&errors->analysis, root))) &&
           (!errors->wrong || json_add_count(root, "wrong", errors->wrong_written));
}
