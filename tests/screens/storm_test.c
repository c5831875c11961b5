/* Runs the workbench with fake_session.c on a pseudo-terminal: every key on every screen, a long
 * sequence of random keys, clicks and sizes, a terminal that does not read, and a slow line. make
 * check-long sends 10^5 events, make check fewer (EVENTS). usage: storm_test [EVENTS [SEED]] */
#include "tap.h"

#include "base/clock.h"
#include "base/language.h"
#include "exchange/export/export.h"
#include "ui/terminal/draw.h"
#include "ui/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 1 << 16 };

static struct {
    pid_t pid;
    int master;
    size_t starts, bad_ends, bytes;
    char last[KEPT]; /* the last bytes of its output */
    size_t last_length;
} child;

static char folder[] = "/tmp/tinca-storm-XXXXXX";
static uint32_t seed = 1;

static unsigned draw_number(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* --- the child --- */

static void set_size(int rows, int columns)
{
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    ioctl(child.master, TIOCSWINSZ, &size);
}

static void be_the_workbench(const char *terminal, struct ui_options *options)
{
    struct error error = {0};
    int slave = open(terminal, O_RDWR);
    dup2(slave, STDIN_FILENO);
    dup2(slave, STDOUT_FILENO);
    language_begin(NULL);
    config_defaults(&options->config);
    config_set(&options->config, "epochs", "1000", &error);
    config_set(&options->config, "validate", "digits", &error);
    bool done = ui_run(options, &error);
    _exit(done ? 0 : error.kind == ERROR_INTERRUPTED ? 130 : 1);
}

static void start(struct ui_options options, int rows, int columns)
{
    child.master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(child.master);
    unlockpt(child.master);
    const char *terminal = ptsname(child.master);
    set_size(rows, columns);
    child.starts++;
    child.last_length = 0;
    fflush(stdout);
    child.pid = fork();
    if (child.pid == 0) {
        setsid();
        close(child.master);
        be_the_workbench(terminal, &options);
    }
    fcntl(child.master, F_SETFL, O_NONBLOCK);
}

static void keep(const char *bytes, size_t count)
{
    if (child.last_length + count > KEPT)
        child.last_length = 0;
    memcpy(child.last + child.last_length, bytes, count);
    child.last_length += count;
    child.bytes += count;
}

/* Returns false if the workbench has ended. */
static bool drain(void)
{
    static char bytes[KEPT / 4];
    ssize_t count;
    while ((count = read(child.master, bytes, sizeof bytes)) > 0)
        keep(bytes, (size_t)count);
    return count == 0 || errno != EIO;
}

/* Reads for this many seconds. Returns true as soon as `text` was written; NULL never is. */
static bool watch(double seconds, const char *text)
{
    uint64_t begun = clock_nanoseconds();
    while (clock_seconds(begun, clock_nanoseconds()) < seconds) {
        struct pollfd output = {child.master, POLLIN, 0};
        if (poll(&output, 1, 20) > 0 && output.revents & (POLLHUP | POLLERR))
            return false;
        drain();
        if (text && memmem(child.last, child.last_length, text, strlen(text)))
            return true;
    }
    return false;
}

/* Returns whether it ends within this many seconds while nobody reads; *status as from waitpid. */
static bool ends_within(double seconds, int *status)
{
    uint64_t begun = clock_nanoseconds();
    while (clock_seconds(begun, clock_nanoseconds()) < seconds) {
        if (waitpid(child.pid, status, WNOHANG) == child.pid)
            return true;
        poll(NULL, 0, 20);
    }
    return false;
}

static void end(void)
{
    int status = 0;
    drain();
    kill(child.pid, SIGTERM);
    for (int i = 0; i < 200 && !ends_within(0.05, &status); i++)
        drain();
    kill(child.pid, SIGKILL);
    close(child.master);
}

/* Returns whether it has ended; does not reap it. */
static bool has_ended(void)
{
    siginfo_t what = {0};
    return waitid(P_PID, (id_t)child.pid, &what, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           what.si_pid == child.pid;
}

/* Returns when it has read all keys that were sent, or has ended. Otherwise the keys would only
 * fill the terminal's buffers. */
static void let_it_read(void)
{
    int terminal = open(ptsname(child.master), O_RDWR | O_NOCTTY), waiting = 1;
    for (int tries = 0; tries < 5000 && waiting > 0 && !has_ended(); tries++) {
        drain();
        poll(NULL, 0, 1); /* the system passes keys on a little later */
        ioctl(terminal, FIONREAD, &waiting);
    }
    close(terminal);
}

/* Restarts it if it has ended, which q does. Counts ends with a signal or a failure. */
static void look_after(const struct ui_options *options)
{
    int status;
    drain();
    if (waitpid(child.pid, &status, WNOHANG) != child.pid)
        return;
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 130)) {
        child.bad_ends++;
        tap_note("a bad end: status %d, seed %u", status, (unsigned)seed);
    }
    close(child.master);
    start(*options, 24, 80);
    watch(60, "\033[?1049h"); /* keys that are typed earlier are lost */
}

