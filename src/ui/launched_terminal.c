/* The guard reads a pipe whose other end only rank 0 has: first the bytes that restore the screen,
 * and at last END_BYTE if rank 0 has restored everything itself. If the pipe ends without it, rank
 * 0 has died. */
#include "ui/launched_terminal.h"

#include "base/language.h"
#include "ui/terminal/signals.h"
#include "ui/terminal/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { END_BYTE = 0, RESTORE_MOST = 512, DESCRIPTORS_MOST = 4096, INPUT_MILLISECONDS = 200 };
static const char advice[] =
    N_("start the launcher in a terminal of this host and not in the background; srun --pty; or "
       "start tinca train in the launcher, and watch it with tinca attach");

/* --- the guard --- */

struct guard {
    int tty, pipe;
    struct termios settings;
    char restore[RESTORE_MOST];
    size_t length;
};

/* Restores screen and line settings. A terminal that takes no output ends it. */
static void restore(const struct guard *guard)
{
    signal(SIGALRM, SIG_DFL);
    alarm(5);
    tcsetattr(guard->tty, TCSANOW, &guard->settings);
    if (guard->length > 0 && write(guard->tty, guard->restore, guard->length) < 0)
        return; /* the terminal is gone */
}

/* Closes what it has inherited, so that nobody waits for its end of a pipe. */
static void close_others(const struct guard *guard)
{
    const int null_device = open("/dev/null", O_RDWR);
    for (int i = 0; null_device >= 0 && i <= STDERR_FILENO; i++)
        dup2(null_device, i);
    for (int i = STDERR_FILENO + 1; i < DESCRIPTORS_MOST; i++)
        if (i != guard->tty && i != guard->pipe)
            close(i);
}

/* Waits for the end of rank 0. Never returns. */
static void run_guard(struct guard *guard)
{
    static const int ignored[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    char bytes[RESTORE_MOST];
    ssize_t got;
    signals_leave_to_others();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    setpgid(0, 0); /* the launcher kills the group of rank 0 */
    close_others(guard);
    while ((got = read(guard->pipe, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        if (bytes[got - 1] == END_BYTE)
            _exit(0);
        guard->length = (size_t)got;
        memcpy(guard->restore, bytes, guard->length);
    }
    restore(guard);
    _exit(0);
}

static bool start_guard(struct launched_terminal *terminal, struct error *error)
{
    struct guard guard = {.tty = terminal->tty};
    int ends[2];
    if (tcgetattr(guard.tty, &guard.settings) != 0 || pipe(ends) != 0)
        return error_set_errno(error, "/dev/tty", NULL, "the terminal could not be prepared");
    guard.pipe = ends[0];
    terminal->guard = fork();
    if (terminal->guard == 0) {
        close(ends[1]);
        run_guard(&guard);
    }
    close(ends[0]);
    terminal->pipe = ends[1];
    fcntl(terminal->pipe, F_SETFD, FD_CLOEXEC);
    return terminal->guard > 0 ||
           error_set_errno(error, "/dev/tty", NULL, "the process that guards it could not start");
}

/* --- opening --- */

static bool refuse(const char *launcher, const char *why, struct error *error)
{
    return error_set(error, ERROR_USAGE, launcher, advice, "%s", gettext(why));
}

/* Returns whether the launcher is in the terminal's foreground: its group or, if it gives its
 * processes no group of their own, this one. */
static bool has_foreground(pid_t foreground)
{
    return foreground == getpgrp() || foreground == getpgid(getppid());
}

static bool find_terminal(struct launched_terminal *terminal, const char *launcher,
                          struct error *error)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return true; /* as after srun --pty */
    terminal->tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal->tty < 0)
        return refuse(launcher,
                      N_("the workbench needs a terminal, but standard input and output of rank 0 "
                         "are none, and its host is not the one of the launcher's terminal"),
                      error);
    return has_foreground(tcgetpgrp(terminal->tty))
               ? start_guard(terminal, error)
               : refuse(launcher,
                        N_("the workbench needs the terminal, but the launcher runs in the "
                           "background"),
                        error);
}

bool launched_terminal_open(struct launched_terminal *terminal, const char *launcher,
                            struct error *error)
{
    terminal->open = find_terminal(terminal, launcher, error);
    if (!terminal->open && terminal->tty >= 0)
        close(terminal->tty);
    return terminal->open;
}

/* --- using --- */

/* Returns whether the launcher still passes its standard input on. It closes the pipe at the end of
 * a file, or at once if there is nothing to pass. */
static bool passes_keys(void)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    int waiting = 0;
    if (poll(&input, 1, INPUT_MILLISECONDS) == 0)
        return true;
    return ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
}

bool launched_terminal_enter(struct launched_terminal *terminal, struct error *error)
{
    signal(SIGTSTP, SIG_IGN);
    terminal->ignores_stop = true;
    if (terminal->tty < 0)
        return true;
    if (!passes_keys())
        return refuse(N_("the workbench"),
                      N_("it needs keys, but the launcher's standard input is no terminal"), error);
    terminal->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    dup2(terminal->tty, STDOUT_FILENO);
    terminal_take_passed_keys();
    return true;
}

void launched_terminal_guard(const struct launched_terminal *terminal, const char *restore,
                             size_t length)
{
    if (terminal->pipe >= 0 && length > 0 && length <= RESTORE_MOST &&
        write(terminal->pipe, restore, length) < 0)
        return; /* the guard has been killed */
}

/* Ends the guard. If the screen was restored, it has nothing to do any more. */
static void end_guard(struct launched_terminal *terminal)
{
    const char end = END_BYTE;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    if (!terminal->lost && write(terminal->pipe, &end, 1) < 0)
        kill(terminal->guard, SIGKILL);
    sigaction(SIGPIPE, &before, NULL);
    close(terminal->pipe);
    while (waitpid(terminal->guard, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void launched_terminal_close(struct launched_terminal *terminal)
{
    if (!terminal->open)
        return;
    if (terminal->saved >= 0) {
        dup2(terminal->saved, STDOUT_FILENO);
        close(terminal->saved);
    }
    if (terminal->tty >= 0)
        close(terminal->tty);
    if (terminal->pipe >= 0)
        end_guard(terminal);
    if (terminal->ignores_stop)
        signal(SIGTSTP, SIG_DFL);
    *terminal = (struct launched_terminal)LAUNCHED_TERMINAL_NONE;
}
