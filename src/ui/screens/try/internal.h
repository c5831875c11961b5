/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_TRY_INTERNAL_H
#define TINCA_UI_SCREENS_TRY_INTERNAL_H

#include "models/saved/error_analysis.h"
#include "training/inspect/probe.h"
#include "ui/app/app.h"
#include "ui/terminal/draw.h"
#include "ui/widgets/chooser.h"

#include <stdbool.h>
#include <stddef.h>

/* --- try_sources.c: dialogs --- */

/* The dialogs of the screen Try it. */

struct app;

/* Asks for an image file and shows it. */
void try_ask_file(struct app *app);
/* Asks for a data set and evaluates the model on its test images. */
void try_ask_data(struct app *app);
/* Asks how many threads may compute. */
void try_ask_threads(struct app *app);
/* Asks for the number of an image and shows it. */
void try_ask_go(struct app *app);

/* --- try_model.c --- */

/* The state of the screen Try it: the model, the image that is shown, and the results so far. No
 * drawing; the probe (training/inspect/probe.h) computes the results in a thread. */

struct app;

enum try_kind { TRY_IMAGE, TRY_MATRIX, TRY_CLASSES, TRY_KINDS };

/* The images that Left and Right step through. */
enum try_walk {
    WALK_ALL,
    WALK_WRONG, /* misclassified images */
    WALK_CELL,  /* images of class `label` classified as `guess` */
    WALK_CLASS, /* misclassified images of class `label` */
};

/* A file of weights that can be tried. */
struct try_source {
    char name[96];  /* "20261121-063012-lenet-1a2b best" */
    char note[160]; /* its accuracy, network and data, for the chooser */
    char path[640];
    char data[640];
    double tolerance;
};
enum { TRY_SOURCES = CHOOSER_MAX_ITEMS };

struct try_class {
    double accuracy; /* NaN: no image of the class was evaluated */
    size_t label;
};

struct try_model {
    struct probe *probe; /* NULL until a model is chosen */
    struct probe_request request;
    char name[256];             /* the model's name, as shown to the user */
    struct probe_status status; /* what the probe has published */
    struct confusion confusion; /* counts the first `counted` outcomes */
    size_t counted;
    struct error error; /* why the confusion matrix or the pictures failed */

    enum try_kind kind;
    enum try_walk walk;
    size_t label, guess; /* the class and the guess that the walk shows */

    size_t image;    /* number of the test image that is or will be shown */
    char path[1024]; /* image file that is shown instead; "": none */
    unsigned ticket; /* identifies the pending request; 0: none is pending */
    bool answered;   /* `answer` is valid */
    struct probe_answer answer;
    struct halfblocks cells[PROBE_PICTURES]; /* pictures as cells, each of size `room` */
    struct rect room;

    size_t row, column;      /* selected cell of the matrix; `row` is also the selected class */
    size_t top, left;        /* first cell shown; `top` is also the first class shown */
    bool worst_first;        /* sort order of the classes */
    struct try_class *order; /* the classes, sorted; NULL: nothing was evaluated yet */

    struct try_source *sources;
    size_t source_count;
};

/* Ends the probe and frees the model's memory. */
void try_model_free(struct try_model *model);

/* Opens a source and selects its first image. */
bool try_model_open(struct try_model *model, const struct try_source *source, struct error *error);
/* Opens the same file again after a change of the data set, the threads or the weights. */
void try_model_reopen(struct try_model *model);

/* Polls the probe: takes over new results and the pending answer. */
void try_model_step(struct try_model *model);
/* Returns whether the probe is working, and writes in how many seconds to poll it. */
bool try_model_busy(const struct try_model *model, double *seconds);

/* Returns the result for an image of the data set, or NULL if it is not known yet. */
const struct outcome *try_model_outcome(const struct try_model *model, size_t image);

/* Returns whether the network generates images instead of classifying them. */
bool try_model_makes_pictures(const struct try_model *model);

/* --- walking --- */

/* Changes which images Left and Right step through. `label` and `guess` matter as in enum try_walk.
 */
void try_model_start_walk(struct try_model *model, enum try_walk walk, size_t label, size_t guess);
/* Moves by `steps` images of the walk; it stops at the ends. Returns false if the walk has no
 * image.
 */
bool try_model_move(struct try_model *model, long steps);
/* Requests image number `image` of the data set. */
void try_model_show(struct try_model *model, size_t image);
/* Requests the image in the file `path`. */
void try_model_show_file(struct try_model *model, const char *path);
/* Returns how many images evaluated so far belong to the walk, and writes the position of the shown
 * image among them, from 1; 0: it is none of them. */
size_t try_model_count(const struct try_model *model, size_t *place);

/* Sorts the classes: by number, or the worst first. */
void try_model_sort(struct try_model *model);
/* Returns the class in row `row` of the list of classes. */
size_t try_model_class(const struct try_model *model, size_t row);
/* Returns the wrong class that `label` is most often classified as, and writes how often; 0: never.
 */
size_t try_model_most_confused(const struct try_model *model, size_t label, size_t *count);

/* Returns the name of a class. */
const char *try_model_class_name(const struct try_model *model, size_t label);

/* Converts each picture of the answer into cells that fit `room`. Returns whether there are any. */
bool try_model_make_cells(struct try_model *model, struct rect room);

/* Returns the state of the screen. */
static inline struct try_model *try_model(const struct app *app)
{
    return app_state(app, SCREEN_TRY);
}

/* --- try_sources.c --- */

/* The weight files that can be tried: those of this session's runs and of the saved runs, the
 * newest first. */

struct app;
struct run_entry;

/* Fills in model->sources, at most TRY_SOURCES, from the runs that loading_read_all_then has read.
 * Returns false with an error when there is no memory. */
bool try_sources_find(struct app *app, struct error *error);

/* Fills in the best weights of a run or, if it has none, its last ones. Returns false if the run
 * has saved no weights. */
bool try_source_of_run(const struct run_entry *entry, struct try_source *source);

/* Fills in a file that the user has named. It has no data set. */
void try_source_of_file(const char *path, struct try_source *source);

/* --- try_view.c --- */

/* Drawing of the views of the screen Try it. */

/* Draws the image and the model's result for it. */
void try_draw_image(struct try_model *model, struct canvas *canvas, struct rect area);

/* Draws the confusion matrix and each class's accuracy, scrolled so that the cursor is visible. */
void try_draw_matrix(struct try_model *model, struct canvas *canvas, struct rect area);

/* Draws one line for each class. */
void try_draw_classes(struct try_model *model, struct canvas *canvas, struct rect area);

/* Draws the state of the evaluation: "evaluating 40 of 130", "top-1 97.31 % of 130 images", ... */
void try_draw_status(const struct try_model *model, struct canvas *canvas, struct rect area,
                     int row, int column);

#endif
