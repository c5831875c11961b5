/* app.h: the workbench's event loop, and the functions that it offers to screens. Internal to ui/.
 *
 * The loop waits for keys and signals, copies the snapshots that the runs have published, lets
 * every screen do a little work and draws one frame of the screen in front. Screens draw through
 * app->canvas, share data through app->shared, hold their state in private structs (app_state) and
 * change a run only by commands.
 */
#ifndef TINCA_UI_APP_APP_H
#define TINCA_UI_APP_APP_H

#include "ui/app/actions.h"
#include "ui/app/dialog.h"
#include "ui/app/screen.h"
#include "ui/shared/detach.h"
#include "ui/shared/shared.h"
#include "ui/shared/ui_options.h"
#include "ui/terminal/draw.h"
#include "ui/widgets/chooser.h"

struct other_runs;
struct run_loading;

enum closing { CLOSING_NO, CLOSING_QUIT, CLOSING_SIGNAL, CLOSING_RANKS };

/* The message above the key hints. */
struct message {
    char text[480]; /* "": none is shown */
    enum role role;
    uint64_t until; /* it ends then (clock_nanoseconds), unless `holds` is set */
    bool (*holds)(const struct app *app); /* it lasts as long as this returns true; NULL: no such */
    bool answers_key;                     /* it was said in answer to a key */
    uint64_t count;                       /* messages said so far */
};

/* --- menu ---
 *
 * The menu of screens, and the command palette: everything that can be done now, found by
 * its words. Both are made from the lists of actions and of screens, so that they list what the
 * keys do and nothing twice. */

struct menu {
    bool open;
    size_t selected, top; /* rows: the selected one and the first one in view */
};

/* Handles a key while the menu is open: Enter goes to the selected screen, Esc closes the menu, and
 * text opens the palette with it. */
void menu_key(struct app *app, int key);
/* Draws the menu over the screen in front. */
void menu_draw(struct app *app);

struct command {
    const struct action *action; /* NULL: `place` is a screen of the menu */
    enum screen_id place;        /* used if `action` is NULL */
    char keys[16];               /* how its key, or the menu's letter, is written */
};

struct commands {
    struct chooser chooser; /* chooser.open: the palette is open */
    struct command list[CHOOSER_MAX_ITEMS];
    size_t count;
    int letter;            /* all that was typed after `m`; what it means in the menu is done */
    uint64_t letter_until; /* then (clock_nanoseconds), unless another key comes; 0: no letter */
};

/* Returns in how many seconds a letter that was typed in the menu counts as the whole word;
 * INFINITY: none was. */
double commands_seconds(const struct app *app);
/* Returns the screen that this letter means in the menu, or SCREEN_COUNT. */
enum screen_id commands_place(const struct app *app);
/* Handles a key while the palette is open: Enter does the selected command or the one whose name
 * is typed, Esc closes it. Returns the action that the caller then does; NULL: none. */
const struct action *commands_key(struct app *app, int key);
/* Draws the palette over the screen in front. */
void commands_draw(struct app *app);

/* A list over the screen in front, to choose a value from. */
struct choosing {
    struct chooser chooser;                     /* chooser.open: the list is open */
    void (*chosen)(struct app *app);            /* takes chooser_choice, after Enter */
    bool (*take_key)(struct app *app, int key); /* handles a key first; NULL: none */
    const struct actions *keys;                 /* for the hints; NULL: those of every list */
};

struct app {
    const struct ui_options *options;
    struct theme theme;
    enum graph_symbols symbols;
    bool unicode; /* the locale and the terminal can show Unicode symbols */
    struct canvas canvas;

    const struct screen *const *screens; /* SCREEN_COUNT of them, by enum screen_id */
    void *states[SCREEN_COUNT];          /* private to each screen */
    enum screen_id stack[SCREEN_COUNT];  /* the last one is in front */
    size_t depth;                        /* screens in the stack */

    struct shared shared;
    struct other_runs *others;   /* polls runs of other processes, see other_runs.h */
    struct run_loading *loading; /* reads saved runs in the background, see run_loading.h */

    struct dialog dialog;
    struct menu menu;
    struct commands commands;
    struct choosing choosing; /* begun by app_choose */
    struct message message;

    enum closing closing; /* the program ends as soon as no run is active */
    struct detach detach; /* hands the runs over to background processes */
    bool gone;            /* the terminal was closed (SIGHUP) */
};

/* Allocates the state of every screen and of the background readers. Returns false with an error
 * when there is no memory. */
bool app_begin(struct app *app, const struct screen *const *screens, struct error *error);
/* Waits for an export that is being written, closes the screens and frees everything in `app`. */
void app_end(struct app *app);

/* Runs the workbench in the terminal that is open, until the user quits. Returns false with
 * ERROR_INTERRUPTED if a signal ended it. */
bool app_run(struct app *app, struct error *error);

/* --- screens --- */

