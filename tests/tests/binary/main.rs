//! Tests of the real binary: one program, one module per subject.
//!
//! One program is linked once, and its tests share all processors to the end. They are threads of one process, so no
//! test changes the directory, the variables or the limits of its own process; it sets them for the commands that it
//! starts.

mod agents;
mod attack_commands;
mod attack_grants;
mod attack_leftovers;
mod call_checkpoints;
mod call_documents;
mod call_execution;
mod call_gate;
mod call_refusals;
mod call_reviews;
mod call_surroundings;
mod call_unfinished;
mod cli_commands;
mod cli_demo;
mod cli_output;
mod cli_usage;
mod closed_reads;
mod connect;
mod doctor_faults;
mod doctor_health;
mod documents_of_v030;
mod first_minutes;
mod hostile_paths;
mod kill_anywhere;
mod mcp_calls;
mod mcp_common;
mod mcp_live;
mod mistyped_requests;
mod mutation_code;
mod mutation_common;
mod mutation_matrix;
mod next_steps;
mod observe;
mod observed_inputs;
mod packs;
mod projections_workflow;
mod readme_tour;
mod regressions;
mod release_and_receipts;
mod run_isolation;
mod run_logs;
mod runtime_calls;
mod runtime_supervision;
mod sandbox_git_places;
mod schemas_documents;
mod secrets_canaries;
mod secrets_catalog;
mod secrets_edges;
mod slips;
mod state_damage;
mod work_inbox;
mod workspace_init;
