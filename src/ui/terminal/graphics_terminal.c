/* What a terminal says about itself, and bytes sent to it past ncurses. */
#include "ui/terminal/graphics.h"

#include "base/clock.h"
#include "ui/terminal/glyphs.h"
#include "ui/terminal/terminal.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

/* --- the environment --- */

static bool variable_is(const char *name, const char *value)
{
    const char *found = getenv(name);
    return found && strcmp(found, value) == 0;
}

/* The entry of a terminal that is open already (the workbench's) stays the one in force. */
static void look_up(struct graphics_facts *facts)
{
    TERMINAL *before = cur_term;
    int status;
    if (!facts->terminal[0] || setupterm(facts->terminal, STDOUT_FILENO, &status) != OK)
        return;
    const char *place = tigetstr("cup"), *direct = tigetstr("RGB");
    facts->known = place && place != (const char *)-1;
    facts->colours = tigetnum("colors");
    /* ncurses' own name for direct colour, of any type, and tmux's */
    if (tigetflag("RGB") == 1 || tigetnum("RGB") > 0 || (direct && direct != (const char *)-1) ||
        tigetflag("Tc") == 1)
        facts->colours = 1 << 24;
    TERMINAL *looked_up = cur_term;
    if (looked_up == before)
        return;
    set_curterm(before);
    del_curterm(looked_up);
}

void graphics_read_environment(struct graphics_facts *facts)
{
    const char *terminal = getenv("TERM"), *no_color = getenv("NO_COLOR");
    *facts = (struct graphics_facts){.colours = -1};
    snprintf(facts->terminal, sizeof facts->terminal, "%s", terminal ? terminal : "");
    facts->no_color = no_color && no_color[0];
    facts->utf8 = glyphs_unicode_works();
    look_up(facts);
    if (facts->known &&
        (variable_is("COLORTERM", "truecolor") || variable_is("COLORTERM", "24bit")))
        facts->colours = 1 << 24;
}

/* --- sending --- */

/* Ends a sequence that was cut off: without its end the terminal would swallow all that follows. */
static bool give_up(bool cut)
{
    if (cut && terminal_is_writable() && write(STDOUT_FILENO, "\033\\", 2) < 0)
        return false; /* nobody is there to see it */
    return false;
}

bool graphics_send(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = write(STDOUT_FILENO, bytes, length < 4096 ? length : 4096);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        } else if (sent < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        if (terminal_wait(0) & (WAKE_STOP | WAKE_HANGUP))
            return give_up(length > 0);
    }
    return true;
}

/* --- asking --- */

enum { ANSWER_SIZE = 512 };
/* Every terminal answers, but on a slow link or a busy machine it takes a while. */
static const double PATIENCE = 2;

/* Reads until the answer to the last question (the primary device attributes: "...c"), which every
 * terminal gives, or until time is up. */
static void read_answer(char *answer, size_t size)
{
    const uint64_t began = clock_nanoseconds();
    size_t used = 0;
    for (;;) {
        const double left = PATIENCE - clock_seconds(began, clock_nanoseconds());
        struct pollfd input = {STDIN_FILENO, POLLIN, 0};
        if (left <= 0 || used + 1 >= size || poll(&input, 1, (int)(left * 1000) + 1) <= 0)
            return;
        ssize_t got = read(STDIN_FILENO, answer + used, size - 1 - used);
        if (got <= 0)
            return;
        used += (size_t)got;
        answer[used] = '\0';
        const char *attributes = strstr(answer, "\033[?");
        if (attributes && strchr(attributes, 'c'))
            return;
    }
}

/* Whether "\033[?62;4;22c" lists an attribute. */
static bool lists_attribute(const char *answer, long wanted)
{
    const char *at = strstr(answer, "\033[?");
    if (!at || !strchr(at, 'c'))
        return false;
    for (at += 3; *at && *at != 'c';) {
        char *end;
        long attribute = strtol(at, &end, 10);
        if (end == at)
            return false;
        if (attribute == wanted)
            return true;
        at = end + (*end == ';');
    }
    return false;
}

void graphics_parse_reply(struct graphics_facts *facts, const char *answer)
{
    int height, width;
    const char *size = strstr(answer, "\033[6;");
    facts->kitty = strstr(answer, "\033_Gi=31;OK");
    facts->sixel = lists_attribute(answer, 4);
    if (size && sscanf(size, "\033[6;%d;%dt", &height, &width) == 2 && height > 0 && width > 0 &&
        height < 1000 && width < 1000) {
        facts->cell_height = height;
        facts->cell_width = width;
    }
}

static void measure_cells(struct graphics_facts *facts)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
        facts->cell_height = size.ws_ypixel / size.ws_row;
        facts->cell_width = size.ws_xpixel / size.ws_col;
    }
}

/* tmux and screen take kitty's question for a window title, the console prints it. */
static bool takes_questions(const char *terminal)
{
    static const char *const others[] = {"tmux", "screen", "linux", "vt", NULL};
    for (size_t i = 0; others[i]; i++)
        if (strncmp(terminal, others[i], strlen(others[i])) == 0)
            return false;
    return !getenv("TMUX") && !getenv("STY");
}

void graphics_query_terminal(struct graphics_facts *facts)
{
    static const char kitty[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\";
    static const char others[] = "\033[16t\033[c";
    char answer[ANSWER_SIZE] = "";
    measure_cells(facts);
    if ((takes_questions(facts->terminal) && !graphics_send(kitty, sizeof kitty - 1)) ||
        !graphics_send(others, sizeof others - 1))
        return;
    read_answer(answer, sizeof answer);
    graphics_parse_reply(facts, answer);
    if (getenv("TMUX")) /* from 3.5 on it says so, whatever the terminal behind it can show */
        facts->sixel = false;
}
