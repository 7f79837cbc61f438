//! The server around sessions: pool, fronts, start and end, and the allocator. The binary `vaquita` is its command line.

// Only the allocator (`memory`); and an unmangled name is unsafe code to the compiler: `instructions` has two.
#![deny(unsafe_code)]

pub mod attach_options;
pub mod backup_options;
mod backups;
pub mod check_data;
mod data_copy;
mod descriptors;
mod durable;
mod events;
pub mod fronts;
pub mod import_config;
#[cfg(test)]
mod instructions;
pub mod log;
mod log_files;
mod log_form;
pub mod man_pages;
#[allow(unsafe_code)] // an allocator
mod memory;
mod notify;
pub mod options;
pub mod ping;
pub mod pool;
pub mod print_log;
mod process;
pub mod replay_options;
mod restore;
pub mod serve;
mod tuner;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator = memory::CountingAllocator;
