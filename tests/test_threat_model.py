"""docs/threat-model.md lists what attackers want; each item has tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = {
    "Read references, hidden calls, or expected values": (
        "test_no_attack_succeeds_and_every_control_scores_1",
        "test_every_attack_succeeds_without_a_sandbox",
    ),
    "Reach files, the network, processes, or other candidates": (
        "test_no_attack_succeeds_and_every_control_scores_1",
        "test_every_attack_succeeds_without_a_sandbox",
    ),
    "Return objects that equal any value or fake their type": (
        "test_a_subclass_is_read_as_its_base_without_its_methods",
        "test_values_that_are_not_data_equal_nothing_even_themselves",
        "test_a_class_has_the_name_from_python_regardless_of_its_metaclass",
    ),
    "Break the parser of the candidate's results": (
        "test_any_bytes_are_a_value_or_malformed",
        "test_any_tree_of_known_and_unknown_tags_is_a_value_or_malformed",
        "test_any_line_of_a_candidate_is_a_result",
    ),
    "Send control characters to a terminal": (
        "test_control_characters_in_a_type_name_never_reach_the_terminal",
    ),
    "Exhaust time or memory, or outlive the job": (
        "test_nothing_is_left_behind",
        "test_everything_dies_with_the_harness",
    ),
    "Reach the network, files, or another page's data": (
        "test_pages_reach_only_allowed_resources_and_good_pages_are_rendered",
    ),
    "Harm the next page": ("test_a_report_names_damage_to_the_next_page",),
    "Look different each time": (
        "test_every_varying_page_looks_the_same_in_two_processes",
        "test_a_varying_page_has_no_picture_and_is_remembered",
    ),
    "Score like the target without looking like it": (
        "test_a_copied_page_is_detected_inside_any_amount_of_other_text",
    ),
    "Read task files, references, or the run's folder": (
        "test_the_sandbox_blocks_every_attempt_to_reveal_a_task",
        "test_a_task_file_replaced_during_the_run_stays_hidden",
        "test_a_task_file_next_to_the_agent_is_unreadable_and_the_run_is_pinned",
    ),
    "Read or change the reference, scorer or human in the run's memory": (
        "test_an_isolated_agent_reaches_nothing_of_a_task_or_a_run",
        "test_an_isolated_agent_cannot_patch_the_scorer_of_the_run",
    ),
    "Reach the network": ("test_only_the_endpoint_is_reached",),
    "Outlive or stop the run": (
        "test_no_process_remains_after_a_dialogue",
        "test_no_process_outlives_a_killed_harness",
        "test_the_sandbox_blocks_every_attempt_to_reveal_a_task",
        "test_an_isolated_agent_reaches_nothing_of_a_task_or_a_run",
    ),
    "Make the human give away the answer": (
        "test_a_reply_with_the_whole_reference_leaks_everything",
        "test_unrequested_facts_in_a_reply_are_a_leak",
    ),
    "Claim a score that the transcripts do not give": (
        "test_a_score_in_the_submission_is_refused",
        "test_a_score_in_a_trajectory_is_refused",
    ),
    "Use other tasks, trials, seeds, turns, or humans": (
        "test_a_forged_request_is_refused_by_the_task_hash",
        "test_an_eleventh_turn_is_refused",
        "test_an_invented_human_reply_is_detected_by_the_replay",
    ),
    "Submit answers not obtained through the dialogue": (
        "test_references_pasted_in_as_answers_are_flagged",
    ),
    "Hide the model behind the agent": (
        "test_an_agent_with_a_model_is_refused_if_the_submission_names_no_model",
    ),
    "Copy other entries' transcripts": (
        "test_a_copy_of_parts_of_three_entries_is_flagged",
        "test_a_branch_without_the_newest_commit_of_main_is_refused_until_main_is_merged",
        "test_disguised_transcripts_are_detected_as_duplicates",
        "test_simultaneous_accepts_still_compare_the_entries_with_each_other",
        "test_a_receipt_without_a_comparison_with_current_entries_is_not_accepted",
    ),
    "Imitate another entry's name": (
        "test_similar_looking_names_are_detected",
        "test_letters_look_like_their_prototypes_in_unicodes_table",
    ),
    "Read or write files outside the bundle through an archive or a link": (
        "test_arbitrary_bytes_as_an_archive_are_read_or_refused",
        "test_an_archive_with_arbitrary_members_is_read_or_refused",
        "test_a_mutated_archive_is_read_or_refused",
        "test_arbitrary_json_as_a_record_is_decoded_or_refused",
    ),
    "Change the repository by a pull request": (
        "test_a_branch_that_does_anything_except_add_entries_is_refused",
    ),
    "Run script in the site": (
        "test_submitted_text_is_never_interpreted_as_markup",
        "test_every_page_has_a_policy_that_allows_no_external_sources",
    ),
    "Change, move, or remove a decision": (
        "test_a_log_with_changed_moved_removed_or_repeated_lines_is_refused",
        "test_an_invalid_record_is_refused_even_with_a_valid_hash_chain",
    ),
    "Change a file that a decision names": ("test_each_change_to_a_store_is_reported_as_a_fault",),
    "Change a score and all its hashes": ("test_verifying_again_compares_every_byte",),
    "Decide without being a keeper": ("test_each_change_to_a_signed_store_is_reported_as_a_fault",),
    "Rewrite or truncate the log with a keeper's key": (
        "test_a_published_head_detects_a_rewritten_or_truncated_store",
    ),
    "Replace the list of keepers": (
        "test_a_rewritten_store_passes_its_own_audit_but_not_with_saved_signers",
    ),
    "Reach other files through links in a store": (
        "test_a_link_in_a_store_is_a_fault_even_if_its_target_is_correct",
        "test_accepting_writes_no_file_through_a_link",
        "test_removing_deletes_no_file_through_a_link",
        "test_a_log_with_a_second_hard_link_is_read_but_not_written",
    ),
    "Run code on the machine of a submitter who pushes an entry": (
        "test_hooks_and_settings_of_a_local_repository_do_not_run_on_a_push",
        "test_a_target_that_is_neither_a_folder_nor_a_url_is_refused_and_not_run",
    ),
    "Run code through a reference": ("test_no_attack_succeeds_and_every_control_scores_1",),
    "Break the parser of a task file, run folder, or report": (
        "test_run_files_with_any_bytes_are_read_or_refused",
        "test_run_files_with_any_json_are_read_or_refused",
    ),
    "Reward the wrong behavior": ("test_answers_that_guessing_explains_are_not_flagged",),
    "Break or hang the run": (
        "test_a_fault_in_every_request_has_the_outcome_in_the_catalog",
        "test_a_fault_of_every_third_request_costs_no_dialogue",
    ),
    "Steal the user's keys": (
        "test_a_key_is_never_sent_to_another_server",
        "test_a_transcript_with_an_api_key_is_not_packed",
        "test_the_value_of_a_secret_variable_is_refused_and_not_printed",
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
