#!/bin/sh
# The perceptual study in a real terminal: votes by keys, the file of results, sessions that end early, and
# terminals that are refused.
. "${srcdir:-.}/tests/ui/screen.sh"
need_tmux "the perceptual study"
case $TINCA in /*) ;; *) TINCA=$PWD/$TINCA ;; esac
srcdir=$(cd "${srcdir:-.}" && pwd)
unset COLORTERM TMUX STY
cd "$T" || exit 99

adversarial_network pair.json
succeeds "a small generator is trained" train pair.json --data maps,limit=4 --epochs 1 --batch 1 \
    --run-dir "$T/run" -q

# session FILE PARTICIPANT OPTION...: runs the study in a shell that then prints its status and the line settings
session() {
    file=$1 participant=$2
    shift 2
    screen_start "${size:-80x24}" "${locale:-C.UTF-8}" sh -c \
        "\"\$@\" 2>'$T/said'; echo \"status \$?\"; stty -a | grep -o ' icanon'; sleep 600" sh \
        "$TINCA" study "$T/run" --images 6 --results "$file" --participant "$participant" "$@"
}

# vote KEY: gives the same answer to all six pictures. $feedback is what the screen said in practice.
vote() {
    feedback=
    screen_wait 'Enter to begin' && screen_keys Enter
    for picture in 1 2 3 4 5 6; do
        screen_wait "Perceptual study +$picture of 6" && screen_wait 'Real or generated' || return 1
        screen_keys "$1"
        [ $picture -le 2 ] || continue
        screen_wait '(Right|Wrong): it was' || return 1
        feedback="$feedback$(screen_text | sed -n 's/.*it was \([a-z]*\).*/\1 /p')"
        screen_keys Enter
        [ $picture = 1 ] || { screen_wait 'Practice is over' && screen_keys Enter; }
    done
    screen_wait 'status'
}

# --- votes ---
session results.json ana --seconds 0.05
if vote g; then ok "a participant answers all pictures"; else not_ok "a participant answers all pictures" "$(screen_text)"; fi
screen_shows 'status 0' "the session ends with status 0"
screen_shows '^pair +yours +1 +0/2 +0\.000' "with the result: no picture fooled the voter"
screen_shows 'pix2pix-shift +published +- +- +0\.200' "and the published results beside it"
is "the file has its format" format tinca-study results.json
is "one study" studies.# 1 results.json
is "of six pictures" studies.0.images.# 6 results.json
is "one vote" studies.0.votes.# 1 results.json
is "by the participant" studies.0.votes.0.participant ana results.json
is "on 80 columns" studies.0.votes.0.columns 80 results.json
is "as half blocks in 256 colours" studies.0.votes.0.graphics 256 results.json
is "with six answers" studies.0.votes.0.answers.# 6 results.json
is "on pairs that the network was not trained on" studies.0.seen_in_training 0 results.json

# order FILE VOTE: prints the images in the order in which they were shown
order() { for i in 0 1 2 3 4 5; do "$JSON_LOOK" "$1" "studies.0.votes.$2.answers.$i.image"; done | tr '\n' ' '; }
expected=
for i in $(order results.json 0 | cut -d ' ' -f 1,2); do
    is "picture $i, shown first, is practice" "studies.0.images.$i.practice" true results.json
    case $("$JSON_LOOK" results.json "studies.0.images.$i.generated") in
    true) expected="${expected}generated " ;;
    *) expected="${expected}real " ;;
    esac
done
if [ "$feedback" = "$expected" ]; then ok "practice says right or wrong correctly"; else not_ok "practice says right or wrong correctly" "'$feedback' is not '$expected'"; fi
all_generated=yes
for i in 0 1 2 3 4 5; do
    [ "$("$JSON_LOOK" results.json studies.0.votes.0.answers.$i.real)" = false ] || all_generated=no
done
if [ $all_generated = yes ]; then ok "g is always stored as generated"; else not_ok "g is always stored as generated"; fi

session again.json ana --seconds 0.05
vote Right
if [ "$(order again.json 0)" = "$(order results.json 0)" ]; then
    ok "the same name gets the same order, and arrow keys answer, too"
else
    not_ok "the same name gets the same order, and arrow keys answer, too" "$(order again.json 0)"
fi
session again.json ana --seconds 0.05
screen_shows 'status 1' "nobody votes twice"
if grep -q 'ana: .*once a network' "$T/said"; then ok "  with a message"; else not_ok "  with a message" "$(cat "$T/said")"; fi
for name in rui eva; do
    session results.json $name --seconds 0.05
    vote Left
