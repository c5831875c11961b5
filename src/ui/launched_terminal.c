/* The guard reads a pipe whose other end only rank 0 has: first the bytes that restore the screen,
 * and at last END_BYTE if rank 0 has restored everything itself. If the pipe ends without it, rank
 * 0 has died. */
#include "ui/launched_terminal.h"

#include "base/language.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { END_BYTE = 0, RESTORE_MOST = 512, FIRST_SAVED = 10, DESCRIPTORS_MOST = 4096 };
static const char advice[] =
    N_("start the launcher in a terminal of this host and not in the background; srun --pty; or "
       "start tinca train in the launcher, and watch it with tinca attach");

/* Sets the process group that has the terminal's foreground, also from the background. */
static bool set_foreground(int tty, pid_t group)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGTTOU, &ignore, &before);
    const bool set = tcsetpgrp(tty, group) == 0;
    sigaction(SIGTTOU, &before, NULL);
    return set;
}

/* --- the guard --- */

struct guard {
    int tty, pipe;
    pid_t group, rank; /* the process groups that had the foreground, and that of rank 0 */
    struct termios settings;
    char restore[RESTORE_MOST];
    size_t length;
};

/* Restores screen, line settings and foreground. A terminal that takes no output ends it. */
static void restore(const struct guard *guard)
{
    signal(SIGALRM, SIG_DFL);
    alarm(5);
    tcsetattr(guard->tty, TCSANOW, &guard->settings);
    if (guard->length > 0 && write(guard->tty, guard->restore, guard->length) < 0)
        return; /* the terminal is gone */
    if (tcgetpgrp(guard->tty) == guard->rank)
        set_foreground(guard->tty, guard->group);
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
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
    char bytes[RESTORE_MOST];
    ssize_t got;
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
    struct guard guard = {.tty = terminal->tty, .group = terminal->group, .rank = getpgrp()};
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
    terminal->group = tcgetpgrp(terminal->tty);
    return has_foreground(terminal->group)
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

bool launched_terminal_enter(struct launched_terminal *terminal, struct error *error)
{
    signal(SIGTSTP, SIG_IGN);
    terminal->ignores_stop = true;
    if (terminal->tty < 0)
        return true;
    const pid_t mine = getpgrp();
    if (mine != terminal->group) {
        if (!set_foreground(terminal->tty, mine))
            return error_set_errno(error, "/dev/tty", gettext(advice),
                                   "the foreground of the terminal cannot be taken");
        kill(getppid(), SIGCONT); /* mpirun looks whether it may still read from the terminal */
    }
    for (int i = 0; i < 2; i++) {
        terminal->saved[i] = fcntl(i, F_DUPFD_CLOEXEC, FIRST_SAVED);
        dup2(terminal->tty, i);
    }
    return true;
}

void launched_terminal_guard(const struct launched_terminal *terminal, const char *restore,
                             size_t length)
{
    if (terminal->pipe >= 0 && length > 0 && length <= RESTORE_MOST &&
        write(terminal->pipe, restore, length) < 0)
        return; /* the guard has been killed */
}

/* Ends the guard, which has nothing to do any more. */
static void end_guard(struct launched_terminal *terminal)
{
    const char end = END_BYTE;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    if (write(terminal->pipe, &end, 1) < 0)
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
    for (int i = 0; i < 2; i++)
        if (terminal->saved[i] >= 0) {
            dup2(terminal->saved[i], i);
            close(terminal->saved[i]);
        }
    if (terminal->tty >= 0) {
        if (tcgetpgrp(terminal->tty) == getpgrp() && terminal->group != getpgrp())
            set_foreground(terminal->tty, terminal->group);
        close(terminal->tty);
    }
    if (terminal->pipe >= 0)
        end_guard(terminal);
    if (terminal->ignores_stop)
        signal(SIGTSTP, SIG_DFL);
    *terminal = (struct launched_terminal)LAUNCHED_TERMINAL_NONE;
}
