"""docs/threat-model.md lists what attackers want; each item has tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = {
    "Read references, hidden calls, or expected values": (
        "test_no_attack_succeeds_and_every_control_scores_1",
        "test_every_attack_bites_where_nothing_stops_it",
    ),
    "Reach files, the network, processes, or other candidates": (
        "test_no_attack_succeeds_and_every_control_scores_1",
        "test_every_attack_bites_where_nothing_stops_it",
    ),
    "Return objects that equal any value or fake their type": (
        "test_a_subclass_is_read_as_its_base_without_its_methods",
        "test_what_is_no_data_equals_nothing_not_even_itself",
        "test_a_class_has_the_name_that_python_gave_it_whatever_its_metaclass_answers",
    ),
    "Break the parser of its results": (
        "test_any_bytes_are_a_value_or_malformed",
        "test_any_tree_of_known_and_unknown_tags_is_a_value_or_malformed",
        "test_any_line_of_a_candidate_is_a_result",
    ),
    "Send control characters to a terminal": (
        "test_what_a_type_is_called_cannot_take_over_a_terminal",
    ),
    "Exhaust time or memory, or outlive the job": (
        "test_nothing_is_left_behind",
        "test_everything_dies_with_the_harness",
    ),
    "Reach the network, files, or another page's data": (
        "test_no_page_reaches_anything_and_every_good_one_is_rendered",
    ),
    "Harm the next page": ("test_a_report_tells_what_the_next_page_lost",),
    "Look different each time": (
        "test_every_varying_page_looks_the_same_in_two_processes",
        "test_a_page_that_looks_different_each_time_has_no_picture_and_is_remembered",
    ),
    "Score like the target without looking like it": (
        "test_a_copied_page_is_known_however_much_stands_around_it",
    ),
    "Read task files, references, or the run's folder": (
        "test_nothing_that_gives_a_task_away_is_reached",
        "test_a_task_file_that_is_replaced_meanwhile_stays_hidden",
        "test_the_task_file_beside_the_agent_is_out_of_reach_and_the_run_is_pinned",
    ),
    "Read or change the run's memory: reference, scorer, human": (
        "test_nothing_of_a_task_or_a_run_is_in_reach",
        "test_a_patched_scorer_scores_nothing",
    ),
    "Reach the network": ("test_the_endpoint_and_nothing_else_is_reached",),
    "Outlive or stop the run": (
        "test_nothing_is_left_of_a_dialogue",
        "test_nothing_outlives_a_killed_harness",
    ),
    "Make the human give away the answer": (
        "test_the_whole_reference_is_everything",
        "test_what_is_volunteered_beside_the_answer_is_a_leak",
    ),
    "Claim a score that the transcripts do not give": (
        "test_a_score_in_what_is_sent_is_refused",
        "test_a_score_in_a_trajectory_is_refused",
    ),
    "Use other tasks, trials, seeds, turns, or humans": (
        "test_a_forged_task_body_is_refused_by_its_hash",
        "test_an_eleventh_turn_is_refused",
        "test_human_replies_that_were_never_made_are_caught_by_asking_again",
    ),
    "Submit answers not obtained through the dialogue": (
        "test_references_pasted_in_as_answers_are_flagged",
    ),
    "Copy another entry's transcripts": (
        "test_transcripts_in_other_clothes_are_still_the_same",
        "test_of_two_accepts_at_once_one_is_told_to_repeat_and_none_skips_the_others_transcripts",
        "test_a_receipt_that_was_not_made_against_the_entries_that_stand_is_not_taken",
    ),
    "Imitate another entry's name": (
        "test_names_that_look_the_same_to_a_hasty_reader_are_confusable",
        "test_every_character_of_unicodes_table_looks_like_what_the_table_says",
    ),
    "Read or write other files by an archive or link": (
        "test_any_bytes_as_an_archive",
        "test_an_archive_of_any_members",
        "test_a_real_archive_with_other_bytes",
        "test_any_json_as_a_kind_of_record",
    ),
    "Change the repository by a pull request": (
        "test_a_branch_that_does_anything_else_is_refused",
    ),
    "Run script in the site": (
        "test_what_somebody_wrote_is_never_markup",
        "test_every_page_has_the_policy_and_asks_nobody",
    ),
    "Change, move, or remove a decision": (
        "test_a_log_whose_lines_were_touched_is_refused",
        "test_a_forged_record_is_refused_however_well_it_is_chained",
    ),
    "Change a file that a decision names": ("test_what_is_not_as_the_log_says_is_named",),
    "Change a score and all its hashes": ("test_verifying_anew_compares_every_byte",),
    "Decide without being a keeper": ("test_what_is_not_as_it_was_signed_is_found",),
    "Rewrite or truncate the log with a keeper's key": (
        "test_a_published_head_shows_what_the_store_itself_cannot",
    ),
    "Replace the list of keepers": (
        "test_a_store_that_was_written_again_is_whole_but_for_those_who_know_its_keepers",
    ),
    "Reach other files through links in a store": (
        "test_a_link_in_a_store_is_a_fault_although_what_it_leads_to_is_right",
        "test_nothing_is_written_through_a_link",
        "test_nothing_is_deleted_through_a_link",
        "test_a_log_with_another_name_is_read_but_not_written",
    ),
    "Run code on a submitter's machine when they push": (
        "test_nothing_of_a_repository_on_this_machine_runs_when_it_is_pushed_to",
        "test_an_address_is_no_command",
    ),
    "Run code through a reference": ("test_no_attack_succeeds_and_every_control_scores_1",),
    "Break the parser of a task file, run folder, or report": (
        "test_any_bytes_as_a_file_of_a_run",
        "test_any_json_as_a_file_of_a_run",
    ),
    "Reward the wrong behavior": ("test_what_guessing_explains_is_not_flagged",),
    "Break or hang the run": (
        "test_a_fault_of_every_request_becomes_what_the_catalog_says",
        "test_a_fault_of_every_third_request_costs_no_dialogue",
    ),
    "Steal the user's keys": (
        "test_a_key_is_never_sent_to_another_server",
        "test_the_value_of_a_secret_variable_is_found_and_not_told",
    ),
}
"""The tests behind each item of the page, by the attacker's goal."""


def test_every_goal_of_an_attacker_has_tests():
    page = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
    attackers = page.partition("\n## Attackers\n")[2].partition("\n## ")[0]
    goals = re.findall(r"^- \*\*(.+?)\.\*\* .", attackers, re.MULTILINE)
    assert sorted(goals) == sorted(TESTS)
    assert all(TESTS.values())


def test_every_test_behind_the_threat_model_exists():
    named = {name for names in TESTS.values() for name in names}
    files = (ROOT / "tests").rglob("test_*.py")
    defined = {
        name for path in files for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    assert sorted(named - defined) == []
