//! The integration tests: one binary that starts `vaquita` and talks to it over sockets.
//!
//! `attach` makes replicas, `server` starts and kills servers, `client` is a small protocol client, `account_matrix` asks who may run which statement about accounts. `restart` and `xa` kill
//! the server, `waits` sessions that wait, `introspection` what others see of them, `depth` statements that are nested deeply, `interrupts` whether each loop can be ended, `clock` jumps of the wall clock meanwhile, `memory` statements that want
//! more of it than there is, `no_effect` what is refused rather than ignored, `logs` the logs of statements, `pool` many long statements and clients that vanish, `manual` compares the reference pages with the registries, `layers` talks through TLS (`tls`) and compression, `certificates` logs in with certificates, `broken_log` takes
//! stderr away, `programs` and `triggers` run stored programs, `online_ddl` changes tables under clients, `reads` compares the numbers of rows that statements read with MySQL's, `dump` reads the log as replicas do, `gtids` is what counts as executed, `hints` changes plans and compares rows, `http` is Prometheus and `console` a browser, `console_history` is what they find after a kill, `print_log` reads binary logs of other servers, `notify` is systemd, `import_config` brings the option file of another server, `releases` wants data directories of each release, `replica` carries them out (`source` sends them), `semi_sync` waits for acks between two servers, `statement_kinds` tries every kind of statement in every state of a session. Scripts of statements and answers are the test target `scripts`.

mod account_matrix;
mod accounts;
mod ask;
mod attach;
mod authorization;
mod backup;
mod broken_log;
mod certificates;
mod client;
mod clock;
mod console;
mod console_history;
mod depth;
mod dump;
mod events;
mod explain_analyze;
mod foreign_keys;
mod generated_columns;
mod golden_accounts;
mod gtids;
mod help;
mod hints;
mod http;
mod import_config;
mod interrupts;
mod introspection;
mod layers;
mod load;
mod logs;
mod manual;
mod memory;
mod nesting;
mod no_effect;
mod notify;
mod online_ddl;
mod partitions;
mod pool;
mod print_log;
mod programs;
mod protocol;
mod read_only;
mod reads;
mod releases;
mod replay;
mod replica;
mod restart;
mod semi_sync;
mod server;
mod source;
mod statement_kinds;
mod temporary;
mod tls;
mod triggers;
mod tuning;
mod waits;
mod xa;
