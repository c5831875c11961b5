/* `bytes` begins with a character or an escape sequence. Each decode function looks at its
 * beginning and returns how many bytes it has used; 0 means that more bytes are needed. After a
 * time without new bytes the beginning is taken as it is:
 * - ESC alone is the key Esc after ESCAPE_SECONDS;
 * - the begun sequence is dropped after SEQUENCE_SECONDS;
 * - the first byte of a begun character is dropped after CHARACTER_SECONDS;
 * - the paste ends after PASTE_SECONDS.
 *
 * On a slow line the rest of a sequence can arrive after its ESC was reported. What follows that
 * Esc within REST_SECONDS and reads like the rest of a sequence is therefore not typed.
 *
 * The forms of the sequences are those of ECMA-48 (CSI: ESC [, parameters, a final byte), of the VT
 * terminals (SS3: ESC O and a final byte), and of xterm (SGR mouse, bracketed paste). */
#include "ui/terminal/input.h"

#include "base/character.h"
#include "ui/terminal/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static const double ESCAPE_SECONDS = 0.025, SEQUENCE_SECONDS = 1, CHARACTER_SECONDS = 0.1,
                    PASTE_SECONDS = 5, REST_SECONDS = 0.5;

static const char escape = '\033', bell = '\a';
static const char paste_end[] = "\033[201~";
enum { PASTE_END = sizeof paste_end - 1, MAX_PARAMETERS = 4 };

void input_define(struct input *input, const char *bytes, int key)
{
    const size_t length = bytes ? strlen(bytes) : 0;
    if (length < 2 || length >= INPUT_SEQUENCE_BYTES || input->sequence_count == INPUT_SEQUENCES)
        return;
    strcpy(input->sequences[input->sequence_count].bytes, bytes);
    input->sequences[input->sequence_count++].key = key;
}

size_t input_put(struct input *input, const char *bytes, size_t count, double now)
{
    const size_t room = INPUT_BYTES - input->count, taken = count < room ? count : room;
    memcpy(input->bytes + input->count, bytes, taken);
    input->count += taken;
    input->arrived = now;
    input->wait = 0;
    return taken;
}

double input_seconds(const struct input *input, double now)
{
    if (input->count == 0 && !input->pasting)
        return INFINITY;
    return fmax(0, input->arrived + input->wait - now);
}

/* Returns whether no byte has arrived for this long; otherwise notes to look again then. */
static bool is_over(struct input *input, double now, double seconds)
{
    input->wait = seconds;
    return now >= input->arrived + seconds;
}

/* --- control sequences --- */

struct csi {
    char private_mark, final; /* private_mark: '<', '?' and the like, or 0 */
    bool intermediate;        /* it has intermediate bytes */
    long parameters[MAX_PARAMETERS];
    size_t count;
};

/* Parses "[", parameters and a final byte. */
static struct csi parse_csi(const char *body, size_t length)
{
    struct csi csi = {.final = body[length - 1]};
    bool digits = false;
    for (size_t i = 1; i + 1 < length; i++) {
        const char c = body[i];
        if (c >= '0' && c <= '9') {
            csi.count += !digits && csi.count < MAX_PARAMETERS;
            digits = true;
            long *value = &csi.parameters[csi.count - 1];
            *value = *value < 100000 ? *value * 10 + (c - '0') : *value;
        } else if (c == ';' || c == ':') {
            csi.count += !digits && csi.count < MAX_PARAMETERS;
            digits = false;
        } else if (c >= '<' && c <= '?')
            csi.private_mark = c;
        else
            csi.intermediate = true;
    }
    return csi;
}

/* Returns the key of an xterm mouse event, and sets its position. Releases, other buttons and moves
 * without a button are no keys. */
static int mouse_key(struct input *input, long button, long column, long row)
{
    enum { MODIFIERS = 4 | 8 | 16, MOVED = 32, WHEEL_UP = 64, WHEEL_DOWN = 65 };
    button &= ~(long)MODIFIERS;
    if (column < 1 || row < 1)
        return UI_NONE;
    input->row = (int)row - 1;
    input->column = (int)column - 1;
    return button == WHEEL_UP     ? UI_WHEEL_UP
           : button == WHEEL_DOWN ? UI_WHEEL_DOWN
           : button == MOVED      ? UI_DRAG
           : button == 0          ? UI_CLICK
                                  : UI_NONE;
}