static void send_bytes(const char *bytes, size_t count)
{
    for (int tries = 0; count > 0 && tries < 1000; tries++) {
        ssize_t sent = write(child.master, bytes, count);
        if (sent > 0) {
            bytes += sent;
            count -= (size_t)sent;
        } else if (errno != EAGAIN)
            return;
        else {
            poll(NULL, 0, 5);
            if (!drain())
                return;
        }
    }
}

static void send_text(const char *text)
{
    send_bytes(text, strlen(text));
}

/* --- every key on every screen --- */

static const char *const named_keys[] = {
    "\033[A",  "\033[B", "\033[C",  "\033[D",   "\033[H",       "\033[F",          "\033[5~",
    "\033[6~", "\033[Z", "\033[3~", "\033OP",   "\033OA",       "\033OB",          "\033",
    "\r",      "\t",     "\177",    "\303\251", "\346\227\245", "\360\237\220\237"};
enum { NAMED_KEYS = sizeof named_keys / sizeof *named_keys };

/* Control keys that the terminal handles itself: interrupt, stop, quit, suspend. */
static bool is_terminals_own(int key)
{
    return key == 3 || key == 17 || key == 19 || key == 26 || key == 28;
}

static void press_on(const struct ui_options *options, int letter, const char *key)
{
    char way[] = {27, 'm', (char)letter, '\r', '\0'};
    send_text(way);
    send_text(key);
    send_text("\033\033\033");
    let_it_read();
    look_after(options);
}

static void walk_every_key(bool start_run)
{
    struct ui_options options = {.export_path = "session.json", .start = start_run};
    size_t bad = child.bad_ends;
    start(options, 24, 80);
    watch(60, start_run ? "ms/image" : "What it takes");
    for (size_t i = 0; i < SCREEN_COUNT; i++) {
        for (int key = 1; key < 127; key++)
            if (!is_terminals_own(key))
                press_on(&options, screens[i]->letter, (char[2]){(char)key, '\0'});
        for (size_t key = 0; key < NAMED_KEYS; key++)
            press_on(&options, screens[i]->letter, named_keys[key]);
    }
    end();
    tap_ok(child.bad_ends == bad, "every key on each of %zu places, %s", (size_t)SCREEN_COUNT,
           start_run ? "a run being on" : "without a run");
}

/* --- random events --- */

static void random_event(void)
{
    char text[32];
    unsigned kind = draw_number(100);
    if (kind < 60) {
        char key = (char)(32 + draw_number(95));
        send_bytes(key == '/' ? "r" : &key,
                   1); /* no typed path may lead out of the test's folder */
    } else if (kind < 80)
        send_text(named_keys[draw_number(NAMED_KEYS)]);
    else if (kind < 86) {
        snprintf(text, sizeof text, "\033[<%u;%u;%uM", draw_number(4) ? 0 : 64 + draw_number(2),
                 1 + draw_number(90), 1 + draw_number(30));
        send_text(text);
    } else if (kind < 90) {
        char key = (char)(1 + draw_number(26));
        if (!is_terminals_own(key))
            send_bytes(&key, 1);
    } else if (kind < 93) {
        char byte = (char)(128 + draw_number(128));
        send_bytes(&byte, 1);
    } else if (kind < 96)
        set_size(1 + (int)draw_number(60), 1 + (int)draw_number(200));
    else
        send_text((const char *[]){"ms", "mo", "mr\033", "c\033", "\033\033n"}[draw_number(5)]);
}