/* Returns a screen's private state: state_size bytes, zeroed at the start. */
void *app_state(const struct app *app, enum screen_id id);
/* Returns the screen in front. */
const struct screen *app_screen(const struct app *app);
/* Returns whether screen `id` is in front. */
bool app_is_in_front(const struct app *app, enum screen_id id);
/* Brings a screen to the front. If it is already in the stack, the screens above it are removed. */
void app_show(struct app *app, enum screen_id id);
/* Does what the screen's letter in the menu does: calls the screen's `go`, or shows it. */
void app_go(struct app *app, enum screen_id id);
/* Removes a screen from the stack. If the stack is then empty, the run table comes to the front. */
void app_leave(struct app *app, enum screen_id id);
/* Goes back to the screen below. On the bottom screen it quits, after a question if a run is active
 * or waits. */
void app_back(struct app *app);
/* Handles a key as if it had been pressed. */
void app_press(struct app *app, int key);
/* Returns whether a dialog, the menu, the palette, a list or a line of text covers the screen in
 * front and takes its keys. */
bool app_is_covered(const struct app *app);
/* Returns whether a printable key would begin to edit a text of the screen in front. */
bool app_takes_text(const struct app *app);
/* Returns the chooser, which the caller begins (chooser_begin); `chosen` takes the value. */
struct chooser *app_choose(struct app *app, void (*chosen)(struct app *app));
/* Calls the `notice` function of every screen. `entry` is the run that the event concerns, or NULL.
 */
void app_notify(struct app *app, enum screen_event event, struct run_entry *entry);

/* Returns whether the screen has something to show or to do (screen->reachable). */
bool app_offers_screen(const struct app *app, enum screen_id id);
/* Returns whether there are files to export: of a run of this session, of the one that the screen
 * in front shows or of a marked one. */
bool app_offers_export(const struct app *app);
/* Returns whether a run of the lists has curves that can be compared. */
bool app_offers_comparison(const struct app *app);

/* Starts work(state) in a thread, and calls done(app, state) between two frames once it is over
 * (ui/shared/shared.c); shows an error if that is impossible. */
void app_start_disk_job(struct app *app, void (*work)(void *state),
                        void (*done)(struct app *app, void *state), void *state);

/* --- messages --- */

/* Shows a message, for six seconds at most (app_message_after_key), and, unless its role is
 * ROLE_FAINT, adds it to the log. The function translates the format itself. */
void app_say(struct app *app, enum role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Shows, in answer to a key, why it does nothing now: a translated sentence, which is not added to
 * the log. */
void app_refuse(struct app *app, const char *why);
/* Shows a message as long as `holds` returns true, or until another one replaces it. It is not
 * added to the log. */
void app_say_while(struct app *app, bool (*holds)(const struct app *app), enum role role,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns whether a message is shown. Removes one whose time or cause has ended. */
bool app_has_message(struct app *app);
/* Removes a message that the key just handled has made obsolete: `count` is the number of messages
 * before it, `front` the screen that was in front. What refused an earlier key goes with the next
 * one; other answers except results (ROLE_GOOD) go with their screen. */
void app_message_after_key(struct app *app, uint64_t count, enum screen_id front);
/* Shows an error as a message: what failed, why and what to do. */
void app_say_error(struct app *app, const struct error *error);
/* Shows the findings of a run as messages, from finding number `known` on. */
void app_report_findings(struct app *app, const struct run_entry *entry, size_t known);

/* Sets colours, symbols, mouse and shared runs as app->shared.preferences says. */
void app_apply_preferences(struct app *app);

/* --- runs --- */

/* Schedules a new forecast for the form, a short time after the last key. Call it after each change
 * of the form. */
void app_form_changed(struct app *app);
/* Starts a run with the form's configuration, or queues it behind the active run. */
void app_run_form(struct app *app);
/* Copies the newest snapshots of the session's runs, starts the next run of the queue or of the
 * sweep, and shows what has changed as messages. The event loop calls it. */
void app_poll_runs(struct app *app);
/* Starts the run that run_list_resume has appended to the list, unless another run is active. */
void app_start_resumed(struct app *app);

/* Returns the number of runs: those of this session plus the saved ones. */
size_t app_run_count(const struct app *app);
/* Returns run number `index`: first the runs of this session in the order of their start, then the
 * saved ones, the newest first. */
struct run_entry *app_run_at(const struct app *app, size_t index);
/* Returns the run that the run screen shows, whether or not that screen is in front, or NULL. */
struct run_entry *app_entry(const struct app *app);
/* Returns the run that the run screen shows if that screen is in front, or NULL. */
struct run_entry *app_run_in_front(const struct app *app);
/* Shows run number `index` of app_run_at on the run screen. A saved run is read first, in the
 * background. */
void app_show_run(struct app *app, size_t index);

/* Takes a run that is not active out of its list, after EVENT_RUN_REMOVED; its files stay. */
void app_drop_entry(struct app *app, struct run_entry *entry);

/* Sends `command` (a way to stop) to the active run and ends the workbench once it has stopped. */
void app_close(struct app *app, enum run_command command);

/* Draws one frame: the title, the screen in front, the message, the key hints, and above them the
 * menu or the dialog that is open. */
void frame_draw(struct app *app);

#endif