done
screen_shows '^pair +yours +3 +2/2 +1\.000' "two of three votes say real: both pictures have fooled"
is "three votes are stored" studies.0.votes.# 3 results.json
if [ "$(order results.json 1)" != "$(order results.json 2)" ] || [ "$(order results.json 0)" != "$(order results.json 1)" ]; then
    ok "the order differs between participants"
else
    not_ok "the order differs between participants" "$(order results.json 0)"
fi
session results.json joe --seconds 0.05 --seed 2
screen_shows 'status 1' "votes on other pictures are refused"

python=python3 # or the system's Python, if another one comes first in PATH
judge='from jsonschema import Draft202012Validator'
$python -c "$judge" 2>/dev/null || python=/usr/bin/python3
if $python -c "$judge" 2>/dev/null; then
    if told=$($python - "$srcdir/docs/study.schema.json" results.json 2>&1 <<'PYTHON'
import copy, json, sys, jsonschema
schema, good = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
validator.validate(good)
def spoil(change):
    bad = copy.deepcopy(good)
    change(bad["studies"][0])
    assert not validator.is_valid(bad), "not noticed"
spoil(lambda s: s.update(surprise=1))
spoil(lambda s: s.pop("votes"))
spoil(lambda s: s["votes"][0].pop("participant"))
spoil(lambda s: s["votes"][0]["answers"][0].update(real=1))
spoil(lambda s: s["images"][0].update(practice="yes"))
spoil(lambda s: s.update(fingerprint="x"))
PYTHON
    ); then
        ok "the file is valid against docs/study.schema.json"
    else
        not_ok "the file is valid against docs/study.schema.json" "$told"
    fi
else
    skip "the file is valid against docs/study.schema.json" "python3-jsonschema (4 or later) is not installed"
fi

# --- the report ---
succeeds "the report" study --report --results results.json
shows '^pair +yours +3 +2/2 +1\.000 +0\.34 to 1\.00 +0\.67' "  has rate, interval and check"
succeeds "the report as JSON" study --report --results results.json --json
is "  the rate" networks.0.error_rate 1
is "  the voters" networks.0.voters 3
is "  the published rates" published.3.error_rate 0.1
refuses 1 "none.json" "a report on a missing file" study --report --results none.json
refuses 2 "report" "JSON without a report" study run --json
refuses 2 "both --real" "no source of pictures" study
refuses 2 "both --real" "only one of the two folders" study --real run
refuses 2 "not from both" "a run and folders" study run --real run --generated run
refuses 2 "even number" "an odd number of pictures" study run --images 5
refuses 2 "0.05 to 60" "a picture that is shown too long" study run --seconds 1e9 --participant a
refuses 2 "control characters" "a participant's name with control characters" \
    study run --participant "$(printf 'a\033b')"
refuses 1 "terminal" "no terminal" study "$T/run" --participant a

# --- the screen ---
has_codes() { tmux -L "$SOCKET" capture-pane -p -e | grep -aq "$(printf '\033')\[[0-9;]*$1"; }
begin() { screen_wait 'Enter to begin' && screen_keys Enter; }
session new.json a --seconds 20
begin
screen_shows '▀▀▀▀▀▀▀▀' "a picture is shown"
if has_codes '38;5;'; then ok "  in 256 colours"; else not_ok "  in 256 colours"; fi
screen_resize 60x20
screen_shows '^ {12}(▀){36} *$' "  and drawn once more at another size"
screen_resize 20x10
screen_shows 'Too small for' "  a window that is too small gives a message"
screen_lacks '▀' "  and shows no picture"
screen_resize 80x24
screen_shows 'Real or generated' "then the question appears"
screen_lacks '▀' "and the picture disappears"
screen_keys '?'
screen_shows 'a network made the picture' "? explains the keys"
screen_keys x
screen_lacks 'a network made the picture' "any key returns"
screen_keys z Enter Space
screen_shows 'Real or generated' "other keys give no answer"
screen_keys q
screen_shows 'Leave the study' "q asks"
screen_keys n
screen_lacks 'Leave the study' "n continues"
screen_keys q y
screen_shows 'status 130' "y quits"
if grep -q 'nothing of it was kept' "$T/said" && [ ! -e new.json ]; then
    ok "  and leaves no vote, with a message"
else
    not_ok "  and leaves no vote, with a message" "$(cat "$T/said")"
fi
screen_shows icanon "  and restores the terminal"

