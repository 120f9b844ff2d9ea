"""CreditBench: a comparison of estimators of turn credit (the worth of each message) with exact advantages.

values       the exact value of a state (revealed decisions and remaining turns), by dynamic programming
beliefs      an agent's beliefs about the decisions that a task leaves open
truths       the exact values of the candidate messages of a state
states       states of demonstrators' dialogues with candidate next messages; `collect` makes them
data         files of states and truths; frozen.json has the hashes of the frozen sets
play         Monte-Carlo continuations with the rule-based human
estimators   one score for each candidate message of a state
agreement    how well the order of the scores agrees with the order of the exact values
on_policy    Monte-Carlo values of questions, to check the exact values
run          the whole benchmark; `results`, `page` and `plot` store and show its results
"""
