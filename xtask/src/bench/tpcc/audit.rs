//! The consistency conditions of TPC-C, clause 3.3.2, as queries that find what breaks them.
//!
//! Of each condition the query counts the warehouses, districts, orders or customers for which it does not hold. Condition 11
//! holds for the initial rows only, and is left out.

use crate::bench::sql::Conn;

pub const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "item", "stock"];

pub const NUMBERS: &str = "1 to 10 and 12";

const CONDITIONS: [(u32, &str); 12] = [
    (
        1,
        "SELECT COUNT(*) FROM warehouse JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id \
         WHERE w_ytd <> ytd",
    ),
    (
        2,
        "SELECT COUNT(*) FROM district JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) o \
         ON o_w_id = d_w_id AND o_d_id = d_id WHERE d_next_o_id - 1 <> last",
    ),
    // A district whose orders are all delivered has no new order.
    (
        2,
        "SELECT COUNT(*) FROM district JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last FROM new_order GROUP BY no_w_id, no_d_id) n \
         ON no_w_id = d_w_id AND no_d_id = d_id WHERE d_next_o_id - 1 <> last",
    ),
    (
        3,
        "SELECT COUNT(*) FROM (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 AS span, COUNT(*) AS n FROM new_order \
         GROUP BY no_w_id, no_d_id) d WHERE span <> n",
    ),
    (
        4,
        "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS lines_wanted FROM orders GROUP BY o_w_id, o_d_id) o \
         JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS lines_found FROM order_line GROUP BY ol_w_id, ol_d_id) l \
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE lines_wanted <> lines_found",
    ),
    (
        5,
        "SELECT COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    (
        6,
        "SELECT COUNT(*) FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS n FROM order_line \
         GROUP BY ol_w_id, ol_d_id, ol_o_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         WHERE n IS NULL OR o_ol_cnt <> n",
    ),
    (
        7,
        "SELECT COUNT(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
         WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        8,
        "SELECT COUNT(*) FROM warehouse JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id \
         WHERE w_ytd <> paid",
    ),
    (
        9,
        "SELECT COUNT(*) FROM district JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h \
         ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> paid",
    ),
    (
        10,
        "SELECT COUNT(*) FROM customer JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
         JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) AS owed FROM orders \
         JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id WHERE c_balance <> owed - paid",
    ),
    (
        12,
        "SELECT COUNT(*) FROM customer JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(IF(ol_delivery_d IS NULL, 0, ol_amount)) AS owed \
         FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) o \
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id WHERE c_balance + c_ytd_payment <> owed",
    ),
];

/// Fails with the first condition that does not hold.
pub fn check(conn: &mut Conn) -> Result<(), String> {
    for (number, sql) in CONDITIONS {
        let broken = conn.value(sql)?;
        if broken != "0" {
            return Err(format!("audit: condition {number} does not hold in {broken} places: {sql}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_but_one() {
        let mut numbers: Vec<u32> = CONDITIONS.iter().map(|(number, _)| *number).collect();
        numbers.dedup();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]);
        assert!(CONDITIONS.iter().all(|(_, sql)| TABLES.iter().any(|table| sql.contains(table))));
    }
}
