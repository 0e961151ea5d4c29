#!/bin/sh
# A night over a sample life, shown and then taken back.
#
#   sh demo/run.sh [CONSOLIDATE]     CONSOLIDATE: the command to run (default: consolidate)
#
# Each time a new folder is made for the store; it stays, so that you can go on with it.
set -eu

consolidate=${1:-consolidate}
night=2026-05-30T03:30:00Z
life=$(dirname "$0")/sample_life.jsonl
folder=$(mktemp -d "${TMPDIR:-/tmp}/consolidator-demo.XXXXXX")
CONSOLIDATOR_STORE=sqlite:///$folder/life.db
export CONSOLIDATOR_STORE

# No settings and no keys of yours: nothing leaves this machine, and nothing costs anything.
XDG_CONFIG_HOME=$folder
export XDG_CONFIG_HOME
unset ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_PROFILE ANTHROPIC_BASE_URL ANTHROPIC_IDENTITY_TOKEN \
    ANTHROPIC_IDENTITY_TOKEN_FILE OPENAI_API_KEY OPENAI_BASE_URL

trap 'code=$?; [ $code -eq 0 ] || printf "\nThe demo stopped (exit code %s); its store is in %s\n" "$code" "$folder" >&2' EXIT

# say TEXT: what comes next, in one line.
say() {
    printf '\n# %s\n' "$1"
}

# run ARGUMENT...: the command as you would type it, then what it prints.
run() {
    printf '$ consolidate'
    for argument; do
        case $argument in
            *[!A-Za-z0-9_./:=,-]*) printf " '%s'" "$argument" ;;
            *) printf ' %s' "$argument" ;;
        esac
    done
    printf '\n'
    "$consolidate" "$@"
}

# The atlas that Ilona works on: any beginning of its id, of 8 characters or more, will do.
atlas=$(sed -n '/atlas of 1734/s/.*"id":"\([0-9a-f]\{12\}\).*/\1/p' "$life")

# The allergy, which was noted down twice.
allergy=$(sed -n '/Check every prescription/s/.*"id":"\([0-9a-f]\{12\}\).*/\1/p' "$life")

say "A store in a folder of its own; every command below finds it by this variable."
printf '$ export CONSOLIDATOR_STORE=%s\n' "$CONSOLIDATOR_STORE"

say "Sixty days with Ilona Saarelma, who restores sea charts in Turku: what her agent stored, used and was told."
run import jsonl "$life"

say "What would the night do? A dry run decides everything and changes nothing."
run run --dry-run --as-of "$night"

say "The night itself. It is the first one, so it sees all sixty days at once. What says the same is put together: what
# another memory repeats is absorbed; what would have to be written anew waits, for no language model is asked here."
run run --as-of "$night" --report detailed

say "Every run is kept, with what it did."
run runs

say "Words find memories; what has been archived is out of the way."
run search verdigris

say "One memory with its strength, its links and what became of it: the atlas, which nearly every day had a use for."
run show "$atlas"

say "The allergy was noted down twice; one memory of it is left, and the other leads to it."
run show "$allergy"

say "And all of it back: the store is as it was before the night."
run undo last

cat <<END

The demo is over. The store is still there, with the night taken back:

    export CONSOLIDATOR_STORE=$CONSOLIDATOR_STORE
    $consolidate list                       what Ilona's agent remembers
    $consolidate run --report detailed      a night as of now
    $consolidate stats

With a key in ANTHROPIC_API_KEY or OPENAI_API_KEY a night also writes once what several memories say. What that would
cost, a dry run tells before:

    $consolidate run --dry-run

When you are done with it: rm -r $folder

To go on with memories of your own, make a store and bring them in:

    $consolidate --store sqlite:///my.db init
    $consolidate --store sqlite:///my.db import jsonl FILE
    $consolidate --store sqlite:///my.db run --dry-run

README.md tells what a night does and how to let one run every night; each command has --help with an example.
END
