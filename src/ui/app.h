/* app.h: the workbench's state, and what screens may ask of it. Internal to ui/.
 *
 * Screens decide with what is here, draw through app->canvas and change nothing of a run but by
 * commands. app.c owns the loop: wait, take keys, take news of the runs, draw one frame.
 */
#ifndef TINCA_UI_APP_H
#define TINCA_UI_APP_H

#include "ui/chooser.h"
#include "ui/compare_view.h"
#include "ui/curve.h"
#include "ui/dialog.h"
#include "ui/draw.h"
#include "ui/form.h"
#include "ui/keys.h"
#include "ui/places.h"
#include "ui/run_list.h"
#include "ui/sample_view.h"
#include "ui/ui.h"

struct app;

/* A screen: a table of keys, what its actions do, and how it looks. */
struct screen {
    const char *name;
    const struct key_table *keys;
    void (*title)(const struct app *app, char *text, size_t size); /* NULL: the name */
    bool (*take_key)(struct app *app, int key); /* before the table; NULL: nothing. True: taken */
    void (*act)(struct app *app, enum action action);
    void (*draw)(struct app *app, struct rect body);
    bool (*work)(struct app *app); /* a little slow work between frames; true: more is left. NULL */
};

extern const struct screen screen_form, screen_run, screen_runs, screen_compare, screen_help;
extern const struct key_table keys_everywhere, keys_editing;

enum run_view_kind { VIEW_CURVES, VIEW_FINDINGS, VIEW_MEMORY, VIEW_SAMPLE, VIEWS };

/* What the run screen shows and how. */
struct run_view {
    bool kept;    /* a run of an earlier session */
    size_t entry; /* of app->runs, or of app->kept */
    enum run_view_kind kind;
    size_t picture; /* of the curves, see run_plot.c */
    bool log_x, log_y;
    enum curve_x x;
    int scroll;
    struct curves curves;
    struct plot plot;
    struct sample_view sample;
    /* figures that jitter are renewed once a second, so that they can be read and cost little */
    struct run_snapshot calm;
    uint64_t calm_since; /* 0: not yet */
};

struct runs_view {
    size_t selected, top;
    bool searching;
    struct line_edit search;
};

enum closing { CLOSING_NO, CLOSING_QUIT, CLOSING_SIGNAL };

enum { APP_MAX_DEPTH = 16 }; /* more than there are screens */

struct app {
    const struct ui_options *options;
    struct theme theme;
    enum graph_symbols symbols;
    bool unicode;
    struct canvas canvas;

    const struct screen *stack[APP_MAX_DEPTH];
    size_t depth;

    struct form form;
    struct chooser chooser;
    uint64_t forecast_at;       /* when the forecast is to be made, if form.stale */
    struct run_list runs, kept; /* of this session, and of earlier ones */
    struct run_view run;
    struct runs_view table;
    struct compare_view compare;
    int help_scroll;
    struct dialog dialog;
    struct menu menu;

    char message[480];
    enum role message_role;
    uint64_t message_until;

    enum closing closing;
    bool gone; /* the terminal */
};

/* Runs the workbench in the terminal that is open. False: interrupted by a signal. */
bool app_run(struct app *app, struct error *error);

const struct screen *app_screen(const struct app *app);
void app_show(struct app *app, const struct screen *screen); /* goes back to it if it is below */
void app_back(struct app *app);                              /* at the bottom: quits, or asks */

/* A line of news, shown for some seconds. The format is translated here. */
void app_say(struct app *app, enum role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void app_say_error(struct app *app, const struct error *error);

/* The form has changed: its forecast will be made when typing rests. */
void app_form_changed(struct app *app);
/* Runs what the form says, or puts it in the queue. */
void app_run_form(struct app *app);
/* The run that the run screen shows, or NULL. */
struct run_entry *app_entry(const struct app *app);

/* All runs in the order of the list: this session's as they were started, then the kept ones, the
 * newest first. */
size_t app_run_count(const struct app *app);
struct run_entry *app_run_at(const struct app *app, size_t index);
void app_show_run(struct app *app, size_t index); /* of app_run_at */
void app_show_runs(struct app *app);

/* Ends the workbench once what is on has stopped in this way. */
void app_close(struct app *app, enum run_command command);

/* Whether the search of the list of runs leaves a run in. */
bool runs_match(const struct app *app, size_t index);

/* --- plot_keys.c --- */
bool plot_act(struct app *app, enum action action); /* false: it is none of its actions */

/* --- screen_compare.c --- */
void compare_open(struct app *app);

/* --- questions.c --- */
void ask_stop(struct app *app);
void ask_quit(struct app *app);
void ask_rate(struct app *app, double factor);
void ask_export(struct app *app);
void ask_compare_export(struct app *app);

#endif