/* Returns the key with this final byte in CSI and SS3 sequences. */
static int final_key(char final)
{
    static const struct {
        char final;
        int key;
    } keys[] = {{'A', UI_UP},  {'B', UI_DOWN},     {'C', UI_RIGHT}, {'D', UI_LEFT}, {'H', UI_HOME},
                {'F', UI_END}, {'Z', UI_BACK_TAB}, {'M', UI_ENTER}, {'P', UI_F1}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].final == final)
            return keys[i].key;
    return UI_NONE;
}

/* Returns the key of "ESC [ number ~". */
static int numbered_key(long number)
{
    static const struct {
        long number;
        int key;
    } keys[] = {{1, UI_HOME},   {7, UI_HOME},    {4, UI_END},      {8, UI_END},
                {3, UI_DELETE}, {5, UI_PAGE_UP}, {11, UI_F1},      {15, UI_F5},
                {20, UI_F9},    {21, UI_F10},    {6, UI_PAGE_DOWN}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].number == number)
            return keys[i].key;
    return UI_NONE;
}

/* Returns the key of a complete CSI sequence. A key with a modifier is not the plain key. */
static int csi_key(struct input *input, const char *body, size_t length)
{
    const struct csi csi = parse_csi(body, length);
    const long *parameters = csi.parameters;
    if (csi.intermediate)
        return UI_NONE;
    if (csi.private_mark == '<' && csi.final == 'M' && csi.count == 3)
        return mouse_key(input, parameters[0], parameters[1], parameters[2]);
    if (csi.private_mark || csi.count > 2 || (csi.count == 2 && parameters[1] > 1))
        return UI_NONE;
    if (csi.final == '~' && csi.count == 1 && parameters[0] == 200) {
        input->pasting = true;
        input->paste_length = 0;
    }
    if (csi.final == '~')
        return csi.count > 0 ? numbered_key(parameters[0]) : UI_NONE;
    return csi.final != 'M' && parameters[0] <= 1 ? final_key(csi.final) : UI_NONE;
}

/* The sequences that are longer than their final byte says: the function keys of the Linux console,
 * "[[A" to "[[E", and xterm's old mouse reports, "[M" and three bytes. Returns the length; 0: it is
 * none of them, or not complete (*incomplete). */
static size_t decode_odd(struct input *input, const char *body, size_t count, int *key,
                         bool *incomplete)
{
    enum { CONSOLE = 3, MOUSE = 5, OFFSET = 32 };
    const size_t length = count < 2 ? 0 : body[1] == '[' ? CONSOLE : body[1] == 'M' ? MOUSE : 0;
    *incomplete = length > count;
    if (length == 0 || *incomplete)
        return 0;
    if (length == CONSOLE)
        *key = body[2] == 'A' ? UI_F1 : body[2] == 'E' ? UI_F5 : UI_NONE;
    else
        *key = mouse_key(input, (unsigned char)body[2] - OFFSET, (unsigned char)body[3] - OFFSET,
                         (unsigned char)body[4] - OFFSET);
    return length;
}

/* Decodes "[..." after an ESC. Returns its length; 0: it is not complete. A byte that cannot be in
 * a sequence ends it and is decoded by itself. */
static size_t decode_csi(struct input *input, const char *body, size_t count, int *key)
{
    bool incomplete;
    const size_t odd = decode_odd(input, body, count, key, &incomplete);
    if (odd > 0 || incomplete)
        return odd;
    for (size_t i = 1; i < count; i++) {
        if (body[i] < 0x20 || body[i] > 0x7e)
            return i;
        if (body[i] >= 0x40) {
            *key = csi_key(input, body, i + 1);
            return i + 1;
        }
    }
    return 0;
}

