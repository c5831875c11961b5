/* Signals are caught by handlers that only note them and write a byte into a pipe, so that one
 * poll() waits for keys, signals and time alike. A crash writes a string prepared beforehand and
 * puts the line settings back, with calls that are safe in a handler, then lets the old handler
 * have the signal.
 *
 * ncurses would retry an interrupted write for ever, so frames are only sent when the terminal
 * takes output: a stopped terminal never keeps signals from being seen. */
#include "ui/terminal/terminal.h"

#include "base/language.h"
#include "ui/terminal/keys.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

enum { PLAIN_SIGNALS = 4, CRASH_SIGNALS = 5 };
static const int plain_signals[PLAIN_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};
static const int crash_signals[CRASH_SIGNALS] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

static struct {
    SCREEN *screen;
    struct termios settings;
    char restore[256]; /* what gives the terminal back, as bytes */
    size_t restore_length;
    const char *guard;   /* sent before it; NULL: nothing */
    int output, nowhere; /* the terminal once more, and /dev/null: see release_output */
    int click_row, click_column;
    int pipe[2];
    struct sigaction plain_before[PLAIN_SIGNALS], crash_before[CRASH_SIGNALS], pipe_before;
} terminal = {.pipe = {-1, -1}, .output = -1, .nowhere = -1};

static volatile sig_atomic_t resized, stop_asked, hung_up;

/* --- handlers --- */

static void restore_from_handler(void)
{
    const char *guard = terminal.guard;
    struct pollfd output = {terminal.output, POLLOUT, 0};
    if (poll(&output, 1, 0) > 0) /* else what is written goes where it went until now */
        dup2(terminal.output, STDOUT_FILENO);
    if ((guard && write(STDOUT_FILENO, guard, strlen(guard)) < 0) ||
        write(STDOUT_FILENO, terminal.restore, terminal.restore_length) < 0)
        return; /* nobody is there to see it */
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal.settings);
}

/* Whoever reads the terminal may have stopped in the middle of a frame, and ncurses would write the
 * rest for ever: from now on it writes to nowhere. (Threads of a run take no signals, so it is the
 * waiting write that this one interrupts.) */
static void release_output(void)
{
    struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    if (terminal.nowhere < 0 || poll(&output, 1, 0) > 0)
        return;
    dup2(terminal.nowhere, STDOUT_FILENO);
}

static void on_signal(int number)
{
    int saved = errno;
    if (number == SIGWINCH)
        resized = 1;
    else if (number == SIGHUP)
        hung_up = 1;
    else if (stop_asked) { /* asked twice: at once */
        restore_from_handler();
        _exit(130);
    } else
        stop_asked = 1;
    if (number != SIGWINCH)
        release_output();
    if (write(terminal.pipe[1], "", 1) < 0)
        errno = saved; /* the pipe is full: a wake-up is on its way already */
    errno = saved;
}

static void on_crash(int number)
{
    restore_from_handler();
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        sigaction(crash_signals[i], &terminal.crash_before[i], NULL);
    raise(number);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, crash = {.sa_handler = on_crash};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    crash.sa_flags = SA_NODEFER;
    for (size_t i = 0; i < PLAIN_SIGNALS; i++)
        sigaction(plain_signals[i], &action, &terminal.plain_before[i]);
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        sigaction(crash_signals[i], &crash, &terminal.crash_before[i]);
    sigaction(SIGPIPE, &ignore, &terminal.pipe_before);
}

static void release_signals(void)
{
    for (size_t i = 0; i < PLAIN_SIGNALS; i++)
        sigaction(plain_signals[i], &terminal.plain_before[i], NULL);
    for (size_t i = 0; i < CRASH_SIGNALS; i++)
        sigaction(crash_signals[i], &terminal.crash_before[i], NULL);
    sigaction(SIGPIPE, &terminal.pipe_before, NULL);
}

/* --- opening --- */

/* Appends a capability's bytes without its padding marks ($<...>). */
static void add_restore(const char *capability)
{
    const char *text = tigetstr(capability);
    if (!text || text == (const char *)-1)
        return;
    while (*text && terminal.restore_length < sizeof terminal.restore) {
        if (text[0] == '$' && text[1] == '<' && strchr(text, '>'))
            text = strchr(text, '>') + 1;
        else
            terminal.restore[terminal.restore_length++] = *text++;
    }
}

