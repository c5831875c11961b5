/* layout.h: where everything goes, computed from the terminal's size in this one place.
 *
 * Every rectangle lies within the terminal and none overlaps another of its screen, for any size
 * from 1x1; what has no room gets zero rows or columns and is not drawn.
 */
#ifndef TINCA_UI_TERMINAL_LAYOUT_H
#define TINCA_UI_TERMINAL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

struct rect {
    int row, column, rows, columns;
};

bool rect_is_empty(struct rect rect);

/* What all screens share. */
struct frame_layout {
    struct rect title;   /* the top line */
    struct rect body;    /* the screen's own */
    struct rect message; /* news and errors, above the hints; at small sizes over them */
    struct rect hints;   /* the bottom line */
};
struct frame_layout layout_frame(int rows, int columns);

struct form_layout {
    struct rect fields;
    struct rect help;     /* about the focused field */
    struct rect panel;    /* what the configuration would take */
    struct rect summary;  /* the same in one line, where there is no room for the panel */
    struct rect pictures; /* of the data, between the two on wide terminals */
    int label_columns;
};
struct form_layout layout_form(struct rect body);

/* Parts below each other that share the rows there are. */
struct layout_part {
    int rank;        /* 0: what matters most; each part has its own */
    int least, most; /* rows it needs, and may use; most 0: not wanted */
    int gap;         /* empty rows above it */
    int given;       /* by layout_share; 0: it is left out */
};
/* First every part gets what it needs, the most important ones first, as long as there is room;
 * what is left goes to them in the same order. */
void layout_share(int rows, struct layout_part *parts, size_t count);

/* How densely facts about a run are written. */
enum density { DENSITY_TINY, DENSITY_SMALL, DENSITY_NORMAL, DENSITY_PANEL };

struct run_layout {
    struct rect tabs;
    struct rect view; /* the plot, the findings or the memory table */
    struct rect rate; /* the learning rate's own strip below the plot */
    struct rect facts;
    struct rect progress; /* one line */
    enum density density;
};
struct run_layout layout_run(struct rect body);

/* A view split into a plot with its axes. */
struct plot_layout {
    struct rect legend, labels, plot, axis;
};
struct plot_layout layout_plot(struct rect view, bool legend);

/* Plots above each other on one x axis. The first is the largest; those that have no room are left
 * out. `readout`: a line for the values under the cursor is wanted; `legend_lines`: the lines that
 * the first plot's legend would fill. */
enum { LAYOUT_PANELS = 4 };
struct panels_layout {
    struct rect readout, axis;
    struct plot_layout panels[LAYOUT_PANELS]; /* without axes of their own */
    int count;
};
struct panels_layout layout_panels(struct rect view, int count, bool readout, int legend_lines);

/* A box of the wished size in the middle of the screen, as far as it fits. */
struct rect layout_dialog(int rows, int columns, int wished_rows, int wished_columns);

#endif
