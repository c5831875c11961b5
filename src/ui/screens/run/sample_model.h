/* sample_model.h: the newest sample picture that a run has saved, shown in character cells. A
 * background thread checks once a second whether there is a newer file, and decodes it. */
#ifndef TINCA_UI_SCREENS_RUN_SAMPLE_MODEL_H
#define TINCA_UI_SCREENS_RUN_SAMPLE_MODEL_H

#include "data/images/image.h"
#include "session/files/sample_files.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/halfblock.h"

struct detached_task;
struct sample_check;

struct sample_model {
    size_t example;                   /* first example shown */
    char directory[512];              /* folder of the run whose samples are shown */
    struct detached_task *background; /* thread that checks the directory; NULL: none */
    struct sample_check *check;       /* that thread's data */
    uint64_t checked_at;              /* time of the last check (clock_nanoseconds); 0: never */
    bool found;                       /* `file` is a sample of the run */
    struct sample_file file;
    struct image image; /* its pixels */
    struct error error; /* why the file cannot be shown; kind ERROR_NONE: it can */
    /* the cells of `count` examples from number `from` on, each picture in `room` */
    struct halfblocks thirds[3]; /* input, generated, target */
    struct rect room;
    size_t from, count;
};

/* Starts a check for a newer picture when it is time, and draws the newest one that was found.
 * `examples` is what sample_examples returns for the run. */
void sample_model_draw(struct sample_model *model, struct canvas *canvas, struct rect area,
                       const char *run_directory, size_t examples);

/* Returns whether a check is running, so that the view must be drawn again soon. */
bool sample_model_busy(const struct sample_model *model);

/* Moves to the next (+1) or previous (-1) example; stops at the ends. */
void sample_model_move(struct sample_model *model, int step);

/* Frees the model's memory. A running check ends on its own. */
void sample_model_free(struct sample_model *model);

/* Returns how many of `examples` pictures of height x width pixels are shown above each other in
 * rows x columns cells: as many as leave each picture three quarters of the size that it would have
 * alone, at least one. */
size_t sample_model_fit(size_t examples, size_t height, size_t width, int rows, int columns);

#endif