static void prepare_restore(bool mouse)
{
    static const char no_mouse[] = "\033[?1006;1000l";
    terminal.restore_length = 0;
    if (mouse) {
        memcpy(terminal.restore, no_mouse, sizeof no_mouse - 1);
        terminal.restore_length = sizeof no_mouse - 1;
    }
    add_restore("sgr0");
    add_restore("rmkx");
    add_restore("cnorm");
    add_restore("rmcup");
    if (terminal.restore_length + 2 <= sizeof terminal.restore) {
        memcpy(terminal.restore + terminal.restore_length, "\r\n", 2);
        terminal.restore_length += 2;
    }
}

static bool open_pipe(struct error *error)
{
    if (pipe(terminal.pipe) != 0)
        return error_set_errno(error, "the workbench", NULL, "making a pipe");
    for (size_t i = 0; i < 2; i++) {
        fcntl(terminal.pipe[i], F_SETFL, O_NONBLOCK);
        fcntl(terminal.pipe[i], F_SETFD, FD_CLOEXEC);
    }
    return true;
}

static void close_pipe(void)
{
    close(terminal.output);
    close(terminal.nowhere);
    terminal.output = terminal.nowhere = -1;
    close(terminal.pipe[0]);
    close(terminal.pipe[1]);
    terminal.pipe[0] = terminal.pipe[1] = -1;
}

static bool check_is_terminal(struct error *error)
{
    static const char advice[] = N_("run it in a terminal, or use tinca train");
    if (!isatty(STDIN_FILENO))
        return error_set(error, ERROR_USAGE, "the workbench", advice,
                         "it needs a terminal, and standard input is none");
    if (!isatty(STDOUT_FILENO))
        return error_set(error, ERROR_USAGE, "the workbench", advice,
                         "it needs a terminal, and standard output is none");
    return true;
}

/* One that can place its cursor and erase. ncurses itself would end the program. */
static bool check_is_able(struct error *error)
{
    const char *name = getenv("TERM");
    int status;
    if (!name || !name[0] || setupterm(NULL, STDOUT_FILENO, &status) != OK)
        return error_set(error, ERROR_USAGE, "TERM",
                         "set TERM to your terminal's type (TERM=xterm-256color, TERM=vt100); "
                         "tinca train and --start print plain lines",
                         "the terminal type %s is not known here",
                         name && name[0] ? name : "(none)");
    const char *place = tigetstr("cup");
    bool able = place && place != (const char *)-1;
    del_curterm(cur_term);
    if (!able)
        return error_set(error, ERROR_USAGE, "TERM",
                         "use tinca train or --start, which print plain lines, or another terminal",
                         "a terminal of type %s cannot place its cursor", name);
    return true;
}

bool terminal_prints_lines_only(void)
{
    return check_is_terminal(NULL) && !check_is_able(NULL);
}

bool terminal_open(struct error *error)
{
    if (!check_is_terminal(error) || !check_is_able(error) || !open_pipe(error))
        return false;
    terminal.output = dup(STDOUT_FILENO);
    terminal.nowhere = open("/dev/null", O_WRONLY);
    resized = stop_asked = hung_up = 0;
    tcgetattr(STDIN_FILENO, &terminal.settings);
    terminal.restore_length = 0;
    terminal.guard = NULL;
    catch_signals(); /* before ncurses, which leaves handlers alone that it finds */
    terminal.screen = newterm(NULL, stdout, stdin);
    if (!terminal.screen) {
        release_signals();
        close_pipe();
        return error_set(error, ERROR_USAGE, "TERM", "use tinca train",
                         "ncurses cannot use a terminal of type %s", getenv("TERM"));
    }
    prepare_restore(false);
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    intrflush(stdscr, FALSE);
    return true;
}

void terminal_enable_mouse(bool taken)
{
    mmask_t wished = taken ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0;
    mouseinterval(0); /* a press is a click: nothing waits for the release */
    prepare_restore(mousemask(wished, NULL) & BUTTON1_PRESSED);
}

void terminal_set_crash_prefix(const char *bytes)
{
    terminal.guard = bytes;
}

static bool writable_within(int milliseconds)
{
    struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&output, 1, milliseconds) > 0 && output.revents & POLLOUT;
}

/* A terminal that was stopped (C-s) or whose reader sleeps must not keep the program from ending:
 * what waits there is given up, and if that does not help, the last words too. */
static bool make_writable(void)
{
    if (writable_within(0))
        return true;
    struct termios settings;
    if (tcgetattr(STDIN_FILENO, &settings) == 0) { /* without IXON what C-s stopped goes on */
        settings.c_iflag &= ~(tcflag_t)IXON;
        tcsetattr(STDIN_FILENO, TCSANOW, &settings);
    }
    if (writable_within(500))
        return true;
    tcflush(STDOUT_FILENO, TCOFLUSH);
    return writable_within(500);
}

