# watch_check.py SESSION.json TRUTH.json WHAT...: compares the curves of a watched run with what the training
# program recorded. WHAT: points (every iteration), epochs (one point for each epoch), val_loss, top1, lr.
# Prints a line "ok NAME" or "not ok NAME: reason" for each.
import json
import sys

session, truth = (json.load(open(name)) for name in sys.argv[1:3])
run = session["runs"][0]
series, validation = run["series"], run["validation"]


def check(name, got, wanted, tolerance):
    if len(got) != len(wanted) or not wanted:
        print(f"not ok {name}: {len(got)} values, not {len(wanted)}")
        return
    worst = max(abs(a - b) / max(1, abs(b)) for a, b in zip(got, wanted))
    print(f"ok {name}: {len(wanted)} values" if worst <= tolerance else f"not ok {name}: off by {worst:.3g}")


for what in sys.argv[3:]:
    what, _, tolerance = what.partition(":")
    tolerance = float(tolerance or 1e-6)
    if what == "points":
        check("iterations", series["iteration"], truth["iteration"], 0)
        check("losses", series["loss"], truth["loss"], tolerance)
    elif what == "epochs":
        check("losses", series["loss"], truth["loss"], tolerance)
    elif what == "lr":
        check("learning rates", series["lr"], truth["lr"], tolerance)
    elif what == "val_loss":
        check("losses of validations", validation["loss"], truth["val_loss"], tolerance)
    else:
        check(f"accuracies ({what})", validation["top1"], truth[what], 100 * tolerance)
