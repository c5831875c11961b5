/* app.h: the workbench's state, and what screens may ask of it. Internal to ui/.
 *
 * Screens decide with what is here, draw through app->canvas and change nothing of a run but by
 * commands. app.c owns the loop: wait, take keys, take news of the runs, draw one frame.
 */
#ifndef TINCA_UI_APP_APP_H
#define TINCA_UI_APP_APP_H

#include "ui/app/dialog.h"
#include "ui/app/menu.h"
#include "ui/app/other_runs.h"
#include "ui/app/run_loading.h"
#include "ui/model/form.h"
#include "ui/model/log_model.h"
#include "ui/model/preferences.h"
#include "ui/model/run_list.h"
#include "ui/model/sweep_model.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot_window.h"
#include "ui/plot/trace_choice.h"
#include "ui/screens/advisor/advisor_model.h"
#include "ui/screens/compare/compare_model.h"
#include "ui/screens/devices/devices_model.h"
#include "ui/screens/run/arena_model.h"
#include "ui/screens/run/insight.h"
#include "ui/screens/run/loss_model.h"
#include "ui/screens/run/sample_model.h"
#include "ui/screens/run/views.h"
#include "ui/screens/runs/runs_model.h"
#include "ui/screens/setup/setup_model.h"
#include "ui/screens/study/study_model.h"
#include "ui/screens/try/try_model.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"
#include "ui/ui.h"
#include "ui/widgets/chooser.h"

#include "session/export/export_job.h"

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

extern const struct screen screen_compare;
extern const struct screen screen_devices;
extern const struct screen screen_form;
extern const struct screen screen_help;
extern const struct screen screen_log;
extern const struct screen screen_pictures;
extern const struct screen screen_run;
extern const struct screen screen_runs;
extern const struct screen screen_settings;
extern const struct screen screen_sweep;
extern const struct screen screen_advisor;
extern const struct screen screen_study;
extern const struct screen screen_try;
extern const struct key_table keys_everywhere, keys_editing;

/* What the run screen shows and how. */
struct run_view {
    bool kept;                  /* a run of an earlier session */
    size_t entry;               /* of app->runs, or of app->kept */
    size_t view;                /* see views.h */
    struct trace_choice choice; /* of curves */
    bool log_x, log_y;
    enum curve_x x;
    int scroll;
    struct plot_window window;
    struct curves curves;
    struct plot plot;
    struct sample_view sample;
    struct insight insight;
    struct insight_table_view layers, gemm, weights;
    struct arena_view arena;
    struct loss_view loss;
    /* figures that jitter are renewed once a second, so that they can be read and cost little */
    struct run_snapshot calm;
    uint64_t calm_since; /* 0: not yet */
};

struct settings_view {
    size_t selected, top;
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

    struct preferences preferences; /* in force */
    struct preferences saved;       /* what the configuration file holds */
    struct settings_view settings;

    struct form form;
    struct setup_view setup;
    struct chooser chooser;
    uint64_t forecast_at;       /* when the forecast is to be made, if form.forecast_stale */
    struct run_list runs, kept; /* of this session, and of earlier ones */
    struct run_view run;
    struct others_view others;
    struct reading_view reading;
    struct runs_view table;
    struct compare_view compare;
    struct sweep_view sweep;
    struct try_view tryit;
    struct advisor_view advisor;
    struct study_view study;
    int help_scroll;
    struct log_book log;
    struct log_view log_view;
    struct devices_view devices;
    struct dialog dialog;
    enum export_format export_format; /* that the name in the dialog ends for */
    unsigned export_parts[3];         /* what its choices stand for, see export_dialog.c */
    struct export_job export;
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

/* A line of news, shown for some seconds, and kept in the log unless it is a faint one. The format
 * is translated here. */
void app_say(struct app *app, enum role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void app_say_error(struct app *app, const struct error *error);
/* The findings of a run from number `known` on, as news. */
void app_tell_findings(struct app *app, const struct run_entry *entry, size_t known);

/* Brings colours and symbols in line with the preferences in force. */
void app_apply_preferences(struct app *app);

/* The form has changed: its forecast will be made when typing rests. */
void app_form_changed(struct app *app);
/* Runs what the form says, or puts it in the queue. */
void app_run_form(struct app *app);
/* Starts the last run of the list, which was put there to be resumed, when none is on. */
void app_start_resumed(struct app *app);
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

/* --- frame.c --- */
void frame_draw(struct app *app);

/* --- plot_keys.c --- */
/* What the keys do that all plots share; false: it is none of its actions. */
bool plot_act(struct app *app, enum action action);
/* Moves the cursor of a plot; false: it is none of the keys for that. */
bool plot_move_cursor(struct plot_window *window, enum action action);
/* The cursor's line over the plot that was drawn in `area`, where no curve is. */
void plot_draw_cursor(struct app *app, const struct plot_window *window, struct rect area);
/* Esc puts the cursor away; false: there is none. */
bool plot_leave_cursor(struct plot_window *window, int key);

/* --- screen_devices.c --- */
void devices_open(struct app *app);

/* --- screen_compare.c --- */
void compare_open(struct app *app);

/* --- screen_sweep.c, sweep_questions.c --- */
void sweep_show(struct app *app);
void ask_sweep_stop(struct app *app);
void ask_sweep_export(struct app *app);

/* --- screen_try.c --- */
void try_open(struct app *app);

/* --- screen_advisor.c --- */
void advisor_open(struct app *app);
void advisor_step(struct app *app); /* news of a measurement */

/* --- screen_study.c --- */
void study_open(struct app *app);
void study_step(struct app *app); /* news of the pictures */

/* --- questions.c --- */
void ask_stop(struct app *app);
void ask_quit(struct app *app);
void ask_rate(struct app *app, double factor);
void ask_compare_export(struct app *app);

/* --- export_dialog.c --- */
void ask_export(struct app *app);
/* A name in the folder where exports go. */
void export_in_folder(const struct app *app, const char *name, char *path, size_t size);
bool export_is_on(const struct app *app);
void export_tell(struct app *app); /* says how an export ended, if one has */

#endif
