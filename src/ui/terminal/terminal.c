/* Signal handlers only set a flag and write a byte into a pipe, so that one poll() waits for keys,
 * signals and the timeout. What a signal does is decided in signals.h; this file has the hooks, one
 * of which restores the terminal with async-signal-safe calls, and the signals of the terminal:
 * SIGWINCH, SIGTSTP and SIGCONT.
 *
 * ncurses would retry an interrupted write for ever. Therefore frames are only sent while the
 * terminal accepts output, and a stopped terminal cannot delay signals. */
#include "ui/terminal/terminal.h"

#include "base/clock.h"
#include "base/language.h"
#include "ui/terminal/input.h"
#include "ui/terminal/keys.h"
#include "ui/terminal/signals.h"

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

static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";
enum { PASTE_SWITCH = sizeof paste_on - 1 };

static struct {
    SCREEN *screen;
    bool passed; /* the keys come from a launcher, see terminal_take_passed_keys */
    struct termios settings;
    char restore[256]; /* bytes that restore the terminal's state */
    size_t restore_length;
    const char *crash_prefix; /* sent before `restore`; NULL: nothing */
    int output, null_device;  /* a duplicate of standard output, and /dev/null (release_output) */
    struct input input;
    bool mouse; /* the mouse is wanted and reported */
    enum paste_outcome paste_outcome;
    bool pastes; /* bracketed paste has been switched on */
    int pipe[2];
    bool left;     /* the program goes on without it (terminal_leave) */
    bool restored; /* it shows what it showed before, since it was closed or left */
    struct sigaction resize_before, continue_before, pipe_before, suspend_before;
} terminal = {.pipe = {-1, -1}, .output = -1, .null_device = -1};

static volatile sig_atomic_t resized, suspend_asked;
static bool hung_up; /* found without a signal: the other end of standard input is closed */

/* Returns the descriptor whose line settings are changed. */
static int line(void)
{
    return terminal.passed ? terminal.output : STDIN_FILENO;
}

/* --- handlers --- */

static void restore_from_handler(void)
{
    const char *crash_prefix = terminal.crash_prefix;
    sigset_t background; /* a background process may restore the terminal, too */
    sigemptyset(&background);
    sigaddset(&background, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &background, NULL);
    struct pollfd output = {terminal.output, POLLOUT, 0};
    if (poll(&output, 1, 0) > 0) /* else standard output stays as release_output left it */
        dup2(terminal.output, STDOUT_FILENO);
    if ((crash_prefix && write(STDOUT_FILENO, crash_prefix, strlen(crash_prefix)) < 0) ||
        write(STDOUT_FILENO, terminal.restore, terminal.restore_length) < 0)
        return; /* the terminal is gone */
    tcsetattr(line(), TCSANOW, &terminal.settings);
}

/* Redirects standard output to /dev/null if the terminal does not accept output: it may have
 * stopped in the middle of a frame, and ncurses would retry the rest for ever. (The threads of a
 * run block signals, so the signal interrupts the thread that is in that write.) */
static void release_output(void)
{
    struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    if (terminal.null_device < 0 || poll(&output, 1, 0) > 0)
        return;
    dup2(terminal.null_device, STDOUT_FILENO);
}

/* Wakes terminal_wait. */
static void wake_from_handler(bool leaving)
{
    if (leaving)
        release_output();
    if (write(terminal.pipe[1], "", 1) < 0)
        return; /* the pipe is full, so poll() will wake up anyway */
}

/* Asks for a repaint: the size is another one, or the program was stopped without a chance to leave
 * the screen (SIGSTOP). */
static void on_resize(int number)
{
    const int saved = errno;
    (void)number;
    resized = 1;
    wake_from_handler(false);
    errno = saved;
}

/* Sends one of the two sequences to a terminal that accepts output and understands them. */
static void switch_pastes(bool on)
{
    struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    if (terminal.pastes && poll(&output, 1, 0) > 0 &&
        write(STDOUT_FILENO, on ? paste_on : paste_off, PASTE_SWITCH) < 0)
        return; /* the terminal is gone, which the next wait notices */
}

