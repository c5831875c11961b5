/* terminal.h: the terminal as a device: opened, read, waited for, given back.
 *
 * There is one terminal in a process, so its state lives in terminal.c; signal handlers need it
 * there too. Whatever ends the program, a crash included, the terminal is restored.
 */
#ifndef TINCA_UI_TERMINAL_TERMINAL_H
#define TINCA_UI_TERMINAL_TERMINAL_H

#include "base/error.h"

#include <stdbool.h>

/* Enters the workbench's screen. False: there is no terminal, or it cannot place its cursor. */
bool terminal_open(struct error *error);
/* Asks the terminal to report clicks and the wheel, where it can, or to keep them. */
void terminal_enable_mouse(bool taken);
/* Where the last UI_CLICK was. */
void terminal_click_position(int *row, int *column);
/* Whether standard input and output are a terminal that can show lines but not the workbench. */
bool terminal_prints_lines_only(void);

/* Restores the terminal. With `gone` nothing is written: there is nobody to read it. */
void terminal_close(bool gone);

/* What a crash sends before all else, from now until terminal_close: for those who write sequences
 * past ncurses that a crash could cut off. Borrowed. */
void terminal_set_crash_prefix(const char *bytes);

enum {
    WAKE_INPUT = 1,  /* a key can be read */
    WAKE_RESIZE = 2, /* the size has changed, and ncurses knows it */
    WAKE_STOP = 4,   /* SIGINT or SIGTERM asked to stop; stays set */
    WAKE_HANGUP = 8, /* the terminal has hung up; stays set */
};

/* Waits at most `seconds` (negative: without limit). Returns the reasons above, 0 after time. */
unsigned terminal_wait(double seconds);

/* The next key (see keys.h), or UI_NONE when none waits. */
int terminal_read_key(void);

/* False while the terminal takes no output (stopped with C-s, or a slow link): drawing would
 * block. */
bool terminal_is_writable(void);

void terminal_size(int *rows, int *columns);

/* A frame begins with an empty picture and ends by sending what has changed since the last one.
 * `cursor_row` -1 hides the cursor. */
void terminal_begin_frame(void);
void terminal_end_frame(int cursor_row, int cursor_column);
/* Everything is sent again with the next frame. */
void terminal_redraw(void);

#endif
