# Runs stages beside each other, in two lanes unless MOTTE_LANES says otherwise. Sourced by scripts/test.sh and
# scripts/check.sh, which define before calling `run_stages NAME ...`:
#
#   plan       an array of "stage:minutes it may take:stages it comes after, with commas:what it is"
#   stage_...  one function a stage; it fails like a script under `set -eo pipefail`
#   logs       the folder of <stage>.log
#   python     an interpreter, to count tests in the logs
#
# A lane takes the first stage of those wanted whose predecessors have ended, so the plan's order is the order of
# preference. A stage that fails stops no other. What failed is printed when it fails and named again at the end; the
# last line is "N passed, N failed". Minutes are those on the clock and, behind them, those of the processors: the
# second figure depends little on what ran beside the stage.
# shellcheck shell=bash disable=SC2154  # plan, logs and python are the caller's

known() { printf '%s\n' "${plan[@]}" | cut -d: -f1; }
entry_of() { printf '%s\n' "${plan[@]}" | grep "^$1:"; }

# Tests counted in a log: "passed failed". Without counts, the stage is one check.
counts() {
    "$python" - "$1" "$2" <<'PYTHON'
import re, sys
text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
succeeded = sys.argv[2] == "0"
passed = failed = 0
# Swift Testing: one line a run.
for total, outcome, rest in re.findall(r"Test run with (\d+) tests?.*? (passed|failed)(.*)", text):
    bad = len(set(re.findall(r"✘ Test (?!run with)(.+?) (?:recorded|failed)", text))) if outcome == "failed" else 0
    passed += int(total) - min(bad, int(total))
    failed += bad or (outcome == "failed")
# pytest and our own runners: "12 passed, 1 failed" or "1 failed, 12 passed".
words = "passed|failed|skipped|deselected|warnings?|errors?|xfailed"
for line in re.findall(rf"(?m)^=*\s*((?:\d+ (?:{words})(?:, )?)+).*$", text):
    for number, word in re.findall(r"(\d+) (passed|failed|errors?)", line):
        if word == "passed": passed += int(number)
        else: failed += int(number)
# CTest.
for bad, total in re.findall(r"(\d+) tests? failed out of (\d+)", text):
    passed += int(total) - int(bad)
    failed += int(bad)
if succeeded: failed = 0
if not succeeded and not failed: failed = 1
if passed + failed == 0: passed = 1
print(passed, failed)
PYTHON
}

# The lines of a failed stage's log that give the reason, for readers who see only the end of the output.
reasons() {
    local reason='✘|error:|Fatal error|WARNING: ThreadSanitizer|ERROR: AddressSanitizer|SUMMARY: |signal code|FAILED'
    { grep -aE "$reason" "$1" || tail -n 8 "$1"; } | cut -c1-240 | tail -n 12
    # Both stacks of the first thing that a sanitizer found.
    local lines='^ *#[0-9]+ |  [A-Z].* (of size|by) '
    grep -aE -m 1 -A 45 "(WARNING: Thread|ERROR: Address)Sanitizer" "$1" | grep -aE "$lines" |
        cut -c1-240 | head -n 30 || true
}

logged() { (set -eo pipefail; "stage_$1") > "$logs/$1.log" 2>&1; }
shown() { (set -eo pipefail; "stage_$1") 2>&1 | tee "$logs/$1.log" | sed -u "s/^/[$1] /" >&3; }

# One stage in a process of its own: its output, and when it has ended "seconds user-seconds system-seconds" and its
# status, which Bash does not know of every process that ended before it was waited for.
execute() {
    local TIMEFORMAT='%R %U %S' how=logged
    [ "${V:-}" != 1 ] || how=shown
    { time "$how" "$1"; } 2> "$logs/$1.time"
    echo $? > "$logs/$1.status"
}

minutes() { awk "BEGIN { printf \"%.1f\", ($1) / 60 }"; }

total_passed=0 total_failed=0 failures=() report=() processors=0
finish() {
    local stage=$1 status=$2 share real user system passed failed line
    share=$(entry_of "$stage" | cut -d: -f2)
    read -r real user system < <(tail -n 1 "$logs/$stage.time" | tr , .)
    processors=$(awk "BEGIN { print $processors + $user + $system }")
    read -r passed failed < <(counts "$logs/$stage.log" "$status")
    total_passed=$((total_passed + passed)) total_failed=$((total_failed + failed))
    if [ "$status" -ne 0 ]; then
        failures+=("$stage")
        [ "${V:-}" = 1 ] || tail -n 120 "$logs/$stage.log"
    elif [ "${V:-}" != 1 ]; then
        grep -E '^(skipped|not covered|note):' "$logs/$stage.log" || true
    fi
    line=$(printf '%-11s %5s min of %-2s  %5s of processors  %5d passed %4d failed' \
        "$stage" "$(minutes "$real")" "$share" "$(minutes "$user + $system")" "$passed" "$failed")
    [ "${real%.*}" -le $((share * 60)) ] || line="$line   (over its share)"
    report+=("$line")
    echo "    $line"
}

run_stages() {
    local wanted=("$@") lanes=${MOTTE_LANES:-2} began=$SECONDS stage before ready process
    local -A running=()
    for stage in "${wanted[@]}"; do
        known | grep -qx "$stage" || { echo "no stage '$stage'; there are: $(known | tr '\n' ' ')" >&2; return 2; }
    done
    [[ $lanes =~ ^[1-9][0-9]*$ ]] || { echo "MOTTE_LANES is '$lanes'; it is a number from 1 on" >&2; return 2; }
    [ "$(nproc)" -gt 1 ] || lanes=1
    mkdir -p "$logs"
    exec 3>&1
    trap 'for process in "${!running[@]}"; do kill -TERM -- "-$process" 2> /dev/null; done; exit 130' HUP INT TERM
    while [ ${#wanted[@]} -gt 0 ] || [ ${#running[@]} -gt 0 ]; do
        while [ ${#running[@]} -lt "$lanes" ]; do
            ready=
            for stage in "${wanted[@]}"; do
                for before in $(entry_of "$stage" | cut -d: -f3 | tr , ' '); do
                    [[ " ${wanted[*]} ${running[*]} " != *" $before "* ]] || continue 2
                done
                ready=$stage
                break
            done
            [ -n "$ready" ] || break
            mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | grep -vx "$ready")
            echo "=== $ready: $(entry_of "$ready" | cut -d: -f4-)"
            rm -f "$logs/$ready.status"
            # A process group of its own, so that all of it can be ended.
            set -m
            execute "$ready" < /dev/null &
            running[$!]=$ready
            set +m
        done
        wait -n "${!running[@]}" 2> /dev/null || true
        ready=
        for process in "${!running[@]}"; do
            ! kill -0 "$process" 2> /dev/null || continue
            ready=${running[$process]}
            unset "running[$process]"
            # Without one it was killed.
            finish "$ready" "$(cat "$logs/$ready.status" 2> /dev/null || echo 1)"
        done
        [ -n "$ready" ] || sleep 0.1
    done
    trap - HUP INT TERM

    echo
    echo "=== summary"
    printf '    %s\n' "${report[@]}"
    printf '    %-11s %5s min        %5s of processors\n' total "$(minutes "$SECONDS - $began")" \
        "$(minutes "$processors")"
    for stage in ${failures[@]+"${failures[@]}"}; do
        echo "    FAILED: $stage (log in $logs/$stage.log)"
        reasons "$logs/$stage.log" | sed 's/^/        /'
    done
    echo "$total_passed passed, $total_failed failed"
    [ ${#failures[@]} -eq 0 ]
}
