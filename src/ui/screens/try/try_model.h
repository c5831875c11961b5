/* try_view.h: what the screen that tries a model out holds: which model, which of its images is
 * looked at, what was found out so far. No drawing; the work is the probe's
 * (session/inspect/probe.h). */
#ifndef TINCA_UI_SCREENS_TRY_TRY_MODEL_H
#define TINCA_UI_SCREENS_TRY_TRY_MODEL_H

#include "session/inspect/probe.h"
#include "session/model/confusion.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/halfblock.h"
#include "ui/widgets/chooser.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

enum try_kind { TRY_IMAGE, TRY_MATRIX, TRY_CLASSES, TRY_KINDS };

/* Which images Left and Right walk through. */
enum try_walk {
    WALK_ALL,
    WALK_WRONG, /* those that were told wrong */
    WALK_CELL,  /* of class `label`, taken for `guess` */
    WALK_CLASS, /* of class `label`, told wrong */
};

/* A file of weights that can be tried. */
struct try_source {
    char name[96];  /* "20261121-063012-lenet-1a2b best" */
    char note[160]; /* what it is */
    char path[640];
    char data[512];
    double tolerance;
};
enum { TRY_SOURCES = CHOOSER_MAX_ITEMS };

struct try_class {
    double accuracy; /* NaN: no image of it was seen */
    size_t label;
};

struct try_model {
    struct probe *probe; /* NULL until a model is chosen */
    struct probe_request request;
    char name[256]; /* of what is tried, for people */
    struct probe_status look;
    struct confusion confusion; /* of the first `counted` outcomes */
    size_t counted;
    struct error error; /* the counting's or the pictures' */

    enum try_kind kind;
    enum try_walk walk;
    size_t label, guess; /* of the walk */

    size_t image;    /* of the data set, the one that is or will be shown */
    char path[1024]; /* of the file that is shown instead; "": none */
    unsigned ticket; /* of the answer that is awaited; 0: none is */
    bool answered;
    struct probe_answer answer;
    struct halfblocks cells[PROBE_PICTURES]; /* made for `room` */
    struct rect room;

    size_t row, column, top, left; /* of the matrix; row also of the classes */
    bool worst_first;              /* the classes */
    struct try_class *order;       /* of the classes; NULL: nothing is known yet */

    struct chooser chooser; /* of weights */
    struct try_source *sources;
    size_t source_count;
};

void try_model_free(struct try_model *view);

/* Opens a source; the walk begins at its first image. */
bool try_model_open(struct try_model *view, const struct try_source *source, struct error *error);
/* Opens the same file again: other data, other threads, newer weights. */
void try_model_reopen(struct try_model *view);

/* Takes what is new from the probe. */
void try_model_step(struct try_model *view);
/* Whether something is going on that is to be looked at again soon; `*seconds` says how soon. */
bool try_model_busy(const struct try_model *view, double *seconds);

/* What came of an image of the set; NULL: it is not known yet. */
const struct outcome *try_model_outcome(const struct try_model *view, size_t image);

bool try_model_makes_pictures(const struct try_model *view);

/* --- walking --- */

void try_model_start_walk(struct try_model *view, enum try_walk walk, size_t label, size_t guess);
/* `steps` images of the walk on (or back); stops at the ends. False: there is none. */
bool try_model_move(struct try_model *view, long steps);
void try_model_show(struct try_model *view, size_t image);
void try_model_show_file(struct try_model *view, const char *path);
/* How many images of those known so far the walk has, and which of them is in sight (from 1; 0:
 * none of them). */
size_t try_model_count(const struct try_model *view, size_t *place);

/* Puts the classes in order again: by number, or the worst first. */
void try_model_sort(struct try_model *view);
/* The class that row `row` of the list of classes shows. */
size_t try_model_class(const struct try_model *view, size_t row);
/* The class that it is taken for most often, and how often (0: never). */
size_t try_model_most_confused(const struct try_model *view, size_t label, size_t *count);

const char *try_model_class_name(const struct try_model *view, size_t label);

/* Makes the cells of the answer's pictures for `room`, each; true when they are there. */
bool try_model_make_cells(struct try_model *view, struct rect room);

/* Returns the state of the screen. */
struct try_model *try_model(const struct app *app);

#endif