/* Decodes "O" and a final byte, perhaps with a digit for modifiers between them. */
static size_t decode_ss3(const char *body, size_t count, int *key)
{
    size_t at = 1;
    while (at < count && body[at] >= '0' && body[at] <= '9')
        at++;
    if (at == count)
        return 0;
    if (body[at] < 0x40 || body[at] > 0x7e)
        return at;
    *key = at == 1 ? final_key(body[at]) : UI_NONE;
    return at + 1;
}

/* Decodes a control string (a reply of the terminal), which ends with BEL or ESC \. */
static size_t decode_string(const char *body, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (body[i] == bell)
            return i + 1;
        if (body[i] == escape && i + 1 < count)
            return body[i + 1] == '\\' ? i + 2 : i;
    }
    return 0;
}

/* Decodes what follows an ESC: a sequence from its introducer on. */
static size_t decode_body(struct input *input, const char *body, size_t count, int *key)
{
    return body[0] == '['   ? decode_csi(input, body, count, key)
           : body[0] == 'O' ? decode_ss3(body, count, key)
                            : decode_string(body, count);
}

/* Makes room in a sequence that fills all of `bytes`. The '?' marks it as unknown. */
static size_t shorten(struct input *input)
{
    if (input->count == INPUT_BYTES) {
        input->bytes[2] = '?';
        input->count = 3;
    }
    return 0;
}

/* Returns the key Esc; what follows it is decoded by itself. */
static size_t take_escape(int *key)
{
    *key = UI_ESCAPE;
    return 1;
}

static size_t decode_escape(struct input *input, double now, int *key)
{
    if (input->count == 1) {
        if (!is_over(input, now, ESCAPE_SECONDS))
            return 0;
        input->escape_reported = true;
        input->escape_at = now;
        return take_escape(key);
    }
    const bool sequence = input->bytes[1] == '[' || input->bytes[1] == 'O';
    if (!sequence && !strchr("]P_^X", input->bytes[1]))
        return take_escape(key);
    if (!sequence && input->count == 2) /* a string, or the keys Esc and P */
        return is_over(input, now, ESCAPE_SECONDS) ? take_escape(key) : 0;
    const size_t used = decode_body(input, input->bytes + 1, input->count - 1, key);
    if (used > 0)
        return used + 1;
    return is_over(input, now, SEQUENCE_SECONDS) ? input->count : shorten(input);
}

/* Returns whether the bytes can be the rest of a sequence whose ESC was reported. A human who types
 * Esc and such characters is slower. */
static bool is_late_rest(const struct input *input)
{
    const char *bytes = input->bytes;
    if (!input->escape_reported || input->arrived - input->escape_at > REST_SECONDS)
        return false;
    if (input->count == 1)
        return bytes[0] == '[' || bytes[0] == 'O';
    return (bytes[0] == '[' && bytes[1] != '[') ||
           (bytes[0] == 'O' && strchr("ABCDFHPQRS", bytes[1]));
}

static size_t decode_late_rest(struct input *input, double now, int *key, bool *incomplete)
{
    const size_t used = decode_body(input, input->bytes, input->count, key);
    if (used > 0)
        return used;
    if (input->count == 1) { /* alone it was typed */
        *incomplete = !is_over(input, now, 2 * ESCAPE_SECONDS);
        return 0;
    }
    *incomplete = input->count < INPUT_BYTES && !is_over(input, now, SEQUENCE_SECONDS);
    return *incomplete ? 0 : input->count;
}

/* --- characters --- */

static size_t decode_character(struct input *input, double now, int *key)
{
    mbstate_t state = {0};
    wchar_t wide = 0;
    const size_t used = mbrtowc(&wide, input->bytes, input->count, &state);
    if (used == (size_t)-2)
        return is_over(input, now, CHARACTER_SECONDS);
    if (used == (size_t)-1 || used == 0)
        return 1; /* it is no character of the locale, or NUL */
    *key = wide == 127 || wide == 8 ? UI_BACKSPACE : wide == '\n' ? UI_ENTER : (int)wide;
    return used;
}

/* --- pastes --- */

/* Returns the number of line ends and blanks around them at the beginning of a text; 0: no line
 * ends there. */
