#!/usr/bin/env bash
# An agent for ColBench in bash: it asks one question, then answers. One process for each dialogue.
#   colbench eval --agent "cmd:bash agents/examples/bash/agent.sh" --limit 20
# It parses JSON with patterns, which is enough for the fields that it reads; if `jq` is installed, use that.

say() { # send a reply whose text is already escaped for JSON
    printf '{"type":"reply","episode":"%s","content":"%s"}\n' "$episode" "$1"
}

echo '{"type":"ready","protocol":"colbench-agent/1","name":"bash-example","version":"1"}'
while IFS= read -r line; do
    case $line in
    '{"type":"messages"'*)
        [[ $line =~ \"episode\":\"([^\"]*)\" ]] && episode=${BASH_REMATCH[1]}
        if [[ $line != *'"role":"assistant"'* ]]; then
            say "Which special cases or limits are there?"
        else
            [[ $line =~ def\ ([A-Za-z_0-9]+) ]]
            say "I WANT TO ANSWER:\ndef ${BASH_REMATCH[1]:-answer}(*args):\n    return None"
        fi
        ;;
    '{"type":"end"'*) exit ;;
    esac
done
