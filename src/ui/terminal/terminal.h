/* terminal.h: opens the terminal, waits for it, reads keys from it and restores it.
 *
 * A process has one terminal, and signal handlers need its state, so the state lives in terminal.c.
 * The terminal is restored however the program ends, a crash included.
 */
#ifndef TINCA_UI_TERMINAL_TERMINAL_H
#define TINCA_UI_TERMINAL_TERMINAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Switches the terminal to the workbench's screen and installs the signal handlers. Fails if
 * standard input or output is not a terminal, or if it cannot place its cursor. */
bool terminal_open(struct error *error);

/* Says, before terminal_open, that standard input is no terminal: a launcher such as mpirun reads
 * the keys from the terminal, of which this process is in the background, and passes them on. C-c
 * then counts as SIGINT, C-\ as SIGQUIT, and C-z does nothing. */
void terminal_take_passed_keys(void);

/* Asks the terminal to report clicks, drags and the wheel if it can (`taken`), or to stop. */
void terminal_enable_mouse(bool taken);

/* Sets the position of the last event of the mouse: UI_CLICK, UI_DRAG, UI_WHEEL_*. */
void terminal_click_position(int *row, int *column);

/* Returns the text of the last UI_PASTE: one line without control characters. It is valid until the
 * next key is read. */
const char *terminal_paste_text(void);

/* The outcome of a paste. */
enum paste_outcome { PASTE_IGNORED, PASTE_INSERTED, PASTE_TOO_LONG };

/* Records what became of the last UI_PASTE, which counts as ignored until then. */
void terminal_set_paste_outcome(enum paste_outcome outcome);
enum paste_outcome terminal_paste_outcome(void);

/* Returns whether standard input and output are a terminal that can show lines of text but not the
 * workbench. */
bool terminal_prints_lines_only(void);

/* Restores the terminal and the signal handlers; one that has hung up (`gone`) only if it lives.
 * Returns whether the terminal is restored. */
bool terminal_close(bool gone);

/* Gives the terminal up after a hangup: restores it if it lives and belongs to this process, and
 * prints `words` there. From then on output goes to /dev/null; signals are still handled until
 * terminal_close. */
void terminal_leave(const char *words);

/* Sets *bytes to those that restore the screen of the open terminal, which they do without the
 * line settings, and returns their number. */
size_t terminal_restore_bytes(const char **bytes);

/* Sets the bytes that a crash handler sends before it restores the terminal. They end a control
 * sequence that was being sent past ncurses. Borrowed until terminal_close; NULL: none. */
void terminal_set_crash_prefix(const char *bytes);

/* The reasons why terminal_wait has returned, as a set of bits. */
enum {
    WAKE_INPUT = 1,  /* a key can be read */
    WAKE_RESIZE = 2, /* the size has changed, and ncurses has the new one */
    WAKE_STOP = 4,   /* a signal asked to stop (signals.h); stays set */
    WAKE_HANGUP = 8, /* the terminal has hung up; stays set */
    WAKE_SAVE = 16,  /* a signal asked for a checkpoint */
};

/* Waits at most `seconds` (negative: without limit). Returns the reasons for waking, 0 if the time
 * is over. */
unsigned terminal_wait(double seconds);

/* Returns whether a signal has asked to stop, or has told that the terminal has hung up. Takes
 * nothing away from terminal_wait. */
bool terminal_must_stop(void);

/* Returns the next key (keys.h), or UI_NONE if none is waiting. */
int terminal_read_key(void);

/* Returns whether the terminal accepts output now. While it does not (stopped with C-s, or a slow
 * link), drawing would block. */
bool terminal_is_writable(void);

/* Sets the terminal's size. */
void terminal_size(int *rows, int *columns);

/* Starts a frame with an empty screen. */
void terminal_begin_frame(void);

/* Sends what differs from the last frame and places the cursor; `cursor_row` -1 hides it. */
void terminal_end_frame(int cursor_row, int cursor_column);

/* Makes the next frame send the whole screen. */
void terminal_redraw(void);

/* Returns the version of the library that draws: "6.4.20221231". Needs no terminal. */
const char *terminal_library_version(void);

#endif
