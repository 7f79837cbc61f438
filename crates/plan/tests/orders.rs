//! Joins of every kind, of tables of every size: each of them gets a plan.

mod mock;

use vaquita_parser::{ParserOptions, Statement, parse_one};
use vaquita_plan::bind::{Place, PlanContext, plan_statement};
use vaquita_plan::settings::PlanSettings;
use vaquita_plan::switches::Switches;
use vaquita_plan::uses::Uses;

const SCHEMAS: u64 = 20;
const JOINS: u64 = 30;
const TABLES_MAX: u64 = 6;

/// A linear congruential generator: the same joins in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn column(&mut self) -> &'static str {
        ["id", "k", "u", "x"][self.below(4) as usize]
    }

    /// `TABLE.COLUMN = OTHER.COLUMN`, of a table before this one.
    fn equality(&mut self, table: u64) -> String {
        format!("t{table}.{} = t{}.{}", self.column(), self.below(table), self.column())
    }

    fn condition(&mut self, table: u64) -> String {
        match self.below(4) {
            0 => format!("t{table}.{} < {}", self.column(), self.below(100)),
            _ => self.equality(table),
        }
    }

    fn join(&mut self) -> String {
        let tables = 2 + self.below(TABLES_MAX - 1);
        let mut sql = "SELECT 1 FROM s0 AS t0".to_string();
        for table in 1..tables {
            let kind = ["JOIN", "JOIN", "LEFT JOIN"][self.below(3) as usize];
            sql += &format!(" {kind} s{} AS t{table} ON {}", self.below(TABLES_MAX), self.condition(table));
        }
        let mut next = " WHERE ";
        for _ in 0..self.below(3) {
            let exists = ["EXISTS", "NOT EXISTS"][self.below(2) as usize];
            let (source, inner) = (self.below(TABLES_MAX), self.equality(tables));
            sql += &format!("{next}{exists} (SELECT 1 FROM s{source} AS t{tables} WHERE {inner})");
            next = " AND ";
        }
        sql
    }
}

#[test]
fn every_join_has_an_order() {
    let mut random = Random(1);
    let options = ParserOptions::default();
    let settings = PlanSettings {
        current_database: Some("test".into()),
        switches: Switches::of("semijoin=on,firstmatch=on,materialization=on,hash_join=on"),
        ..PlanSettings::DEFAULT
    };
    for _ in 0..SCHEMAS {
        let mut catalog = mock::Catalog::default();
        for table in 0..TABLES_MAX {
            let rows = 10_u64.pow(random.below(7) as u32) * (1 + random.below(9));
            let distinct = 1 + random.below(rows);
            let sql = format!(
                "CREATE TABLE s{table} (id INT PRIMARY KEY, k INT, u INT, x INT, KEY k (k), KEY u (u)) COMMENT 'rows={rows} distinct={distinct}'"
            );
            let Ok((Statement::CreateTable(create), _)) = parse_one(sql.as_bytes(), &options) else { panic!("{sql}") };
            catalog.create(&create);
        }
        for _ in 0..JOINS {
            let sql = random.join();
            let (statement, _) = parse_one(sql.as_bytes(), &options).unwrap_or_else(|error| panic!("{sql}: {}", error.message));
            let uses = Uses::default();
            let cx = PlanContext { settings: &settings, ..PlanContext::new(&catalog, Place::Statement(&uses)) };
            let planned = plan_statement(&statement, &cx);
            assert!(planned.is_ok(), "{sql}: {:?}", planned.err().map(|error| error.message().to_string()));
        }
    }
}
