/* app.h: the workbench's event loop, and what screens may ask of it. Internal to ui/.
 *
 * The loop waits for keys and signals, takes what the runs have published, lets every screen do a
 * little work and draws one frame of the screen in front. Screens draw through app->canvas, share
 * data through app->shared, keep their own state private (app_state) and change a run only by
 * commands.
 */
#ifndef TINCA_UI_APP_APP_H
#define TINCA_UI_APP_APP_H

#include "ui/app/dialog.h"
#include "ui/app/menu.h"
#include "ui/app/screen.h"
#include "ui/shared/shared.h"
#include "ui/shared/ui_options.h"
#include "ui/terminal/draw.h"

struct other_runs;
struct run_loading;

enum closing { CLOSING_NO, CLOSING_QUIT, CLOSING_SIGNAL };

struct app {
    const struct ui_options *options;
    struct theme theme;
    enum graph_symbols symbols;
    bool unicode;
    struct canvas canvas;

    const struct screen *const *screens; /* SCREEN_COUNT of them, by enum screen_id */
    void *states[SCREEN_COUNT];          /* private to each screen */
    enum screen_id stack[SCREEN_COUNT];  /* the last one is in front */
    size_t depth;

    struct shared shared;
    struct other_runs *others;   /* runs of other processes, see other_runs.h */
    struct run_loading *loading; /* runs that are read in the background, see run_loading.h */

    struct dialog dialog;
    struct menu menu;
    char message[480];
    enum role message_role;
    uint64_t message_until; /* clock_nanoseconds; UINT64_MAX: until another one replaces it */

    enum closing closing;
    bool gone; /* the terminal is */
};

/* Allocates the state of every screen and of the background readers. Errors: no memory. */
bool app_begin(struct app *app, const struct screen *const *screens, struct error *error);
/* Waits for what is being written, closes the screens and frees everything. */
void app_end(struct app *app);

/* Runs the workbench in the terminal that is open. False: interrupted by a signal. */
bool app_run(struct app *app, struct error *error);

/* --- screens --- */

/* The keys that mean the same on every screen, and those of a line that is being typed. */
extern const struct key_table keys_everywhere, keys_editing;

/* Returns a screen's private state: state_size bytes, zeroed at the start. */
void *app_state(const struct app *app, enum screen_id id);
/* Returns the screen in front. */
const struct screen *app_screen(const struct app *app);
bool app_is_in_front(const struct app *app, enum screen_id id);
/* Puts a screen in front; goes back to it if it is below. */
void app_show(struct app *app, enum screen_id id);
/* Does what the screen's letter in the menu does. */
void app_go(struct app *app, enum screen_id id);
/* Takes a screen out of the stack; without any left the run table comes to the front. */
void app_leave(struct app *app, enum screen_id id);
/* Goes back to the screen below; at the bottom it quits, or asks while a run is on. */
void app_back(struct app *app);
/* Returns whether letters are typed into a field of the screen in front. */
bool app_is_typing(const struct app *app);
/* Tells every screen of a change. */
void app_notify(struct app *app, enum screen_event event, struct run_entry *entry);

/* --- messages --- */

/* Shows a message for some seconds and, unless it is a faint one, adds it to the log. The format is
 * translated here. */
void app_say(struct app *app, enum role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void app_say_error(struct app *app, const struct error *error);
/* Shows the findings of a run from number `known` on as messages. */
void app_report_findings(struct app *app, const struct run_entry *entry, size_t known);

/* Brings colours and symbols in line with the preferences in force. */
void app_apply_preferences(struct app *app);

/* --- runs --- */

/* Has the forecast made once the keyboard has rested: the form has changed. */
void app_form_changed(struct app *app);
/* Starts the form's configuration, or puts it in the queue. */
void app_run_form(struct app *app);
/* Starts the last run of the list, which run_list_resume has put there, if none is on. */
void app_start_resumed(struct app *app);

/* Returns the number of runs: those of this session and the saved ones. */
size_t app_run_count(const struct app *app);
/* Returns run number `index`: first those of this session as they were started, then the saved
 * ones, the newest first. */
struct run_entry *app_run_at(const struct app *app, size_t index);
/* Returns the run that the run screen shows, in front or not, or NULL. */
struct run_entry *app_entry(const struct app *app);
/* Returns the run that the run screen shows if that screen is in front, or NULL. */
struct run_entry *app_run_in_front(const struct app *app);
/* Shows run number `index` of app_run_at; a saved one is read first. */
void app_show_run(struct app *app, size_t index);

/* Ends the workbench once the run that is on has obeyed `command`. */
void app_close(struct app *app, enum run_command command);

/* Draws one frame: title, screen, message, hints and what lies over them. */
void frame_draw(struct app *app);

#endif
