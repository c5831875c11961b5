#!/bin/sh
# The workbench in each of its states, and each signal and each way of losing the terminal: the terminal is as before
# if it lives, the status is that of docs/reliability.md, no process stays that nobody watches, no file stays half
# written, and a run loses nothing: resumed to its end it has the bits of one that nobody disturbed.
#
# usage: [VARIABLE=VALUE...] tests/long/signals_long.sh
#   STATES  names of states below, without it all
#   ENDS    signals, and kill-pane, kill-server and close (of the terminal's other end); without it all
srcdir=${srcdir:-.}
. "$srcdir/tests/ui/screen.sh"
need_tmux "signals in each state of the workbench"
case $srcdir in /*) ;; *) srcdir=$PWD/$srcdir ;; esac
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
case $JSON_LOOK in /*) ;; *) JSON_LOOK=$PWD/$JSON_LOOK ;; esac
. "$srcdir/tests/faults/same_run.sh"
screen_terminal=xterm-256color # whose mouse has all the modes
cd "$T" || exit 99
STATES=${STATES:-form training paused validating exporting chart dialog help question find-rate measuring models attach watch sweep study compare runs}
ENDS=${ENDS:-INT TERM QUIT USR1 USR2 ALRM XCPU HUP PIPE WINCH TSTP SEGV ABRT BUS FPE ILL kill-pane kill-server close}
runs=$XDG_STATE_HOME/tinca/runs
job="mlp --data digits,limit=64 --batch 8 --epochs 100 --threads 1 --seed 3 --validate digits,split=test,limit=16"
long="lenet --data digits,limit=64 --batch 64 --epochs 3 --threads 1 --seed 3 --validate digits,split=test"

# --- what is there before ---
"$TINCA" train $job --run-dir "$T/whole" -q >/dev/null 2>&1 || exit 99
"$TINCA" train $long --run-dir "$T/whole-long" -q >/dev/null 2>&1 || exit 99
adversarial_network pair.json
"$TINCA" train pair.json --data maps,limit=4 --epochs 1 --batch 1 --run-dir "$T/pair" -q >/dev/null 2>&1 || exit 99
for seed in 1 2; do
    "$TINCA" train lenet --data digits,limit=60 --validate digits,split=test --batch 20 --epochs 1 --threads 1 --seed $seed -q || exit 99
done
mv "$runs" before
newest() { ls -t "$runs" 2>/dev/null | head -n 1; }
count() { journal_lines "$runs/$(newest)/journal" | grep -c "$1"; }
counts() { [ "$(count "$1")" -gt "$2" ]; }

# --- states ---
# workbench ARGUMENT...: starts it in a shell that then shows status and line settings
workbench() {
    rm -f go bytes
    printf '%s\n' "$*" >command
    screen_start 100x30 C.UTF-8 sh -c "trap : QUIT INT TERM; until [ -e '$T/go' ]; do sleep 0.05; done
'$TINCA' $* 2>'$T/messages'
echo \"status \$?\"; stty -a | grep -o ' icanon' ; cat '$T/messages'; cat"
    tmux -L "$SOCKET" pipe-pane "cat >'$T/bytes'"
    : >go
}
# enter STATE: brings the workbench into a state; $trains is the undisturbed run if it trains one itself
enter() {
    rm -rf "$runs" "$XDG_STATE_HOME"/tinca/sweeps out.csv chart.png results.json log.csv
    trains='' other=''
    case $1 in
    measuring | models | compare | runs) cp -r before "$runs" ;;
    esac
    case $1 in
    form | models | measuring | find-rate | sweep | runs | compare) workbench ui $job && screen_wait 'Network' ;;
    training | paused | exporting | chart | dialog | help | question)
        trains=whole
        workbench ui $job --start
        screen_wait 'ms/image'
        wait_until counts '^{"iteration"' 20
        ;;
    validating)
        trains=whole-long
        workbench ui $long --start
        screen_wait '[Vv]alidating'
        ;;
    attach)
        "$TINCA" train $job -q >other.out 2>&1 &
        other=$!
        wait_until counts '^{"iteration"' 20
        workbench attach
        screen_wait 'attached'
        ;;
    watch)
        printf 'step,loss\n1,4\n2,3\n' >log.csv
        workbench watch log.csv
        screen_wait 'imported: csv'
        ;;
    study)
        workbench study "'$T/pair'" --images 6 --results "'$T/results.json'" --participant p --graphics 256
        screen_wait 'Enter to begin'
        ;;
    esac
    case $1 in
    paused) screen_keys ' ' && screen_wait 'Paused' ;;
    exporting) screen_keys e && screen_wait 'Format' && screen_keys Enter ;;
    chart) screen_keys e && screen_wait 'Format' && screen_keys Right Right ;;
    dialog) screen_keys s && screen_wait 'carry on|now .after' ;;
    question) screen_keys q && screen_keys q && screen_wait 'leave it running' ;;
    help) screen_keys '?' && screen_wait '[?] close' ;;
    find-rate) screen_keys L && screen_wait 'rate' ;;
    models) screen_keys m && screen_wait 'Go to' && screen_keys g Enter && screen_wait 'not measured' ;;
    measuring) screen_keys m && screen_wait 'Go to' && screen_keys g Enter && screen_wait 'not measured' && screen_keys M ;;
    sweep)
        screen_keys m && screen_wait 'Go to' && screen_keys w Enter && screen_wait 'Batch' && screen_keys r
        wait_until counts '^{"iteration"' 20
        ;;
    runs) screen_keys o && screen_wait '2 runs' ;;
    compare) screen_keys o && screen_wait '2 runs' && screen_keys a c && screen_wait 'legend|1.*lenet' ;;
    esac
    child=$(pgrep -P "$(screen_pid)" -x tinca)
    [ -n "$child" ] || not_ok "$1: the workbench is on" "$(screen_text)"
}

# --- what is checked ---
switched_back() {
    for mode in 1000 1002 1006 1049 2004; do
        last=$(tr '\033' '\n' <bytes | LC_ALL=C sed -n 's/^\[?\([0-9;]*\)\([hl]\).*$/;\1; \2/p' | grep ";$mode;" | tail -n 1)
        case $last in *l | '') ;; *) modes="$mode: $last"; return 1 ;; esac
    done
}
complain() { wrong="$wrong
$*"; }
# tinca_processes: prints those of this test, less the other process of "attach"
tinca_processes() {
    for environment in $(grep -las -- "TINCA_TEST=$T" /proc/[0-9]*/environ 2>/dev/null); do
        process=${environment%/environ}
        process=${process#/proc/}
        [ "$process" != "${other:-0}" ] && has_line '^State:.[^Z]' "/proc/$process/status" &&
            grep -aqE "^(tinca|exe)\$" "/proc/$process/comm" 2>/dev/null && echo "$process"
    done
}
alone() { [ -z "$(tinca_processes)" ]; }
# restored: the terminal is that of the shell again
restored() {
    screen_wait 'status [0-9]' || complain "it does not end: $(screen_text)"
    screen_wait ' icanon' || complain "the line settings are not restored: $(screen_text)"
    modes=
    wait_until switched_back || complain "switched on: $modes"
}
has_status() { seen "status $1( |\$)" || complain "status: $(screen_text | grep -a status)"; }
no_litter() {
    alone || wait_until alone || complain "left behind: $(for p in $(tinca_processes); do tr '\0' ' ' <"/proc/$p/cmdline"; done)"
    litter=$(find "$T" -name '*.part' ! -path "$T/before/*")
    [ -z "$litter" ] || complain "litter: $litter"
}
# nothing_lost: the run, resumed, has the bits of one that nobody has disturbed
nothing_lost() {
    [ -n "$trains" ] || return
    id=$(newest)
    if [ "$("$JSON_LOOK" "$runs/$id/summary.json" status 2>/dev/null)" != done ]; then
        "$TINCA" resume "$id" -q >resumed 2>&1 </dev/null || complain "resume: $(cat resumed)"
    fi
    found=$(differences "$T/$trains" "$runs/$id")
    [ -z "$found" ] || complain "not the same bits: $found"
}
stopped_in_order() {
    [ -z "$trains" ] || [ "$("$JSON_LOOK" "$runs/$(newest)/summary.json" status 2>/dev/null)" = stopped ] ||
        [ "$("$JSON_LOOK" "$runs/$(newest)/summary.json" status 2>/dev/null)" = done ] || complain "not saved: $(ls "$runs/$(newest)")"
}
lives() { ! gone "$child" && ! has_line '^State:.Z' "/proc/$child/status"; }
answers() { # the workbench lives and answers keys
    lives || { complain "it has ended: $(screen_text)"; return; }
    [ "$state" = study ] && return
    screen_keys Escape Escape '?'
    screen_wait '[?] close|Help' || complain "no answer to a key: $(screen_text)"
}
quit() { kill -TERM "$child"; restored; }
ends_by_itself() { wait_until gone "$child" || complain "it goes on for ever"; }