/* Asks terminal_wait to suspend. ncurses' own handler would not do: while a frame is being sent,
 * ncurses ignores SIGTSTP, and a C-z in that time would be lost. */
static void on_suspend(int number)
{
    const int saved = errno;
    (void)number;
    suspend_asked = 1;
    wake_from_handler(false);
    errno = saved;
}

/* Catches C-z, unless the parent process ignores it. */
static void catch_suspend(void)
{
    const struct sigaction action = {.sa_handler = on_suspend};
    sigaction(SIGTSTP, NULL, &terminal.suspend_before);
    if (terminal.suspend_before.sa_handler != SIG_IGN)
        sigaction(SIGTSTP, &action, NULL);
}

static void catch_signals(void)
{
    const struct sigaction resize = {.sa_handler = on_resize}, ignore = {.sa_handler = SIG_IGN};
    signals_catch((struct signal_hooks){restore_from_handler, wake_from_handler});
    sigaction(SIGWINCH, &resize, &terminal.resize_before);
    sigaction(SIGCONT, &resize, &terminal.continue_before);
    sigaction(SIGPIPE, &ignore, &terminal.pipe_before);
    catch_suspend();
}

static void release_signals(void)
{
    signals_release();
    sigaction(SIGWINCH, &terminal.resize_before, NULL);
    sigaction(SIGCONT, &terminal.continue_before, NULL);
    sigaction(SIGPIPE, &terminal.pipe_before, NULL);
    sigaction(SIGTSTP, &terminal.suspend_before, NULL);
}

/* --- opening --- */

/* Appends the bytes of a terminfo capability without its padding marks ($<...>). */
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