screen_end
COLORTERM=truecolor
export COLORTERM
session new.json a --seconds 60
begin
screen_wait '▀▀▀▀▀▀▀▀'
if has_codes '38;2;'; then ok "COLORTERM=truecolor: true colour"; else not_ok "COLORTERM=truecolor: true colour"; fi
unset COLORTERM

for way in kitty sixel; do
    session new.json a --seconds 0.2 --graphics $way
    screen_wait 'Enter to begin'
    tmux -L "$SOCKET" pipe-pane "cat >'$T/$way'"
    screen_keys Enter
    screen_shows 'Real or generated' "--graphics $way continues after the picture"
    wait_until grep -aqe '_Ga=d,d=A' -e "$(printf '\033')P0;1;0q" "$way" # what is shown is written to the file a little later
done
if grep -aq "$(printf '\033')_Ga=T,f=24,s=16,v=16,c=" kitty && grep -aq "_Ga=d,d=A" kitty; then
    ok "kitty's picture is sent and deleted"
else
    not_ok "kitty's picture is sent and deleted" "$(wc -c <kitty) bytes"
fi
if grep -aq "$(printf '\033')P0;1;0q\"1;1;48;48#0;2;" sixel; then ok "sixel's is sent"; else not_ok "sixel's is sent" "$(wc -c <sixel) bytes"; fi

# --- signals ---
for signal in INT:130 TERM:130 SEGV:139; do
    session new.json a --seconds 60
    begin
    screen_wait '▀▀▀▀▀▀▀▀'
    kill -"${signal%:*}" "$(pgrep -P "$(screen_pid)" -x tinca)"
    screen_shows "status ${signal#*:}" "SIG${signal%:*} while a picture is shown: status ${signal#*:}"
    screen_shows icanon "  the terminal is restored"
    screen_lacks '▀' "  and the picture is deleted"
done
# while the terminal takes no more of a large picture: the signal must not be lost
size=200x60
session new.json a --seconds 60
unset size
screen_wait 'Enter to begin'
pid=$(pgrep -P "$(screen_pid)" -x tinca)
server=$(tmux -L "$SOCKET" display-message -p '#{pid}')
written() { sed -n 's/^wchar: //p' "/proc/$pid/io" 2>/dev/null; }
before=$(written)
if [ -n "$before" ]; then
    screen_keys Enter
    kill -STOP "$server"
    sending() { # lets the terminal go on for a moment if it has not passed the key on
        [ "$(written)" -gt $((before + 5000)) ] && return
        kill -CONT "$server"
        kill -STOP "$server"
        return 1
    }
    wait_until sending
    kill -TERM "$pid"
    kill -CONT "$server"
    screen_shows 'status 130' "SIGTERM while a picture is being sent: status 130"
else
    skip "SIGTERM while a picture is being sent" "this system does not tell what a process has written"
fi
session new.json a --seconds 60
begin
screen_wait '▀▀▀▀▀▀▀▀'
pid=$(pgrep -P "$(screen_pid)" -x tinca)
screen_end
if wait_until gone "$pid"; then ok "the program ends when the terminal is closed"; else not_ok "the program ends when the terminal is closed"; fi
if [ ! -e new.json ]; then ok "none of these sessions left a vote"; else not_ok "none of these sessions left a vote"; fi

# --- refusals ---
# refused PATTERN NAME ENVIRONMENT...: ends with status 1 and a line that matches, before any picture
refused() {
    pattern=$1 name=$2
    shift 2
    screen_start "${size:-80x24}" "${locale:-C.UTF-8}" sh -c \
        "\"\$@\" 2>'$T/said'; echo \"status \$?\"; sleep 600" sh \
        env "$@" "$TINCA" study "$T/run" --participant a --results new.json
    if screen_wait 'status 1$' && grep -Eq "^tinca: .*: .*$pattern.*: " "$T/said"; then
        ok "$name"
    else
        not_ok "$name" "$(cat "$T/said"; screen_text)"
    fi
}
refused 'type dumb' "TERM=dumb" TERM=dumb
refused 'no colours' "TERM=vt100" TERM=vt100
refused 'only 8 colours' "TERM=linux" TERM=linux
refused 'type unheard-of' "an unknown terminal" TERM=unheard-of
refused 'pictures need colours' "NO_COLOR" NO_COLOR=1
locale=C refused 'UTF-8' "the C locale" TERM=screen-256color
size=30x24 refused '30x24' "30 columns" TERM=screen-256color
size=80x12 refused '80x12' "12 rows" TERM=screen-256color
screen_end
done_testing