# end STATE END: one row of the matrix
end() {
    state=$1 wrong=''

    enter "$1"
    case $2 in
    INT | TERM | QUIT | USR2 | ALRM | XCPU)
        kill -"$2" "$child"
        restored
        has_status 130
        stopped_in_order
        ;;
    USR1)
        saved=$(count '"event":"checkpoint"')
        kill -USR1 "$child"
        if [ "$trains" = whole ] || [ "$state" = sweep ]; then
            wait_until counts '"event":"checkpoint"' "$saved" || complain "no checkpoint"
        fi
        answers
        quit
        ;;
    PIPE)
        kill -PIPE "$child"
        answers
        quit
        ;;
    WINCH)
        for columns in 60 132 40 100 81 20 100; do
            screen_resize "${columns}x24"
            kill -WINCH "$child"
        done
        answers
        quit
        ;;
    TSTP)
        kill -STOP "$child"
        kill -TSTP "$child"
        kill -CONT "$child"
        answers
        quit
        ;;
    HUP)
        kill -HUP "$child"
        modes=
        wait_until switched_back || complain "switched on: $modes"
        [ -z "$trains" ] || seen 'has hung up' || screen_wait 'has hung up' || complain "it is not said"
        case $state in sweep) kill -TERM "$child" ;; esac
        ends_by_itself
        ;;
    SEGV | ABRT | BUS | FPE | ILL)
        kill -"$2" "$child"
        restored
        screen_wait "SIG$2: the program has crashed" || complain "not said: $(screen_text)"
        [ -z "$trains" ] || screen_wait 'tinca resume' || complain "the checkpoint is not named: $(screen_text)"
        seen 'status 1[2-9][0-9]|status 2' || complain "status: $(screen_text)"
        ;;
    kill-pane | kill-server)
        tmux -L "$SOCKET" "$2" 2>/dev/null
        case $state in sweep) wait_until over; sleep 0.3; kill -TERM "$child" ;; esac
        ends_by_itself
        ;;
    close)
        kill -KILL "$(tmux -L "$SOCKET" display-message -p '#{pid}')"
        case $state in sweep) sleep 0.3; kill -TERM "$child" ;; esac
        ends_by_itself
        ;;
    esac
    [ -z "$other" ] || ! gone "$other" || complain "the run of the other process has ended"
    no_litter
    nothing_lost
    [ -z "$other" ] || { kill -KILL "$other"; wait "$other" 2>/dev/null; }
    if [ -z "$wrong" ]; then ok "$1, $2"; else not_ok "$1, $2" "$wrong"; fi
    tap_failed_before=$tap_failed tap_failed=0 # each row has all the patience
    failures=$((${failures:-0} + tap_failed_before))
    screen_end
}

for state in $STATES; do
    for way in $ENDS; do
        end "$state" "$way"
    done
done
[ "${failures:-0}" = 0 ] || tap_failed=1
done_testing
