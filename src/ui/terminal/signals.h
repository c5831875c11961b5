/* signals.h: what each signal does to the program. signals.inc is the table.
 *
 *   STOP     finish the iteration, save, end with status 130; a second SIGINT ends at once
 *   SAVE     save a checkpoint now and go on
 *   HANG_UP  the terminal is gone: go on without it
 *   IGNORE   the system call that caused it returns an error, which is reported
 *   CRASH    restore the terminal, name the last checkpoint, and end by the signal
 *
 * Handlers only set flags and call the hooks of the terminal; the caller polls the flags. Signals
 * belong to the process, so the state lives in signals.c.
 */
#ifndef TINCA_UI_TERMINAL_SIGNALS_H
#define TINCA_UI_TERMINAL_SIGNALS_H

#include <stdbool.h>

enum { SIGNALS_STATUS = 130 }; /* the exit status of a program that a signal has stopped */

/* The handlers call these functions, which are async-signal-safe. NULL: none. */
struct signal_hooks {
    void (*restore)(void);      /* restores the terminal before the program ends */
    void (*wake)(bool leaving); /* wakes the thread that polls the flags; `leaving`: the program
                                   or its terminal is to end */
};

/* Lets SIGUSR1 only set its flag from now on, so that a scheduler's warning ends no command, and
 * signals that would end the program delete its half-written files before. Call it first in main.
 */
void signals_begin(void);

/* Installs the handlers of the table. Later calls change the hooks only. SIGHUP stays ignored if it
 * is, as under nohup. */
void signals_catch(struct signal_hooks hooks);

/* Lets a write to a pipe without a reader fail instead of ending the program by SIGPIPE. */
void signals_outlive_readers(void);

/* Restores the handlers that were there before signals_catch. */
void signals_release(void);

/* Ignores every signal of the table that does not stand for a crash: for a process that another one
 * stops in order. */
void signals_leave_to_others(void);

/* Lets the signals that stop end the program at once with SIGNALS_STATUS: for commands that work
 * for minutes without a point at which they could stop, and that have nothing to save. */
void signals_end_at_once(void);

/* Returns whether a signal has asked to stop. */
bool signals_stop_came(void);
/* Returns whether the terminal has hung up. */
bool signals_hang_up_came(void);
/* Returns whether a signal has asked for a checkpoint since the last call. */
bool signals_take_save(void);

#endif