static void prepare_restore(void)
{
    static const char no_mouse[] = "\033[?1006;1002;1000l";
    terminal.restore_length = 0;
    if (terminal.mouse) {
        memcpy(terminal.restore, no_mouse, sizeof no_mouse - 1);
        terminal.restore_length = sizeof no_mouse - 1;
    }
    if (terminal.pastes) {
        memcpy(terminal.restore + terminal.restore_length, paste_off, PASTE_SWITCH);
        terminal.restore_length += PASTE_SWITCH;
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
    close(terminal.null_device);
    terminal.output = terminal.null_device = -1;
    close(terminal.pipe[0]);
    close(terminal.pipe[1]);
    terminal.pipe[0] = terminal.pipe[1] = -1;
}

static bool check_is_terminal(struct error *error)
{
    static const char advice[] = N_("run it in a terminal, or use tinca train");
    if (!terminal.passed && !isatty(STDIN_FILENO))
        return error_set(error, ERROR_USAGE, "the workbench", advice,
                         "it needs a terminal, but standard input is not one");
    if (!isatty(STDOUT_FILENO))
        return error_set(error, ERROR_USAGE, "the workbench", advice,
                         "it needs a terminal, but standard output is not one");
    return true;
}

/* Checks that the terminal can place its cursor; ncurses would end the program if it cannot. */
static bool check_is_able(struct error *error)
{
    const char *name = getenv("TERM");
    int status;
    if (!name || !name[0] || setupterm(NULL, STDOUT_FILENO, &status) != OK)
        return error_set(error, ERROR_USAGE, "TERM",
                         "set TERM to your terminal's type (TERM=xterm-256color, TERM=vt100); "
                         "tinca train and --start print plain lines",
                         "the terminfo database has no terminal type %s",
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

/* Prepares the decoder with the keys of this terminal, and asks for bracketed pastes if its control
 * sequences are those of ECMA-48; other terminals would print the request. */
static void begin_input(void)
{
    static const struct {
        const char *capability;
        int key;
    } keys[] = {{"kcuu1", UI_UP},     {"kcud1", UI_DOWN},    {"kcub1", UI_LEFT},
                {"kcuf1", UI_RIGHT},  {"khome", UI_HOME},    {"kend", UI_END},
                {"kpp", UI_PAGE_UP},  {"knp", UI_PAGE_DOWN}, {"kcbt", UI_BACK_TAB},
                {"kdch1", UI_DELETE}, {"kent", UI_ENTER},    {"kf1", UI_F1},
                {"kf5", UI_F5},       {"kf9", UI_F9},        {"kf10", UI_F10}};
    terminal.input = (struct input){0};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *sequence = tigetstr(keys[i].capability);
        if (sequence != (const char *)-1)
            input_define(&terminal.input, sequence, keys[i].key);
    }
    const char *place = tigetstr("cup");
    terminal.pastes = place && place != (const char *)-1 && strstr(place, "\033[");
    switch_pastes(true);
}

/* Removes `part` from a capability, given as tigetstr returns it: the string that ncurses uses. */
static void remove_from(char *text, const char *part)
{
    char *found = text && text != (char *)-1 ? strstr(text, part) : NULL;
    if (found)
        memmove(found, found + strlen(part), strlen(found + strlen(part)) + 1);
}

/* Makes a change of style shorter: xterm's terminfo selects the normal character set with each one.
 * The workbench never selects another (it draws lines with Unicode or ASCII), so these bytes, a
 * fifth of all output of a steady screen, have no effect. */
static void shorten_styles(void)
{
    remove_from(tigetstr("sgr"), "%?%p9%t\033(0%e\033(B%;");
    remove_from(tigetstr("sgr0"), "\033(B");
}

void terminal_take_passed_keys(void)
{
    terminal.passed = true;
    signal(SIGTTOU, SIG_IGN); /* else the settings of the terminal could not be changed */
}

bool terminal_open(struct error *error)
{
    if (!check_is_terminal(error) || !check_is_able(error) || !open_pipe(error))
        return false;
    terminal.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    terminal.null_device = open("/dev/null", O_WRONLY | O_CLOEXEC);
    resized = suspend_asked = 0;
    hung_up = terminal.left = terminal.restored = false;
    tcgetattr(line(), &terminal.settings);
    terminal.restore_length = 0;
    terminal.mouse = false;
    terminal.crash_prefix = NULL;
    catch_signals(); /* before ncurses, which does not replace handlers that are installed */
    terminal.screen = newterm(NULL, stdout, stdin);
    if (!terminal.screen) {
        release_signals();
        close_pipe();
        return error_set(error, ERROR_USAGE, "TERM", "use tinca train",
                         "ncurses cannot use a terminal of type %s", getenv("TERM"));
    }
    begin_input();
    prepare_restore();
    shorten_styles();
    if (terminal.passed)
        raw(); /* signals of the keyboard would go to the launcher */
    else
        cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    intrflush(stdscr, FALSE);
    return true;
}

/* Asks the terminal to report the moves of the mouse while its button is held, or to stop; ncurses
 * asks for clicks only. */
static void report_drags(bool wanted)
{
    putp(wanted ? "\033[?1002h" : "\033[?1002l");
    fflush(stdout);
}

void terminal_enable_mouse(bool taken)
{
    /* without releases: if press and release arrive together, ncurses would report only the latter
     */
    const mmask_t all = BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED | REPORT_MOUSE_POSITION;
    mouseinterval(0); /* a press counts as a click at once, without waiting for the release */
    if (terminal.mouse && !taken)
        report_drags(false);
    terminal.mouse = mousemask(taken ? all : 0, NULL) & BUTTON1_PRESSED;
    if (terminal.mouse)
        report_drags(true);
    prepare_restore();
}

size_t terminal_restore_bytes(const char **bytes)
{
    *bytes = terminal.restore;
    return terminal.restore_length;
}

void terminal_set_crash_prefix(const char *bytes)
{
    terminal.crash_prefix = bytes;
}

static bool writable_within(int milliseconds)
{
    struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    return poll(&output, 1, milliseconds) > 0 && output.revents & POLLOUT;
}

/* Makes a terminal that was stopped (C-s, or a reader that does not read) accept output again:
 * first by undoing C-s, then by discarding the output that waits. Returns false if neither helps;
 * the program then ends without restoring the screen. */
static bool make_writable(void)
{
    if (writable_within(0))
        return true;
    struct termios settings;
    if (tcgetattr(line(), &settings) == 0) { /* clearing IXON undoes C-s */
        settings.c_iflag &= ~(tcflag_t)IXON;
        tcsetattr(line(), TCSANOW, &settings);
    }
    if (writable_within(500))
        return true;
    tcflush(STDOUT_FILENO, TCOFLUSH);
    return writable_within(500);
}

/* Redirects all output to /dev/null, so that later writes cannot fail or block. */
static void redirect_to_null(void)
{
    int null_device = open("/dev/null", O_RDWR);
    for (int i = STDIN_FILENO; null_device >= 0 && i <= STDERR_FILENO; i++)
        if (i != STDERR_FILENO || isatty(i))
            dup2(null_device, i);
    if (null_device > STDERR_FILENO)
        close(null_device);
}

/* Leaves the workbench's screen, and clears the switches that ncurses does not know. Returns false
 * if the terminal takes no output; then only the line settings are restored. */
static bool leave_screen(void)
{
    if (!make_writable()) {
        tcsetattr(line(), TCSANOW, &terminal.settings);
        return false;
    }
    switch_pastes(false);
    if (terminal.mouse)
        report_drags(false);
    endwin();
    return true;
}

/* Returns whether this process may use the terminal. */
static bool has_foreground(void)
{
    const pid_t foreground = tcgetpgrp(line());
    return terminal.passed || foreground < 0 || foreground == getpgrp();
}

/* Uses the terminal no more. */
static void abandon(void)
{
    signals_catch((struct signal_hooks){.wake = wake_from_handler});
    sigaction(SIGTSTP, &terminal.suspend_before, NULL);
    redirect_to_null();
    terminal.left = true;
}

void terminal_leave(const char *words)
{
    struct termios unused;
    if (terminal.left)
        return;
    dup2(terminal.output, STDOUT_FILENO);
    terminal.restored = tcgetattr(line(), &unused) == 0 && has_foreground() && leave_screen() &&
                        write(STDOUT_FILENO, words, strlen(words)) >= 0;
    abandon();
}

bool terminal_close(bool gone)
{
    if (gone || terminal.left)
        terminal_leave(""); /* the screen is not freed, since that might flush output */
    else {
        dup2(terminal.output, STDOUT_FILENO);
        terminal.restored = leave_screen();
        if (terminal.restored)
            delscreen(terminal.screen);
        else
            redirect_to_null();
    }
    terminal.mouse = terminal.pastes = false;
    release_signals();
    close_pipe();
    return terminal.restored;
}

/* --- suspending --- */

/* Stops the process with all its threads until SIGCONT. In the background it stops once more, as it
 * would when it used the terminal, unless it is to end or to go on without the terminal. */
static void stop_process(void)
{
    struct sigaction stop = {.sa_handler = SIG_DFL}, before;
    sigaction(SIGTSTP, &stop, &before);
    raise(SIGTSTP);
    while (!has_foreground() && !terminal_must_stop())
        raise(SIGSTOP); /* SIGTSTP would be ignored if the shell has ended */
    sigaction(SIGTSTP, &before, NULL);
}

/* Suspends the program (C-z), and shows its screen again when it is continued. */
static void suspend(void)
{
    suspend_asked = 0;
    def_prog_mode();
    leave_screen();
    stop_process();
    if (!has_foreground()) {
        terminal.restored = true;
        abandon();
        return;
    }
    reset_prog_mode();
    clearok(curscr, TRUE);
    refresh();
    switch_pastes(true);
    if (terminal.mouse)
        report_drags(true);
    resized = 1; /* perhaps, while it was suspended */
}

/* --- waiting and reading --- */

static void drain_pipe(void)
{
    char bytes[64];
    while (read(terminal.pipe[0], bytes, sizeof bytes) > 0)
        continue;
}

/* Takes the terminal's size, and paints the whole screen next time. What the terminal shows is
 * unknown, even if the size is the former one: it may have been smaller meanwhile. */
static void take_new_size(void)
{
    struct winsize size;
    resized = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clearok(curscr, TRUE);
}

/* Notices a new size if no signal comes: only the foreground gets SIGWINCH. */
static void look_at_size(void)
{
    struct winsize size;
    if (terminal.passed && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
        size.ws_col > 0 && (size.ws_row != LINES || size.ws_col != COLS))
        resized = 1;
}

static double seconds_now(void)
{
    return (double)clock_nanoseconds() / 1e9;
}

unsigned terminal_wait(double seconds)
{
    struct pollfd watched[2] = {{STDIN_FILENO, POLLIN, 0}, {terminal.pipe[0], POLLIN, 0}};
    unsigned wakes = 0;
    int pending = 0;
    const double decoder = input_seconds(&terminal.input, seconds_now());
    seconds = seconds < 0 ? decoder : fmin(seconds, decoder);
    int ready = poll(watched, 2, isinf(seconds) ? -1 : (int)ceil(fmin(seconds, 1e6) * 1000));
    if (ready > 0 && watched[1].revents)
        drain_pipe();
    if (ready > 0 && watched[0].revents & POLLIN) {
        /* readable, but without a byte: the other end is closed */
        if (ioctl(STDIN_FILENO, FIONREAD, &pending) == 0 && pending > 0)
            wakes |= WAKE_INPUT;
        else
            hung_up = true;
    } else if (ready > 0 && watched[0].revents & (POLLHUP | POLLERR | POLLNVAL))
        hung_up = true;
    if (suspend_asked && !terminal.left)
        suspend();
    look_at_size();
    if (resized && !terminal.left) {
        take_new_size();
        wakes |= WAKE_RESIZE;
    }
    if (input_seconds(&terminal.input, seconds_now()) <= 0) /* a pending Esc, for example */
        wakes |= WAKE_INPUT;
    return wakes | (signals_stop_came() ? WAKE_STOP : 0) | (signals_take_save() ? WAKE_SAVE : 0) |
           (hung_up || signals_hang_up_came() ? WAKE_HANGUP : 0);
}

bool terminal_must_stop(void)
{
    return hung_up || signals_stop_came() || signals_hang_up_came();
}

void terminal_click_position(int *row, int *column)
{
    *row = terminal.input.row;
    *column = terminal.input.column;
}

const char *terminal_paste_text(void)
{
    return terminal.input.paste;
}

void terminal_set_paste_outcome(enum paste_outcome outcome)
{
    terminal.paste_outcome = outcome;
}

enum paste_outcome terminal_paste_outcome(void)
{
    return terminal.paste_outcome;
}

/* Removes each C-c and C-\, whose signals they send as in other terminals. Returns how many bytes
 * remain. */
static ssize_t take_interrupts(char *bytes, ssize_t count)
{
    ssize_t kept = 0;
    for (ssize_t i = 0; i < count; i++)
        if (bytes[i] == '\003' || bytes[i] == '\034')
            raise(bytes[i] == '\003' ? SIGINT : SIGQUIT);
        else
            bytes[kept++] = bytes[i];
    return kept;
}

/* Passes the bytes that wait to the decoder, as many as it has room for. Returns false if there are
 * none. */
static bool read_bytes(void)
{
    char bytes[INPUT_BYTES];
    struct pollfd watched = {STDIN_FILENO, POLLIN, 0};
    const size_t room = INPUT_BYTES - terminal.input.count;
    if (room == 0 || poll(&watched, 1, 0) <= 0 || !(watched.revents & POLLIN))
        return false;
    ssize_t got = read(STDIN_FILENO, bytes, room);
    if (terminal.passed)
        got = take_interrupts(bytes, got);
    return got > 0 && input_put(&terminal.input, bytes, (size_t)got, seconds_now()) > 0;
}

/* Returns whether the screens get this key. */
static bool is_wanted(int key)
{
    const bool mouse =
        key == UI_CLICK || key == UI_DRAG || key == UI_WHEEL_UP || key == UI_WHEEL_DOWN;
    return key != UI_NONE && (terminal.mouse || !mouse);
}

int terminal_read_key(void)
{
    for (;;) {
        const int key = input_key(&terminal.input, seconds_now());
        if (key == UI_PASTE)
            terminal.paste_outcome = PASTE_IGNORED;
        if (is_wanted(key))
            return key;
        if (key == UI_NONE && !read_bytes())
            return UI_NONE;
    }
}

bool terminal_is_writable(void)
{
    return !terminal.left && writable_within(0);
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

/* curses_version() is "ncurses 6.4.20221231". */
const char *terminal_library_version(void)
{
    const char *version = curses_version(), *space = strchr(version, ' ');
    return space ? space + 1 : version;
}
