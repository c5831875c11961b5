/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_SETUP_INTERNAL_H
#define TINCA_UI_SCREENS_SETUP_INTERNAL_H

#include "runs/history/past_run.h"
#include "runs/history/queue_background.h"
#include "training/inspect/preview.h"
#include "ui/app/app.h"
#include "ui/plot/plot.h"
#include "ui/shared/form.h"
#include "ui/terminal/draw.h"

/* --- form_panel.c --- */

/* The panel beside the form, which describes the configured run before it starts: parameters,
 * memory, time, learning rate, pictures of the data. If not all parts fit, the most important ones
 * are shown. */

/* Draws the panel. `pictures`: it includes the pictures of the data, which do not have their own
 * area. */
void form_panel_draw(struct app *app, struct rect area, bool pictures);

/* Draws the panel's most important values in one line, or a problem that no row of the form
 * explains in as many lines as it takes. Returns the row after. */
int form_panel_draw_summary(struct app *app, struct rect area);

/* --- picture grid ---
 *
 * a grid of pictures of a data set, each labelled with its class. A background job
 * (training/inspect/preview.h) reads the pictures; the size of the area decides how many it is
 * asked for. */

/* The number of pictures that fit into an area, and the size of each in cells. */
struct grid_fit {
    size_t across, down; /* 0: not even one fits */
    int rows, columns;   /* size of one picture, without the label below it */
};

/* Returns how pictures of height x width pixels fill an area: as many as can be shown in full, but
 * large ones reduced until at least two stand side by side, if they stay recognisable. Public for
 * its test. */
struct grid_fit grid_fit(size_t height, size_t width, int rows, int columns);

struct grid_tile {
    struct preview_picture picture;
    struct halfblocks blocks; /* the picture, scaled to the size below */
    int rows, columns;
};

struct picture_grid {
    struct grid_tile tiles[PREVIEW_MAX_PICTURES];
    struct preview_request requested; /* the last request */
    size_t count;                     /* tiles in use */
    size_t shown;                     /* pictures that fitted the area of the last frame */
};

/* --- setup_model.c --- */

/* Facts about the form's configuration that are read in the background: pictures of its data set,
 * and how long an equal run took before. They are requested when the user pauses typing. */

struct app;

struct setup_model {
    struct preview *preview; /* reads pictures of the data set; NULL: not opened yet */
    enum preview_status status;
    struct dataset_facts facts;     /* valid once the data set is open */
    struct dataset_balance balance; /* of its classes; zeros until then */
    struct error error;             /* why there are no pictures; kind ERROR_NONE: none */
    struct picture_grid grid;
    size_t from;     /* first picture shown */
    uint64_t epoch;  /* its augmentation is shown */
    bool as_trained; /* shows pictures augmented and normalised */

    struct past_search *search; /* searches an equal run; NULL: none in progress */
    struct run_config searched; /* configuration of the last search; empty network: none yet */
    bool past_known;            /* the search has ended; `past` is its result */
    struct past_run past;

    int focus_row;               /* the focused field, counted from the first visible row */
    struct live_search *looking; /* what other processes compute is being read; NULL: not now */
    char others[160];            /* what they compute on this machine; "": nothing */
    uint64_t look_again;         /* clock_nanoseconds: when `others` is read again */

    struct plot plot;         /* learning rate over the run */
    struct run_config before; /* the form before setup_toggle_defaults */
    bool replaced;            /* the form holds the defaults; `before` is valid */
    bool facts_shown;         /* the screen Pictures shows the forecast instead of pictures */
};

/* Returns the state of the screen Set up, which the screen Pictures shares. */
static inline struct setup_model *setup_model(const struct app *app)
{
    return app_state(app, SCREEN_SETUP);
}

/* Frees the model's memory and ends its background work. */
void setup_free(struct setup_model *model);

/* Reads what other processes compute on this machine, every two seconds, in the background. */
void setup_look_at_others(struct setup_model *model);
/* Returns in how many seconds that is due again. */
double setup_seconds_to_look(const struct setup_model *model);

/* Requests what the form's configuration needs and takes over what is ready. Does not block. */
void setup_step(struct setup_model *model, struct form *form);
/* Returns whether a result is pending, so that setup_step must be called again soon. */
bool setup_is_waiting(const struct setup_model *model);
/* Repeats the search for an equal run in the next setup_step. Call it when a run has ended. */
void setup_invalidate_past_time(struct setup_model *model);

/* Shows the next (+1) or previous (-1) pictures; wraps around at the ends. */
void setup_turn_pictures(struct setup_model *model, int direction);
/* Shows the pictures as augmented in the next (+1) or previous (-1) epoch. */
void setup_turn_epoch(struct setup_model *model, int direction);

/* Draws the pictures, or why there are none. */
void setup_draw_pictures(struct setup_model *model, const struct form *form, struct canvas *canvas,
                         struct rect area);

/* Returns why the form's training data cannot be opened, or NULL. */
const struct error *setup_data_error(const struct setup_model *model, const struct form *form);

/* Returns the number of images in the training set; 0: not known, or not yet. */
size_t setup_images(const struct setup_model *model, const struct form *form);

/* Returns the expected time of training in seconds; negative: not known. */
double setup_seconds(const struct setup_model *model, const struct form *form);

/* Replaces the form's values by the defaults or, on the second call, restores them. Returns whether
 * the form holds the defaults now. */
bool setup_toggle_defaults(struct setup_model *model, struct form *form);

#endif