static size_t line_end(const char *text, size_t length)
{
    size_t used = 0;
    bool ends = false;
    for (; used < length && memchr(" \t\r\n", text[used], 4); used++)
        ends |= text[used] == '\r' || text[used] == '\n';
    return ends ? used : 0;
}

/* Makes the paste one line: a line end becomes a space, unless it is the first or the last of the
 * text, and control characters and those that cannot be shown are removed. */
static void clean_paste(struct input *input)
{
    size_t to = 0;
    input->paste[input->paste_length] = '\0';
    for (size_t from = 0, length; from < input->paste_length; from += length) {
        const size_t rest = input->paste_length - from;
        mbstate_t state = {0};
        wchar_t wide = 0;
        length = line_end(input->paste + from, rest);
        if (length > 0) {
            if (to > 0 && length < rest)
                input->paste[to++] = ' ';
            continue;
        }
        length = mbrtowc(&wide, input->paste + from, rest, &state);
        const bool known = length != 0 && length < (size_t)-2;
        length = known ? length : 1;
        if (known ? wide != '\t' && !character_is_visible((uint32_t)wide)
                  : !input->paste[from]) /* bytes of another character set may name a file */
            continue;
        memmove(input->paste + to, wide == '\t' ? " " : input->paste + from, length);
        to += length;
    }
    input->paste[input->paste_length = to] = '\0';
}

static void add_to_paste(struct input *input, size_t count)
{
    const size_t room = INPUT_PASTE_BYTES - 1 - input->paste_length;
    const size_t taken = count < room ? count : room;
    memcpy(input->paste + input->paste_length, input->bytes, taken);
    input->paste_length += taken;
}

static size_t end_paste(struct input *input, size_t text, size_t used, int *key)
{
    add_to_paste(input, text);
    clean_paste(input);
    input->pasting = false;
    *key = UI_PASTE;
    return used;
}

/* Moves the pasted bytes into `paste`, except those at the end that may begin the end mark. */
static size_t decode_paste(struct input *input, double now, int *key)
{
    const char *end = memmem(input->bytes, input->count, paste_end, PASTE_END);
    if (end) {
        const size_t text = (size_t)(end - input->bytes);
        return end_paste(input, text, text + PASTE_END, key);
    }
    size_t tail = input->count < PASTE_END ? input->count : PASTE_END - 1;
    while (tail > 0 && memcmp(input->bytes + input->count - tail, paste_end, tail) != 0)
        tail--;
    if (input->count > tail) {
        add_to_paste(input, input->count - tail);
        return input->count - tail;
    }
    return is_over(input, now, PASTE_SECONDS) ? end_paste(input, tail, tail, key) : 0;
}

/* --- keys --- */

/* Returns the length of a sequence of input_define at the beginning, or 0. */
static size_t decode_defined(const struct input *input, int *key)
{
    for (size_t i = 0; i < input->sequence_count; i++) {
        const size_t length = strlen(input->sequences[i].bytes);
        if (length <= input->count &&
            memcmp(input->bytes, input->sequences[i].bytes, length) == 0) {
            *key = input->sequences[i].key;
            return length;
        }
    }
    return 0;
}

static size_t decode(struct input *input, double now, int *key)
{
    bool incomplete = false;
    size_t used = decode_defined(input, key);
    if (used > 0)
        return used;
    if (input->bytes[0] == escape)
        return decode_escape(input, now, key);
    if (is_late_rest(input))
        used = decode_late_rest(input, now, key, &incomplete);
    input->escape_reported = input->escape_reported && incomplete;
    return used > 0 || incomplete ? used : decode_character(input, now, key);
}

int input_key(struct input *input, double now)
{
    while (input->count > 0 || input->pasting) {
        int key = UI_NONE;
        const size_t used =
            input->pasting ? decode_paste(input, now, &key) : decode(input, now, &key);
        if (used == 0 && key == UI_NONE)
            return UI_NONE;
        input->count -= used;
        memmove(input->bytes, input->bytes + used, input->count);
        if (key != UI_NONE)
            return key;
    }
    return UI_NONE;
}