static void storm(size_t events)
{
    struct ui_options options = {.export_path = "session.json"};
    size_t bad = child.bad_ends, starts = child.starts, bytes = child.bytes;
    start(options, 24, 80);
    watch(60, "\033[?1049h");
    for (size_t i = 0; i < events; i++) {
        random_event();
        if (draw_number(16) == 0) {
            let_it_read();
            look_after(&options);
        }
    }
    watch(0.5, NULL);
    look_after(&options);
    tap_ok(child.bad_ends == bad, "%zu random keys, clicks and sizes, %zu times to its end", events,
           child.starts - starts - 1);
    tap_ok(child.bytes - bytes > events, "to which it replied with %zu bytes", child.bytes - bytes);
    set_size(24, 80);
    end();
}

/* --- a terminal that does not read --- */

static void stop_reading(void)
{
    for (int i = 0; i < 100;
         i++) { /* each redraws the whole screen, far more than the terminal's buffer holds */
        if (write(child.master, "\014", 1) < 0)
            break;
        poll(NULL, 0, 10);
    }
}

static void stalled(void)
{
    struct ui_options options = {.start = true};
    int status = 0;
    start(options, 60, 200);
    watch(60, "ms/image");
    stop_reading();
    size_t before = child.bytes;
    watch(2, NULL);
    tap_ok(child.bytes - before < 512 * 1024,
           "after a pause in reading the output is not flooded: %zu bytes", child.bytes - before);
    child.last_length = 0;
    send_text("?");
    tap_ok(watch(60, "help"), "and keys are answered once more");
    stop_reading();
    kill(child.pid, SIGTERM);
    bool ended = ends_within(60, &status);
    tap_ok(ended && WIFEXITED(status) && WEXITSTATUS(status) == 130,
           "SIGTERM ends it while nobody reads");
    if (!ended)
        kill(child.pid, SIGKILL);
    close(child.master);
}

/* --- a slow line --- */

static void slow_line(void)
{
    const double seconds = 16;
    struct preferences preferences;
    struct ui_options options = {.start = true, .preferences = &preferences};
    preferences_defaults(&preferences);
    preferences.slow = true;
    start(options, 24, 80);
    bool shown = watch(60, "ms/image");
    watch(3, NULL);
    size_t before = child.bytes;
    watch(seconds, NULL);
    double rate = (double)(child.bytes - before) / seconds;
    tap_ok(shown && rate > 1 && rate <= 300, "--slow: %.0f bytes a second, at most 300", rate);
    end();
}

/* --- the mouse --- */

static void mouse(void)
{
    struct preferences preferences;
    struct ui_options options = {.preferences = &preferences};
    preferences_defaults(&preferences);
    start(options, 24, 80);
    watch(60, "What it takes");
    send_text("\033[<0;3;24M");
    tap_ok(watch(60, "Everywhere"), "a click on the hint ? opens the help");
    end();
    preferences.mouse = false;
    start(options, 24, 80);
    watch(60, "What it takes");
    tap_ok(!memmem(child.last, child.last_length, "\033[?1000h", 8) &&
               !memmem(child.last, child.last_length, "1000;1006h", 10),
           "--mouse=no leaves clicks to the terminal");
    end();
}

TEST_CASE(storm_test)
{
    size_t events = argc > 1 ? strtoul(argv[1], NULL, 10) : EVENTS;
    char command[64];
    struct error error;
    if (argc > 5 && strcmp(argv[1], "export") == 0) /* export --format json -o FILE, as the child */
        return export_session(NULL, 0, argv[5], &error) ? EXIT_SUCCESS : EXIT_FAILURE;
    if (argc > 1 && events == 0) /* resume and the like, as the process that goes on with a run */
        return EXIT_SUCCESS;
    seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        tap_ok(false, "a folder for the test");
        return tap_done();
    }
    setenv("XDG_STATE_HOME", folder, true);
    setenv("XDG_CACHE_HOME", "/dev/null", true);
    setenv("XDG_CONFIG_HOME", folder, true);
    setenv("TERM", "xterm-256color", true);
    setenv("LC_ALL", "C.UTF-8", true);
    signal(SIGPIPE, SIG_IGN);
    mouse();
    stalled();
    slow_line();
    walk_every_key(false);
    walk_every_key(true);
    storm(events);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    tap_ok(system(command) == 0, "the folder is gone");
    return tap_done();
}