/* What is written from here on goes nowhere, and must not fail. */
static void redirect_to_nowhere(void)
{
    int nowhere = open("/dev/null", O_RDWR);
    for (int i = STDIN_FILENO; nowhere >= 0 && i <= STDERR_FILENO; i++)
        if (i != STDERR_FILENO || isatty(i))
            dup2(nowhere, i);
    if (nowhere > STDERR_FILENO)
        close(nowhere);
}

void terminal_close(bool gone)
{
    dup2(terminal.output, STDOUT_FILENO);
    if (gone)
        redirect_to_nowhere(); /* not even freeing the screen: it might flush */
    else if (make_writable()) {
        endwin();
        delscreen(terminal.screen);
    } else {
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal.settings);
        redirect_to_nowhere();
    }
    release_signals();
    close_pipe();
}

/* --- waiting and reading --- */

static void drain_pipe(void)
{
    char bytes[64];
    while (read(terminal.pipe[0], bytes, sizeof bytes) > 0)
        continue;
}

static void take_new_size(void)
{
    struct winsize size;
    resized = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
}

unsigned terminal_wait(double seconds)
{
    struct pollfd watched[2] = {{STDIN_FILENO, POLLIN, 0}, {terminal.pipe[0], POLLIN, 0}};
    unsigned wakes = 0;
    int pending = 0;
    int ready = poll(watched, 2, seconds < 0 ? -1 : (int)ceil(fmin(seconds, 1e6) * 1000));
    if (ready > 0 && watched[1].revents)
        drain_pipe();
    if (ready > 0 && watched[0].revents & POLLIN) {
        /* readable without a byte to read: the other side is closed */
        if (ioctl(STDIN_FILENO, FIONREAD, &pending) == 0 && pending > 0)
            wakes |= WAKE_INPUT;
        else
            hung_up = 1;
    } else if (ready > 0 && watched[0].revents & (POLLHUP | POLLERR | POLLNVAL))
        hung_up = 1;
    if (resized) {
        take_new_size();
        wakes |= WAKE_RESIZE;
    }
    return wakes | (stop_asked ? WAKE_STOP : 0) | (hung_up ? WAKE_HANGUP : 0);
}

static int read_mouse(void)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return UI_NONE;
    terminal.click_row = event.y;
    terminal.click_column = event.x;
    return event.bstate & BUTTON4_PRESSED   ? UI_WHEEL_UP
           : event.bstate & BUTTON5_PRESSED ? UI_WHEEL_DOWN
           : event.bstate & BUTTON1_PRESSED ? UI_CLICK
                                            : UI_NONE;
}

void terminal_click_position(int *row, int *column)
{
    *row = terminal.click_row;
    *column = terminal.click_column;
}

int terminal_read_key(void)
{
    static const struct {
        wint_t theirs;
        int ours;
    } names[] = {{KEY_UP, UI_UP},         {KEY_DOWN, UI_DOWN},
                 {KEY_LEFT, UI_LEFT},     {KEY_RIGHT, UI_RIGHT},
                 {KEY_HOME, UI_HOME},     {KEY_END, UI_END},
                 {KEY_PPAGE, UI_PAGE_UP}, {KEY_NPAGE, UI_PAGE_DOWN},
                 {KEY_BTAB, UI_BACK_TAB}, {KEY_BACKSPACE, UI_BACKSPACE},
                 {KEY_DC, UI_DELETE},     {KEY_ENTER, UI_ENTER},
                 {KEY_F(1), UI_F1}};
    wint_t key;
    for (;;) {
        int kind = get_wch(&key);
        if (kind == ERR)
            return UI_NONE;
        if (kind == OK)
            return key == 127 || key == 8 ? UI_BACKSPACE : key == '\n' ? UI_ENTER : (int)key;
        int ours = key == KEY_MOUSE ? read_mouse() : UI_NONE;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (names[i].theirs == key)
                ours = names[i].ours;
        if (ours != UI_NONE)
            return ours;
    }
}

bool terminal_is_writable(void)
{
    return writable_within(0);
}

/* --- frames --- */

void terminal_size(int *rows, int *width)
{
    getmaxyx(stdscr, *rows, *width);
}

void terminal_begin_frame(void)
{
    erase();
}

void terminal_end_frame(int cursor_row, int cursor_column)
{
    curs_set(cursor_row >= 0);
    if (cursor_row >= 0)
        move(cursor_row, cursor_column);
    refresh();
}

void terminal_redraw(void)
{
    clearok(curscr, TRUE);
}
